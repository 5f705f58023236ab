//! Server-sent events: the parser of the client's side.

use std::io::{self, BufRead, Read};

/// A line of the stream may be so long.
const LINE_BYTES: u64 = 64 << 20;

/// One event of the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// `id:`; empty when the event has none.
    pub id: String,
    /// `event:`; `message` when the event does not say.
    pub event: String,
    /// The `data:` lines, joined by line feeds.
    pub data: String,
}

/// Reads the next event; comments are passed over. Nothing at the end of the stream.
pub fn read_event(stream: &mut impl BufRead) -> io::Result<Option<SseEvent>> {
    let mut event = SseEvent::default();
    let mut data: Option<String> = None;
    loop {
        let mut line = Vec::new();
        (&mut *stream).take(LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        if line.is_empty() {
            if let Some(data) = data.take() {
                event.data = data;
                if event.event.is_empty() {
                    event.event.push_str("message");
                }
                return Ok(Some(event));
            }
            event = SseEvent::default();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => event.id = value.to_owned(),
            "event" => event.event = value.to_owned(),
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_comments_passed_over() {
        let mut stream =
            &b": hello\nretry: 2000\n\nid: 7\nevent: stuck\ndata: {\"a\":1}\n\ndata:x\ndata: y\r\n\r\nid: 8\nda"[..];
        let first = read_event(&mut stream).unwrap().unwrap();
        assert_eq!(first, SseEvent { id: "7".into(), event: "stuck".into(), data: "{\"a\":1}".into() });
        let second = read_event(&mut stream).unwrap().unwrap();
        assert_eq!(second, SseEvent { id: "".into(), event: "message".into(), data: "x\ny".into() });
        assert_eq!(read_event(&mut stream).unwrap(), None);
    }
}
