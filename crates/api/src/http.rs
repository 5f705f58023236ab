//! One HTTP/1.1 answer off a stream: head by httparse, body by length, by chunks, or to the end.

use std::io::{self, BufRead, Read};

/// The head of an answer may be so long.
const HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 64;

/// How the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(u64),
    Chunked { left: u64, first: bool, done: bool },
    ToEnd,
}

/// Status and framing of an answer.
#[derive(Debug)]
pub struct Head {
    pub status: u16,
    framing: Framing,
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Reads the head, interim answers (1xx) passed over.
pub fn read_head(stream: &mut impl BufRead) -> io::Result<Head> {
    loop {
        let bytes = read_head_bytes(stream)?;
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Response::new(&mut headers);
        match parsed.parse(&bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Err(invalid("the answer's head is cut short")),
            Err(error) => return Err(invalid(&format!("the answer's head cannot be read: {error}"))),
        }
        let status = parsed.code.unwrap_or(0);
        if (100..200).contains(&status) {
            continue;
        }
        let mut framing = Framing::ToEnd;
        for header in parsed.headers.iter() {
            let value = std::str::from_utf8(header.value).unwrap_or("").trim();
            if header.name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked")
            {
                framing = Framing::Chunked { left: 0, first: true, done: false };
            } else if header.name.eq_ignore_ascii_case("content-length") && framing == Framing::ToEnd {
                let length =
                    value.parse().map_err(|_| invalid("the answer has an unreadable content-length"))?;
                framing = Framing::Length(length);
            }
        }
        if status == 204 || status == 304 {
            framing = Framing::Length(0);
        }
        return Ok(Head { status, framing });
    }
}

/// Reads up to and with the empty line.
fn read_head_bytes(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let before = bytes.len();
        (&mut *stream).take((HEAD_BYTES - before) as u64).read_until(b'\n', &mut bytes)?;
        if bytes.len() == before {
            let what =
                if before == HEAD_BYTES { "the answer's head is too long" } else { "the answer ended early" };
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
    }
    Ok(bytes)
}

/// The body of an answer as a stream.
pub struct Body<R> {
    stream: R,
    framing: Framing,
}

impl<R: BufRead> Body<R> {
    pub fn new(stream: R, head: &Head) -> Body<R> {
        Body { stream, framing: head.framing }
    }

    /// Reads a line of the chunk framing, without its end.
    fn chunk_line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        (&mut self.stream).take(1024).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the answer ended inside a chunk"));
        }
        String::from_utf8(line)
            .map(|line| line.trim_end_matches('\r').to_owned())
            .map_err(|_| invalid("the answer has an unreadable chunk"))
    }

    /// Moves on to the next chunk and returns its length; 0 is the end.
    fn next_chunk(&mut self, first: bool) -> io::Result<u64> {
        if !first && !self.chunk_line()?.is_empty() {
            return Err(invalid("the answer has an unreadable chunk"));
        }
        let line = self.chunk_line()?;
        let length = line.split(';').next().unwrap_or("").trim();
        let length =
            u64::from_str_radix(length, 16).map_err(|_| invalid("the answer has an unreadable chunk"))?;
        if length == 0 {
            while !self.chunk_line()?.is_empty() {}
        }
        Ok(length)
    }
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = match self.framing {
            Framing::ToEnd => u64::MAX,
            Framing::Length(left) => left,
            Framing::Chunked { done: true, .. } => 0,
            Framing::Chunked { left: 0, first, .. } => {
                let left = self.next_chunk(first)?;
                self.framing = Framing::Chunked { left, first: false, done: left == 0 };
                left
            }
            Framing::Chunked { left, .. } => left,
        };
        if left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.stream.read(&mut buffer[..most])?;
        if count == 0 && self.framing != Framing::ToEnd {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the answer ended early"));
        }
        match &mut self.framing {
            Framing::Length(left) | Framing::Chunked { left, .. } => *left -= count as u64,
            Framing::ToEnd => {}
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> io::Result<(u16, String)> {
        let mut stream = text.as_bytes();
        let head = read_head(&mut stream)?;
        let mut body = String::new();
        Body::new(stream, &head).read_to_string(&mut body)?;
        Ok((head.status, body))
    }

    #[test]
    fn bodies_end_by_length_by_chunks_and_by_the_end() {
        assert_eq!(
            answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef").unwrap(),
            (200, "abc".into())
        );
        assert_eq!(
            answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\nrest")
                .unwrap(),
            (200, "abcde".into())
        );
        assert_eq!(answer("HTTP/1.1 500 No\r\n\r\nabc").unwrap(), (500, "abc".into()));
        assert_eq!(answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n").unwrap(), (204, "".into()));
    }

    #[test]
    fn an_answer_that_is_cut_short_is_an_error() {
        let whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        for end in 0..whole.len() {
            assert!(answer(&whole[..end]).is_err(), "{:?}", &whole[..end]);
        }
        assert!(answer(&format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(HEAD_BYTES))).is_err());
    }
}
