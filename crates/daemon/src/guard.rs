//! The guard: who may ask, looked at before the body is read (overview section 5, cases F-103 and F-104).
//!
//! A loopback port is reachable from every web page the human opens and from every user of the machine. A page cannot
//! choose its Origin and Sec-Fetch-Site, a rebound name shows in Host, a form cannot send `application/json`, and
//! another user shows in the kernel's socket table. So plain curl works without a token, and nothing else does.

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, TRANSFER_ENCODING};
use axum::http::{HeaderMap, Method, Request, StatusCode};

/// What is known about a connection when its requests are looked at.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// The peer runs under our own uid.
    pub own_uid: bool,
    /// Our HTTP ports, where the connection is a TCP one. On a unix socket any Host will do.
    pub ports: Option<Vec<u16>>,
}

/// A refusal: status and words.
pub(crate) type Refusal = (StatusCode, &'static str);

impl Guard {
    /// Looks at a request's head.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        if !self.own_uid {
            return Err((StatusCode::FORBIDDEN, "only the user who started the daemon may ask it"));
        }
        let headers = request.headers();
        if let Some(ports) = &self.ports {
            check_host(headers, ports)?;
            let named = request.uri().authority().map(|authority| authority.as_str());
            if named.is_some_and(|named| !is_ours(named, ports)) {
                return Err((StatusCode::MISDIRECTED_REQUEST, "this daemon does not serve that name"));
            }
        }
        check_origin(headers, self.ports.as_deref())?;
        check_content_type(request.method(), request.uri().path(), headers)
    }
}

fn check_host(headers: &HeaderMap, ports: &[u16]) -> Result<(), Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err((StatusCode::BAD_REQUEST, "exactly one Host header is needed"));
    };
    if host.to_str().is_ok_and(|host| is_ours(host, ports)) {
        return Ok(());
    }
    Err((
        StatusCode::MISDIRECTED_REQUEST,
        "Host must be 127.0.0.1, localhost or [::1] with the daemon's port",
    ))
}

/// `127.0.0.1`, `localhost` or `[::1]` with one of our ports, and nothing else around it.
fn is_ours(host: &str, ports: &[u16]) -> bool {
    let Some((name, port)) = host.rsplit_once(':') else { return false };
    let name_fits = name == "127.0.0.1" || name == "[::1]" || name.eq_ignore_ascii_case("localhost");
    // Parsed and printed again, so that `04000` and `+4000` are not taken for a port.
    name_fits && ports.iter().any(|own| own.to_string() == port)
}

fn check_origin(headers: &HeaderMap, ports: Option<&[u16]>) -> Result<(), Refusal> {
    let refused = Err((StatusCode::FORBIDDEN, "requests of other web pages are refused"));
    for origin in headers.get_all(ORIGIN) {
        let ours = origin
            .to_str()
            .ok()
            .and_then(|origin| origin.strip_prefix("http://"))
            .is_some_and(|host| ports.is_some_and(|ports| is_ours(host, ports)));
        if !ours {
            return refused;
        }
    }
    for site in headers.get_all("sec-fetch-site") {
        if !matches!(site.as_bytes(), b"same-origin" | b"none") {
            return refused;
        }
    }
    Ok(())
}

fn check_content_type(method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let empty = !headers.contains_key(TRANSFER_ENCODING)
        && headers.get(CONTENT_LENGTH).is_none_or(|length| length.as_bytes() == b"0");
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let json = match (types.next(), types.next()) {
        (None, None) => empty,
        (Some(only), None) => only.to_str().is_ok_and(|only| is_json(only) || takes_bytes(path, only)),
        _ => false,
    };
    if json {
        Ok(())
    } else {
        Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"))
    }
}

fn is_json(content_type: &str) -> bool {
    is_type(content_type, "application/json")
}

/// A form cannot send bytes of that type either, and a page needs our leave for it.
fn takes_bytes(path: &str, content_type: &str) -> bool {
    path == "/v1/status" && is_bytes(content_type)
}

/// True for `application/octet-stream`.
pub(crate) fn is_bytes(content_type: &str) -> bool {
    is_type(content_type, "application/octet-stream")
}

fn is_type(content_type: &str, expected: &str) -> bool {
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp() -> Guard {
        Guard { own_uid: true, ports: Some(vec![4000]) }
    }

    /// Returns the status with which a request with these headers is refused, or 200.
    fn status(guard: &Guard, method: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri("/queue");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.check(&request.body(()).unwrap()).err().map_or(200, |(status, _)| status.as_u16())
    }

    #[test]
    fn only_our_own_names_with_our_port_are_hosts() {
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000"] {
            assert_eq!(status(&tcp(), "GET", &[("host", host)]), 200, "{host}");
        }
        let foreign = [
            "127.0.0.1",
            "localhost:1",
            "localhost.:4000",
            "localhost.evil.example:4000",
            "0.0.0.0:4000",
            "localhost:4000@evil.example",
            "user@localhost:4000",
            "[::]:4000",
            "::1:4000",
            "127.0.0.1:04000",
            "127.0.0.1:+4000",
            "127.1:4000",
            "",
        ];
        for host in foreign {
            assert_eq!(status(&tcp(), "GET", &[("host", host)]), 421, "{host}");
        }
        assert_eq!(status(&tcp(), "GET", &[]), 400);
        assert_eq!(status(&tcp(), "GET", &[("host", "localhost:4000"), ("host", "localhost:4000")]), 400);
    }

    #[test]
    fn a_unix_socket_takes_any_host_but_no_web_page() {
        let unix = Guard { own_uid: true, ports: None };
        assert_eq!(status(&unix, "GET", &[]), 200);
        assert_eq!(status(&unix, "GET", &[("host", "anything")]), 200);
        assert_eq!(status(&unix, "GET", &[("origin", "http://localhost:4000")]), 403);
    }

    #[test]
    fn other_pages_are_refused_also_where_they_only_read() {
        let host = ("host", "localhost:4000");
        for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:4000", ""] {
            assert_eq!(status(&tcp(), "GET", &[host, ("origin", origin)]), 403, "{origin}");
        }
        assert_eq!(status(&tcp(), "GET", &[host, ("origin", "http://127.0.0.1:4000")]), 200);
        for site in ["cross-site", "same-site"] {
            assert_eq!(status(&tcp(), "GET", &[host, ("sec-fetch-site", site)]), 403, "{site}");
        }
        for site in ["same-origin", "none"] {
            assert_eq!(status(&tcp(), "GET", &[host, ("sec-fetch-site", site)]), 200, "{site}");
        }
    }

    #[test]
    fn bodies_are_json() {
        let host = ("host", "localhost:4000");
        let length = ("content-length", "9");
        for (kind, expected) in [
            ("application/json", 200),
            ("application/json; charset=utf-8", 200),
            ("Application/JSON", 200),
            ("application/jsonp", 415),
            ("text/plain;charset=UTF-8", 415),
            ("application/x-www-form-urlencoded", 415),
            ("", 415),
        ] {
            assert_eq!(status(&tcp(), "POST", &[host, length, ("content-type", kind)]), expected, "{kind}");
        }
        assert_eq!(status(&tcp(), "POST", &[host, length]), 415);
        let bytes = ("content-type", "application/octet-stream");
        assert_eq!(status(&tcp(), "POST", &[host, length, bytes]), 415, "only reports come as bytes");
        assert_eq!(status(&tcp(), "POST", &[host, ("transfer-encoding", "chunked")]), 415);
        assert_eq!(status(&tcp(), "POST", &[host]), 200);
        assert_eq!(status(&tcp(), "POST", &[host, ("content-length", "0")]), 200);
    }

    #[test]
    fn another_user_is_refused_whatever_he_asks() {
        let guard = Guard { own_uid: false, ..tcp() };
        assert_eq!(status(&guard, "GET", &[("host", "localhost:4000")]), 403);
    }
}
