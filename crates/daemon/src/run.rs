//! From start to stop.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herdbook_engine::{Config, Engine};
use herdbook_machine::Proc;
use herdbook_redact::Redactor;
use herdbook_wire::paths::private_dir;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use crate::agents::Agents;
use crate::answering::{Answering, RUNS};
use crate::asked;
use crate::attention::{Ring, Source};
use crate::clock;
use crate::closed;
use crate::config::{DaemonConfig, Notice, stopped};
use crate::core::Counters;
use crate::detector;
use crate::engine_loop::EngineLoop;
use crate::error::DaemonError;
use crate::focus;
use crate::holds::Holds;
use crate::http::{self, App};
use crate::journal::Journal;
use crate::listen::{self, UnixPlace};
use crate::panes;
use crate::processes::Watch;
use crate::reserve::Reserve;
use crate::routes::{self, Kept};
use crate::serve::Server;
use crate::service::{Beat, Notify};
use crate::sessions::{AT_ONCE, SessionLogs};
use crate::settings::Settings;
use crate::spool::Drain;
use crate::store_file::{StoreFile, fill_random};
use crate::transcripts;
use crate::upkeep::{self, Standing, Upkeep};

/// Two threads serve all connections; the engine and the journal have threads of their own.
const WORKERS: usize = 2;
/// Threads for what waits for others, at most: seven eyes, each of which a tmux server or a client that hangs may hold for
/// seconds, beside them readers of the journal that fell behind, and the routes.
const BLOCKING: usize = 12 + RUNS + BESIDE_RUNS + LOGS;
/// And beside the routes that run: looking at their files, reading long calls for them, and looking after old logs.
const BESIDE_RUNS: usize = 5;
/// And for session logs: appends that are checked and logs that are opened, and as many again for pages that are read.
const LOGS: usize = 2 * AT_ONCE;
const STACK_BYTES: usize = 1 << 20;
/// So many readers of the attention stream.
const STREAMS: usize = 64;
/// What is in flight when the daemon ends has this long (case: a stop within 2 s).
const FINISH_TIME: Duration = Duration::from_millis(900);
/// The journal has this long to write the rest.
const CLOSE_TIME: Duration = Duration::from_millis(800);

/// Runs a daemon until it is told to stop: by [`DaemonConfig::stop`], or by SIGTERM or SIGINT where
/// [`DaemonConfig::signals`] is set. The caller's thread waits meanwhile.
///
/// # Errors
/// It could not start; nothing was changed then that is not ours. [`DaemonError::AlreadyRunning`] when another daemon
/// has the state folder.
pub fn run(config: DaemonConfig) -> Result<(), DaemonError> {
    // Without this a file size limit kills the process instead of failing the write.
    herdbook_log::ignore_sigxfsz().map_err(system("keep SIGXFSZ from killing the daemon"))?;
    private_dir(&config.state_dir).map_err(DaemonError::Folder)?;
    let mut seed = [0; 16];
    fill_random(&mut seed).map_err(system("get random bytes"))?;
    let [engine_seed, own_seed] =
        [&seed[..8], &seed[8..]].map(|half| half.iter().fold(0, |seed, byte| (seed << 8) | u64::from(*byte)));
    let journal = Journal::open(&config.state_dir, own_seed)?;
    let file = StoreFile::load_or_make(&config.state_dir, clock::wall_ms())?;
    let redact_key = file.redact_key;
    let mut settings = Config { seed: engine_seed, redact_key, ..Config::default() };
    if let Some(grace_ms) = config.grace_ms {
        settings.grace_ms = grace_ms;
    }
    settings.panes = config.panes;
    let mut engine = Engine::new(settings);
    let notice = Arc::clone(&config.notice);
    if let Some(renewed) = &file.renewed {
        notice(&Notice::Warning(renewed.clone()));
    }
    for damage in journal.opened.damage.iter().take(3) {
        notice(&Notice::Warning(format!("the journal is damaged: {damage}")));
    }
    for torn in &journal.opened.torn {
        notice(&Notice::Warning(format!("the journal was torn: {torn}")));
    }
    let unfolded = journal.replay(&mut engine, |reason| notice(&Notice::Warning(reason)));
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING)
        .thread_stack_size(STACK_BYTES)
        .thread_name("serve")
        .enable_all()
        .build()
        .map_err(system("start threads"))?;
    let served = runtime.block_on(serve(config, journal, file, engine, (unfolded, own_seed)));
    // Nothing is left that anybody waits for; a thread that still reads the journal is not waited for either.
    runtime.shutdown_timeout(Duration::from_millis(100));
    served
}

fn system(what: &'static str) -> impl Fn(io::Error) -> DaemonError {
    move |source| DaemonError::System { what, source }
}

async fn serve(
    mut config: DaemonConfig,
    journal: Journal,
    file: StoreFile,
    engine: Engine,
    (unfolded, seed): (u64, u64),
) -> Result<(), DaemonError> {
    let Journal { store, dir, opened, ids } = journal;
    let told = Arc::new(Source { dir, ring: Ring::new(opened.last_seq) });
    let counters = Arc::new(Counters::default());
    let manager = Notify::new(config.service.notify.as_ref());
    let holds = Arc::new(Holds::new(config.state_dir.clone()));
    let engine_loop = EngineLoop {
        engine,
        store: Arc::clone(&store),
        ids,
        redactor: Redactor::new(&file.redact_key),
        told: Arc::clone(&told),
        spool: Drain::new(&config.state_dir, config.boot),
        processes: Watch::new(Proc::system()),
        counters: Arc::clone(&counters),
        notice: Arc::clone(&config.notice),
        version: config.version.clone(),
        boot: config.boot,
        clock: config.clock,
        beat: Beat::new(manager.clone(), config.service.watchdog),
        fold: Engine::step,
        refused: Arc::new(Mutex::new(HashSet::new())),
        holds: Arc::clone(&holds),
        batch: 0,
    };
    // Signals count from here on; before, they end the process as they always do.
    let mut signals = Signals::new(config.signals).map_err(system("wait for signals"))?;
    let core = engine_loop.start(&Handle::current()).map_err(system("start the engine's thread"))?;
    let (unix, http) = match open(&mut config) {
        Ok(opened) => opened,
        Err(error) => {
            drop(timeout(CLOSE_TIME, core.stop()).await);
            return Err(error);
        }
    };
    let Http { listeners, told: listen, ports } = http;
    let sockets: Vec<_> = unix.iter().map(UnixPlace::file).collect();
    let stop = config.stop.watch();
    let kept = Arc::new(Kept::new(config.config_dir.clone(), config.state_dir.clone()));
    tokio::spawn(routes::follow(Arc::clone(&kept), stop.clone()));
    let answering = Answering::new(kept, core.clone(), Arc::clone(&counters), Arc::clone(&config.notice));
    let settings = Settings::of_folder(config.config_dir.as_deref(), &*config.notice);
    let logs = Arc::new(SessionLogs::new(
        &config.state_dir,
        Redactor::new(&file.redact_key),
        settings.policy,
        (config.clock, !seed),
        Arc::clone(&config.notice),
    ));
    tokio::spawn(Arc::clone(&logs).keep(stop.clone()));
    let standing = Standing::default();
    let reserve = Reserve::make(&config.state_dir);
    let journal = Arc::clone(&store);
    let app = Arc::new(App {
        logs: Arc::clone(&logs),
        upkeep: standing.clone(),
        answering: Arc::new(answering),
        core: core.clone(),
        store,
        told,
        counters,
        stop: stop.clone(),
        version: config.version.clone(),
        store_id: file.store_id,
        renewed: file.renewed,
        state_dir: config.state_dir.clone(),
        sockets: sockets.iter().map(|file| file.path.clone()).collect(),
        http: listen,
        ports,
        started_at: clock::wall_ms(),
        started_mono_ms: clock::now().mono_ms,
        unfolded,
        streams: Arc::new(Semaphore::new(STREAMS)),
        holds,
        agents: Agents::start(config.discover, core.clone(), stop.clone()),
    });
    if config.discover {
        tokio::spawn(asked::follow(core.clone(), config.home.clone(), stop.clone()));
    }
    tokio::spawn(transcripts::follow(core.clone(), app.agents.clone(), config.home.take(), stop.clone()));
    if config.panes {
        let eye = panes::Looks {
            core: core.clone(),
            agents: app.agents.clone(),
            counters: Arc::clone(&app.counters),
            config_dir: config.config_dir.clone(),
            notice: Arc::clone(&config.notice),
        };
        tokio::spawn(panes::follow(eye, stop.clone()));
    }
    let upkeep = Upkeep {
        core: core.clone(),
        state_dir: config.state_dir.clone(),
        rules: settings.retention,
        redactor: Redactor::new(&file.redact_key),
        notice: Arc::clone(&config.notice),
        logs: Arc::clone(&logs),
        standing,
    };
    tokio::spawn(upkeep::follow(upkeep, stop.clone()));
    let detector = if config.panes {
        let (agents, usual) = (app.agents.clone(), std::mem::take(&mut config.tmux));
        tokio::spawn(detector::follow(core.clone(), agents, usual, settings.detector, stop.clone()))
    } else {
        // It may have been on before.
        let core = core.clone();
        tokio::spawn(async move { detector::end_all(&core, "panes are not looked at any more").await })
    };
    tokio::spawn(closed::follow(core.clone(), stop.clone()));
    tokio::spawn(focus::follow(core.clone(), Arc::clone(&app.told), stop.clone()));
    let (alive, mut all_over) = mpsc::channel(1);
    let server =
        Server { router: http::router(Arc::clone(&app)), app, core: core.clone(), stop: stop.clone(), alive };
    let http: Vec<_> = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
    for place in unix {
        let listener = UnixListener::from_std(place.listener).map_err(system("listen on a socket"))?;
        tokio::spawn(server.clone().unix(listener));
    }
    for listener in listeners {
        let listener = TcpListener::from_std(listener).map_err(system("listen on a port"))?;
        tokio::spawn(server.clone().tcp(listener));
    }
    drop(server);
    // Ready means that what lay in the spool is folded: queue reads that came before wait for that too.
    drop(core.look(|_, _| ()).await);
    let paths = sockets.iter().map(|file| file.path.clone()).collect();
    manager.tell(&format!("READY=1\nSTATUS={}", serving(&http)));
    (config.notice)(&Notice::Ready { pid: std::process::id(), http, sockets: paths });

    let mut stop = stop;
    tokio::select! {
        () = stopped(&mut stop) => {}
        () = signals.wait() => config.stop.stop(),
    }
    manager.tell("STOPPING=1\nSTATUS=writing down what is in flight");
    (config.notice)(&Notice::Stopping);
    let is_roomy = !reserve.open_up(journal.health().error.is_some() || logs.waits_for_disk());
    // Hooks use the spool from here on.
    for file in &sockets {
        file.remove();
    }
    let finished = async { tokio::join!(all_over.recv(), detector) };
    drop(timeout(FINISH_TIME, finished).await);
    drop(timeout(CLOSE_TIME, logs.close(is_roomy)).await);
    drop(timeout(CLOSE_TIME, core.stop()).await);
    Ok(())
}

struct Http {
    listeners: Vec<std::net::TcpListener>,
    told: Vec<herdbook_api::v1::Listen>,
    ports: Vec<u16>,
}

/// Says where HTTP is served, for `systemctl status`.
fn serving(http: &[SocketAddr]) -> String {
    match http {
        [] => "no HTTP, unix sockets alone".to_owned(),
        _ => http.iter().map(|address| format!("http://{address}")).collect::<Vec<_>>().join(", "),
    }
}

fn open(config: &mut DaemonConfig) -> Result<(Vec<UnixPlace>, Http), DaemonError> {
    let passed = std::mem::take(&mut config.service.sockets);
    let unix = listen::unix(&config.sockets, passed, &*config.notice)?;
    let (listeners, told) = listen::http(&config.http, &*config.notice);
    let ports = listeners.iter().filter_map(|listener| Some(listener.local_addr().ok()?.port())).collect();
    Ok((unix, Http { listeners, told, ports }))
}

struct Signals(Option<(tokio::signal::unix::Signal, tokio::signal::unix::Signal)>);

impl Signals {
    fn new(wanted: bool) -> io::Result<Signals> {
        Ok(Signals(match wanted {
            true => Some((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)),
            false => None,
        }))
    }

    /// Comes back when the process is told to end.
    async fn wait(&mut self) {
        match &mut self.0 {
            Some((terminate, interrupt)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            None => std::future::pending().await,
        }
    }
}
