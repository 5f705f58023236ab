//! `/v1/waits`: what waits for the human one by one, and his answers to what is held.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use herdbook_api::waits::{AnswerWait, Answered, Wait, Waits};
use herdbook_engine::view::WaitView;
use herdbook_engine::{Decided, DecidedBy, Input};
use herdbook_events::Process;
use herdbook_hosts::{Answer as Told, Decision, Outcome, Output};
use herdbook_log::Durability;
use herdbook_machine::Proc;

use super::extract::InPath;
use super::{Answer, App, Refusal, body, ok};
use crate::holds::{Claim, Hold};
use crate::peer::Peer;

/// By what means a human answers over the unix socket, as the journal tells it.
const HOW: &str = "cli";
/// What the model reads where the human gave no reason.
const DENIED: &str = "denied by the human";
/// A longer reason is no reason.
const REASON_BYTES: usize = 8 << 10;

/// `GET /v1/waits`.
pub(super) async fn waits(State(app): State<Arc<App>>, Extension(peer): Extension<Peer>) -> Answer {
    if peer == Peer::Tcp {
        return Err(forbidden("waits are told over the unix socket alone".to_owned()));
    }
    let waits = app.core.look(|engine, _| engine.waits()).await?;
    let holds = app.holds.open();
    let items: Vec<Wait> = waits
        .into_iter()
        .map(|wait| {
            let hold = holds.iter().find(|hold| hold.wait.id == wait.id);
            item(wait, hold.map(AsRef::as_ref))
        })
        .collect();
    ok(&Waits { count: items.len(), items })
}

fn item(wait: WaitView, hold: Option<&Hold>) -> Wait {
    let tool = hold.map(|hold| hold.subject.tool.clone()).or(wait.tool);
    Wait {
        id: wait.id,
        session_id: wait.session.to_string(),
        host: wait.host,
        kind: wait.kind.as_str().to_owned(),
        agent_id: wait.agent,
        tool,
        message: wait.message,
        since_at: wait.since_ms,
        held_until: hold.map(|hold| hold.until_ms),
        input: hold.and_then(Hold::input),
        input_hash: hold.map(|hold| hold.hash.clone()),
    }
}

/// `POST /v1/waits/{id}/answer`: one answer, from whom no agent stands above, about exactly what was shown.
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Extension(peer): Extension<Peer>,
    InPath(id): InPath<String>,
    body: Body,
) -> Answer {
    let request: AnswerWait = body::read_json(body).await?;
    let outcome = match request.outcome.as_str() {
        "allow" => Outcome::Allow,
        "deny" => Outcome::Deny,
        other => {
            let words = format!("invalid body: 'outcome' must be allow or deny, not '{other}'");
            return Err(Refusal(StatusCode::BAD_REQUEST, words));
        }
    };
    if request.reason.as_ref().is_some_and(|reason| reason.len() > REASON_BYTES) {
        let words = format!("invalid body: 'reason' has more than {REASON_BYTES} bytes");
        return Err(Refusal(StatusCode::BAD_REQUEST, words));
    }
    let unsaid = || (outcome == Outcome::Deny).then(|| DENIED.to_owned());
    let reason = request.reason.filter(|reason| !reason.trim().is_empty()).or_else(unsaid);
    let decision = Decision { outcome, reason, ..Decision::default() };
    let hold = app.holds.find(&id);
    if let Err(why) = is_human(&app, peer).await {
        refuse(&app, hold.as_deref(), &id, &decision, peer, &why).await;
        return Err(forbidden(why));
    }
    let Some(hold) = hold else { return Err(not_held(&app, &id).await?) };
    let told = told(&hold, &decision)?;
    let claimed = {
        let hold = Arc::clone(&hold);
        // On the engine's thread nothing ends the wait meanwhile.
        app.core.look(move |_, _| hold.claim(&request.input_hash)).await?
    };
    match claimed {
        Ok(claim) => give(&app, &hold, claim, decision, told, peer.process()).await,
        Err(refusal) => {
            let why = refusal.words();
            refuse(&app, Some(&hold), &id, &decision, peer, why).await;
            Err(Refusal(StatusCode::CONFLICT, format!("{}: {why}", hold.wait.session)))
        }
    }
}

/// Puts the answer into the host's own form.
fn told(hold: &Hold, decision: &Decision) -> Result<String, Refusal> {
    let said = hold.subject.table.say(hold.subject.native, decision);
    let wanted = if decision.outcome == Outcome::Allow { Told::Allow } else { Told::Deny };
    match said.output {
        Output::Stdout(told) if said.given.contains(&wanted) => Ok(told),
        _ => {
            let words = format!("{} cannot be told that", hold.subject.table.title);
            Err(Refusal(StatusCode::CONFLICT, words))
        }
    }
}

/// Writes the answer down, and hands it to the hook.
async fn give(
    app: &App,
    hold: &Hold,
    claim: Claim,
    decision: Decision,
    told: String,
    process: Option<Process>,
) -> Answer {
    let mut decided = decided(Some(hold), &decision, process, None);
    decided.told = Some(told.clone());
    // What is not written down is not said: then the claim is dropped, and the hook goes home with nothing.
    app.keep(Input::Decided(decided), Durability::Written).await?;
    if claim.tell(told.clone().into_bytes()).await {
        let session_id = hold.wait.session.to_string();
        return ok(&Answered { session_id, outcome: decision.outcome.as_str().to_owned(), told });
    }
    let why = "its hook was gone before it could be told: answer it where it asks";
    record(app, self::decided(Some(hold), &decision, process, Some(why.to_owned()))).await;
    Err(Refusal(StatusCode::CONFLICT, format!("{}: {why}", hold.wait.session)))
}

async fn is_human(app: &App, peer: Peer) -> Result<(), String> {
    let agents =
        app.core.look(|engine, _| engine.processes()).await.map_err(|refused| refused.to_string())?;
    let looked = tokio::task::spawn_blocking(move || peer.is_no_human(&Proc::system(), &agents));
    looked.await.unwrap_or_else(|_| Err("nobody can tell who answers".to_owned()))
}

/// Says why a wait that no hook is held for cannot be answered.
async fn not_held(app: &App, id: &str) -> Result<Refusal, Refusal> {
    let named = id.to_owned();
    let waits =
        app.core.look(move |engine, _| engine.waits().into_iter().find(|wait| wait.id == named)).await?;
    Ok(match waits {
        Some(wait) => {
            let words = format!("{} is not held: answer it where it asks", wait.session);
            Refusal(StatusCode::CONFLICT, words)
        }
        None => Refusal(StatusCode::NOT_FOUND, format!("no wait '{id}'")),
    })
}

fn forbidden(words: String) -> Refusal {
    Refusal(StatusCode::FORBIDDEN, words)
}

/// Records that somebody was refused; once for each process, wait and reason.
async fn refuse(app: &App, hold: Option<&Hold>, id: &str, decision: &Decision, peer: Peer, why: &str) {
    let known = hold.map_or("", |_| id);
    if app.holds.is_new_refusal(known, peer, why) {
        record(app, decided(hold, decision, peer.process(), Some(why.to_owned()))).await;
    }
}

async fn record(app: &App, decided: Decided) {
    // Whoever is refused is refused all the same.
    drop(app.keep(Input::Decided(decided), Durability::Written).await);
}

fn decided(
    hold: Option<&Hold>,
    decision: &Decision,
    process: Option<Process>,
    refused: Option<String>,
) -> Decided {
    Decided {
        delivery: hold.map_or(0, |hold| hold.subject.delivery),
        host: hold.map(|hold| hold.subject.table.host.to_owned()).unwrap_or_default(),
        native_event: hold.map(|hold| hold.subject.native.name.to_owned()).unwrap_or_default(),
        session: hold.map(|hold| hold.wait.session.clone()),
        by: DecidedBy::Human { how: HOW.to_owned(), process, refused },
        outcome: decision.outcome.as_str(),
        given: decision.outcome.as_str(),
        reason: decision.reason.clone(),
        told: None,
        left_out: Vec::new(),
        took_ms: hold.map_or(0, |hold| hold.begun.elapsed().as_millis() as u64),
    }
}
