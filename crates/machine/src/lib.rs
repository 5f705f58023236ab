//! What we ask of the computer: tmux, processes, sockets, folders and files.
//!
//! What it is: the one place where platform code and foreign programs live. Every question has a pure half that turns
//! an answer (of tmux, of `/proc`) into a verdict, tested with the tables of the field cases, and a half that runs it.
//!
//! What it never does: it never types into a pane, never signals a process that it did not start, never targets tmux
//! by a name, and never waits without a limit. It knows nothing of sessions, events or hosts' payloads.
//!
//! Start at [`Tmux`] for panes and jumps, at [`Proc`] for processes, at
//! [`Survey`] for running agents; [`Command`] runs every program.

mod above;
mod agents;
mod clients;
mod command;
mod control;
mod discover;
pub mod env;
mod files;
mod foreign;
mod identity;
mod jump;
mod names;
mod net;
mod pane;
mod place;
mod process;
mod survey;
mod systemd;
mod tail;
mod tmux;

pub use above::{AgentAbove, UnknownLineage};
pub use agents::{AgentProgram, TreeProcess, agent_of_pane};
pub use clients::{Client, WATCHING_MS, choose_client, watching_clients};
pub use command::{Command, Halt, Output, RunError};
pub use control::{Control, ControlError, Cycle, ListedPane, PaneRow, PaneScreen};
pub use files::{FolderError, private_dir, replace_file, replace_unchanged, sweep_beside};
pub use foreign::{FileStamp, ForeignError, ForeignFile, open_foreign, stat_foreign};
pub use identity::{Identity, Verdict, same_process};
pub use jump::{Caller, JumpPlan, JumpTarget, jump_plan};
pub use names::{guarded_command, hook_command, project_key, session_folder};
pub use net::{owner_of_port, uid_of_tcp_peer};
pub use pane::{
    FieldValue, ListAnswer, PaneState, ParsedRows, is_pane_id, is_session_id, is_window_id, pane_state,
    parse_panes,
};
pub use place::{Binding, JumpError, Place};
pub use process::{Proc, Process, Stat, Terminal};
pub use survey::{Agent, AgentPane, Survey};
pub use systemd::{ManagerError, UnitState, UserManager};
pub use tail::{Cursor, LINE_BYTES, Look, Piece, Tail, head};
pub use tmux::{Pane, Scope, Server, Tmux, TmuxError, usual_sockets};
