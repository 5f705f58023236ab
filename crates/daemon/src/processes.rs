//! Whether the processes of live sessions are still there: an agent that was killed says no goodbye.

use herdbook_events::Process;
use herdbook_machine::Proc;

/// So many are looked up in one turn, each by one small read: more would keep the hooks waiting.
const A_TURN: usize = 512;

/// Looks after processes, turn by turn.
pub(crate) struct Watch {
    table: Proc,
    /// Where the next turn begins.
    at: usize,
}

impl Watch {
    pub(crate) fn new(table: Proc) -> Watch {
        Watch { table, at: 0 }
    }

    /// Returns those that are gone. One that cannot be looked up is not.
    pub(crate) fn gone(&mut self, known: &[Process]) -> Vec<Process> {
        if self.at >= known.len() {
            self.at = 0;
        }
        let turn = known.iter().cycle().skip(self.at).take(known.len().min(A_TURN));
        self.at += A_TURN;
        let is_gone = |process: &&Process| {
            let asked = herdbook_machine::Process { pid: process.pid, start: process.start };
            self.table.tells_alive(asked) == Some(false)
        };
        turn.filter(is_gone).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(pids: impl Iterator<Item = u32>) -> (tempfile::TempDir, Proc) {
        let folder = tempfile::tempdir().unwrap();
        for name in pids.map(|pid| pid.to_string()).chain(["self".to_owned()]) {
            let place = folder.path().join(&name);
            std::fs::create_dir(&place).unwrap();
            let line =
                format!("{} (p) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n", name.replace("self", "9"));
            let mut file = std::fs::File::create(place.join("stat")).unwrap();
            std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
        }
        let table = Proc::at(folder.path());
        (folder, table)
    }

    #[test]
    fn a_pid_that_another_process_has_now_is_gone_with_its_start() {
        let (_folder, table) = table([10, 20].into_iter());
        let mut watch = Watch::new(table);
        let process = |pid, start| Process { pid, start: Some(start) };
        let known = [process(10, 77), process(10, 5), process(20, 5)];
        assert_eq!(watch.gone(&known), [process(10, 5), process(20, 5)]);
        assert!(watch.gone(&[Process { pid: 10, start: None }]).is_empty());
        assert!(watch.gone(&[]).is_empty());
    }

    #[test]
    fn every_one_of_many_gets_a_turn() {
        let (_folder, table) = table(std::iter::empty());
        let mut watch = Watch::new(table);
        let known: Vec<Process> = (0..1_100).map(|pid| Process { pid: pid + 10, start: Some(1) }).collect();
        let turns: Vec<Vec<Process>> = (0..3).map(|_| watch.gone(&known)).collect();
        assert!(turns.iter().all(|gone| gone.len() == A_TURN));
        assert_eq!(turns.into_iter().flatten().collect::<std::collections::HashSet<_>>().len(), 1_100);
    }
}
