//! Whether the agents' processes still run: one that was killed sends no last hook (case F-012).

use std::time::Duration;

use herdbook_engine::Input;
use herdbook_events::Process;
use herdbook_log::Durability;
use herdbook_machine::Proc;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::config::stopped;
use crate::core::{Core, Refused};

/// Between two looks at the process table.
const APART: Duration = Duration::from_secs(2);

/// Looks at the processes of live sessions until the daemon ends.
pub(crate) async fn follow(core: Core, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        // Only the end of the engine ends it.
        _ = look_now_and_then(&core) => {}
        () = stopped(&mut stop) => {}
    }
}

async fn look_now_and_then(core: &Core) -> Result<(), Refused> {
    loop {
        let known = core.look(|engine, _| engine.processes()).await?;
        if !known.is_empty() {
            let gone = tokio::task::spawn_blocking(move || gone(&Proc::system(), known));
            // A panic while reading the process table says nothing about processes.
            for pid in gone.await.unwrap_or_default() {
                let input = Input::Process { pid, alive: false };
                // What cannot be written now is found again at the next look.
                if let Err(Refused::Stopping) = core.step(input, Durability::Written).await {
                    return Err(Refused::Stopping);
                }
            }
        }
        sleep(APART).await;
    }
}

/// The pids that are free, or another process's, now.
fn gone(proc: &Proc, known: Vec<Process>) -> Vec<u32> {
    let is_alive = |process: &Process| {
        proc.is_alive(herdbook_machine::Process { pid: process.pid, start: process.start })
    };
    known.into_iter().filter(|process| !is_alive(process)).map(|process| process.pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_another_process() {
        let proc = Proc::system();
        let pid = std::process::id();
        let start = proc.stat(pid).unwrap().start;
        let own = Process { pid, start: Some(start) };
        let before = Process { pid, start: Some(start - 1) };
        let nobody = Process { pid: u32::MAX, start: None };
        assert_eq!(gone(&proc, vec![own, Process { pid, start: None }]), [0u32; 0]);
        assert_eq!(gone(&proc, vec![own, nobody]), [u32::MAX]);
        assert_eq!(gone(&proc, vec![before]), [pid]);
    }
}
