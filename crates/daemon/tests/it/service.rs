//! Under a service manager: passed sockets, readiness, signs of life. The manager is this test, with real sockets.

use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::PathBuf;
use std::time::Duration;

use herdbook_daemon::Service;
use herdbook_wire::{Answer, frame};

use crate::support::{LONG, Scratch, send_frame, stop_call};

/// A socket that is told how the daemon is.
struct Manager {
    address: PathBuf,
    socket: UnixDatagram,
}

impl Manager {
    fn new(scratch: &Scratch) -> Manager {
        let address = scratch.dir.path().join("notify");
        let socket = UnixDatagram::bind(&address).unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        Manager { address, socket }
    }

    fn heard(&self) -> String {
        let mut bytes = [0; 512];
        let len = self.socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..len].to_vec()).unwrap()
    }

    /// What comes next that is no sign of life.
    fn next_news(&self) -> String {
        loop {
            let heard = self.heard();
            if heard != "WATCHDOG=1" {
                return heard;
            }
        }
    }
}

#[test]
fn a_passed_socket_is_served_beside_our_own_and_left_to_the_manager() {
    let scratch = Scratch::new();
    let manager = Manager::new(&scratch);
    let passed = scratch.dir.path().join("passed");
    let listener = UnixListener::bind(&passed).unwrap();
    let (kept, notify) = (listener.try_clone().unwrap(), Some(manager.address.clone().into()));
    let service = Service { sockets: vec![listener], notify, watchdog: None };
    let daemon = scratch.try_start_with(|config| config.service = service).unwrap();
    let news = manager.heard();
    let port = daemon.port();
    assert_eq!(news, format!("READY=1\nSTATUS=http://127.0.0.1:{port}"));
    let mut id = 0;
    for socket in [&passed, &scratch.socket()] {
        id += 1;
        assert_eq!(daemon.frame_at(socket, &stop_call(id, "one")), Answer::Done);
    }
    assert_eq!(
        daemon.client().status().unwrap().sockets,
        [&passed, &scratch.socket()].map(|path| path.to_str().unwrap())
    );
    daemon.stop();
    assert!(manager.heard().starts_with("STOPPING=1\n"));
    assert!(!scratch.socket().exists(), "our own socket is removed");
    assert!(passed.exists(), "the manager's socket stays");
    // It goes on listening: who connects now is served by the next daemon.
    let waiting = std::thread::spawn({
        let passed = passed.clone();
        move || send_frame(&passed, &frame::encode(&stop_call(9, "two")))
    });
    let service = Service { sockets: vec![kept], ..Service::default() };
    let daemon = scratch.try_start_with(|config| config.service = service).unwrap();
    assert!(matches!(waiting.join().unwrap(), Some(Answer::Done | Answer::Spool)));
    assert!(daemon.queue().contains(&"claude-two".to_owned()));
}

#[test]
fn signs_of_life_come_from_the_start_to_the_end() {
    let scratch = Scratch::new();
    let manager = Manager::new(&scratch);
    let notify = Some(manager.address.clone().into());
    let service = Service { sockets: Vec::new(), notify, watchdog: Some(Duration::from_millis(40)) };
    let daemon = scratch.try_start_with(|config| config.service = service).unwrap();
    assert!(manager.next_news().starts_with("READY=1\n"));
    for _ in 0..5 {
        assert_eq!(manager.heard(), "WATCHDOG=1");
    }
    daemon.stop();
    assert!(manager.next_news().starts_with("STOPPING=1\n"));
}
