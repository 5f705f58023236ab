//! The guard over real connections, and the raw requests of cases F-103 and F-104.

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::json;

use crate::child::DaemonChild;
use crate::support::{Scratch, stuck, wait_until};

/// The folder of a field case, or nothing (the test says by name that it was skipped).
fn case(test: &str, name: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "where the reference data lies")]
    let named = std::env::var_os("HERDBOOK_SHARED");
    let shared =
        named.map_or(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    let folder = shared.join("field-cases").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {test}: no shared folder");
    None
}

#[test]
fn raw_requests_of_web_pages_change_nothing() {
    let Some(folder) = case("raw_requests_of_web_pages_change_nothing", "F-103-web-page-posts-to-loopback")
    else {
        return;
    };
    let scratch = Scratch::new();
    let daemon = scratch.start();
    let send = |name: &str| {
        let text = std::fs::read_to_string(folder.join(format!("{name}.http"))).unwrap();
        daemon.raw(&text.replace("@@PORT@@", "@PORT@"))
    };
    assert_eq!(send("ok").both(), (200, r#"{"ok":true}"#));
    let refused = [
        ("bad-text-plain", 403),
        ("bad-text-plain-no-origin", 415),
        ("bad-json-cross-site", 403),
        ("bad-no-cors-cross-site", 403),
        ("bad-origin-other-port", 403),
        ("bad-form", 403),
        ("bad-skip-cross-site", 403),
        ("bad-get", 405),
        ("preflight", 403),
    ];
    for (name, status) in refused {
        let answer = send(name);
        assert_eq!(answer.status, status, "{name}");
        assert!(!answer.body.contains("you have won"), "{name}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{name}");
    }
    assert_eq!(daemon.queue(), ["good"]);
    daemon.stop();
    let kept: String = scratch.journal().into_iter().map(|line| line.raw).collect();
    assert!(!kept.contains("you have won") && !kept.contains("evil"));
}

#[test]
fn raw_requests_with_foreign_names_learn_nothing() {
    let Some(folder) = case("raw_requests_with_foreign_names_learn_nothing", "F-104-dns-rebinding") else {
        return;
    };
    let daemon = Scratch::new().start();
    let mut event = stuck("seed", 1_768_467_600_000);
    event["message"] = json!("private words");
    daemon.post_event(&event);
    let mut seen = 0;
    for file in std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "http") {
            continue;
        }
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let answer = daemon.raw(&std::fs::read_to_string(&file).unwrap().replace("@@PORT@@", "@PORT@"));
        seen += 1;
        if ["host-ok", "host-name", "host-v6"].contains(&name.as_str()) {
            assert_eq!((answer.status, &answer.json()["count"]), (200, &json!(1)), "{name}");
        } else {
            assert!([400, 403, 421].contains(&answer.status), "{name}: {}", answer.status);
            assert!(!answer.body.contains("private words") && !answer.body.contains("seed"), "{name}");
        }
    }
    assert!(seen > 10, "only {seen} requests");
}

#[test]
fn every_reading_route_is_guarded() {
    let daemon = Scratch::new().start();
    daemon.post_event(&stuck("seed", 1));
    let routes = [
        "/queue",
        "/next",
        "/status",
        "/v1/status",
        "/v1/queue",
        "/v1/sessions",
        "/v1/sessions/seed",
        "/v1/sessions/seed/why",
        "/v1/attention",
        "/nowhere",
    ];
    for route in routes {
        let request = |host: &str, more: &str| {
            daemon.raw(&format!("GET {route} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"))
        };
        assert_eq!(request("evil.example:@PORT@", "").status, 421, "{route}");
        assert_eq!(request("localhost:@PORT@", "Origin: http://evil.example\r\n").status, 403, "{route}");
        assert_eq!(request("localhost:@PORT@", "Sec-Fetch-Site: same-site\r\n").status, 403, "{route}");
        let absolute = format!(
            "GET http://evil.example{route} HTTP/1.1\r\nHost: localhost:@PORT@\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(daemon.raw(&absolute).status, 421, "{route}");
    }
}

#[test]
fn a_refused_body_is_not_waited_for() {
    let daemon = Scratch::new().start();
    // The promised body never comes: a server that read it first would sit there.
    let answer = daemon.raw(
        "POST /event/normalized HTTP/1.1\r\nHost: localhost:@PORT@\r\nOrigin: https://evil.example\r\n\
         Content-Type: application/json\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(answer.status, 403);
}

#[test]
fn another_user_is_refused() {
    let daemon = Scratch::new().start();
    // Only root can become another user for a try.
    if !rustix_is_root() {
        println!("skipped: another_user_is_refused: not root");
        return;
    }
    let port = daemon.port();
    let script = format!(
        "import os, socket, encodings.idna\n\
         os.setgroups([]); os.setgid(65534); os.setuid(65534)\n\
         s = socket.create_connection(('127.0.0.1', {port}))\n\
         s.sendall(b'GET /queue HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nConnection: close\\r\\n\\r\\n')\n\
         print(s.recv(4096).decode())"
    );
    #[expect(clippy::disallowed_methods, reason = "a client that runs under another uid")]
    let Ok(output) = std::process::Command::new("python3").args(["-c", &script]).output() else {
        println!("skipped: another_user_is_refused: no python3");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("HTTP/1.1 403 "), "{text} {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn another_user_who_closes_at_once_is_refused() {
    // Only to a daemon of root does a socket that nobody holds look like its own.
    if !rustix_is_root() {
        println!("skipped: another_user_who_closes_at_once_is_refused: not root");
        return;
    }
    let scratch = Scratch::new();
    let daemon = DaemonChild::start(&scratch.state());
    let addr: std::net::SocketAddr = daemon.client().status().unwrap().http[0].addr.parse().unwrap();
    let port = addr.port();
    let script = format!(
        "import os, socket, json, encodings.idna\n\
         os.setgroups([]); os.setgid(65534); os.setuid(65534)\n\
         for at in range(40):\n\
         \x20   event = dict(type='stuck', sessionId='other%d' % at, paneId='%1', cwd='', transcriptPath='',\n\
         \x20                reason='stopped', message='m', timestamp=1)\n\
         \x20   body = json.dumps(event).encode()\n\
         \x20   head = 'POST /event/normalized HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n'\n\
         \x20   head += 'Content-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(body)\n\
         \x20   s = socket.create_connection(('127.0.0.1', {port}))\n\
         \x20   s.sendall(head.encode() + body); s.close()\n\
         print('sent')"
    );
    // So that it looks at the connections only after they were closed.
    daemon.signal(Signal::STOP);
    #[expect(clippy::disallowed_methods, reason = "a client that runs under another uid")]
    let Ok(output) = std::process::Command::new("python3").args(["-c", &script]).output() else {
        println!("skipped: another_user_who_closes_at_once_is_refused: no python3");
        return;
    };
    assert_eq!(output.stdout, b"sent\n", "{}", String::from_utf8_lossy(&output.stderr));
    daemon.signal(Signal::CONT);
    // It has dealt with all of them once its end of none is left, open or half closed.
    let ours = format!("0100007F:{port:04X}");
    wait_until("the end of the connections", || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        !table.lines().any(|row| {
            let mut words = row.split_ascii_whitespace().skip(1);
            words.next() == Some(&ours) && matches!(words.nth(1), Some("01" | "08"))
        })
    });
    assert!(daemon.end(Signal::TERM).success());
    assert!(scratch.journal().iter().all(|line| line.kind != "normalized"));
}

fn rustix_is_root() -> bool {
    herdbook_wire::paths::own_uid() == 0
}
