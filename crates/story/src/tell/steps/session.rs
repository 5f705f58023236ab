//! Session, human, model and context.

use herdbook_events::catalog::{
    BaselineRecorded, ChangeReason, ContextCompacted, ContextPruned, ModelChanged, ModelRequestFailed,
    ModelRequestStarted, ModelResponseCompleted, ModelTextBlockCompleted, ModelThinkingBlockCompleted,
    Purpose, SessionRenamed, SessionResumed, SessionStarted, StopReason, ToolName, UserInterrupted,
    UserMessageCreated, UserSteeringInjected, UserSteeringQueued,
};

use crate::tell::row::{Row, RowKind, Tone};
use crate::tell::teller::Teller;
use crate::tell::words::{counted, lasting, place, tokens};

impl Teller {
    pub(in crate::tell) fn session_started(&mut self, event: &SessionStarted) {
        let branch = event.git_branch.0.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
        let row = self.row("session").toned(Tone::Strong).say(&event.title, Tone::Strong);
        let row = row.note(format!("{}{branch}", event.working_directory)).note(&event.model);
        let version =
            if self.telling.full { format!("KHAELOR {}", event.khaelor_version) } else { String::new() };
        self.add(row.note(version));
    }

    pub(in crate::tell) fn session_resumed(&mut self, event: &SessionResumed) {
        // Times of another process say nothing about how long somebody waited.
        self.waits.values_mut().for_each(|wait| wait.is_same_run = false);
        let row = self.row("session").toned(Tone::Strong).say("goes on", Tone::Plain);
        let row = row.note(format!("after seq {}", event.replayed_seq.0)).note(&event.model);
        let names: Vec<&str> = event.tool_names.iter().map(ToolName::as_str).collect();
        let tools = if self.telling.full { names.join(", ") } else { counted(names.len(), "tool") };
        self.add(row.note(tools));
    }

    pub(in crate::tell) fn session_renamed(&mut self, event: &SessionRenamed) {
        let row = self.row("session").toned(Tone::Strong).say("is called ", Tone::Plain);
        self.add(row.say(&event.title, Tone::Strong));
    }

    pub(in crate::tell) fn model_changed(&mut self, event: &ModelChanged) {
        let row = self.row("model").say(format!("{} → {}", event.from, event.to), Tone::Plain);
        let by = if event.reason == ChangeReason::User { "you" } else { event.reason.as_str() };
        self.add(row.note(format!("by {by}")));
    }

    pub(in crate::tell) fn baseline_recorded(&mut self, event: &BaselineRecorded) {
        let baseline = &event.baseline;
        let (dirty, untracked) = (baseline.dirty_files.len(), baseline.untracked_files.len());
        let changed =
            if dirty == 0 { "clean".to_owned() } else { format!("{} changed", counted(dirty, "file")) };
        let row = self.row("git").say(&baseline.branch, Tone::Plain).note(changed);
        let row = row.note(if untracked > 0 { format!("{untracked} untracked") } else { String::new() });
        self.add(row.note(event.when.as_str()));
        if self.telling.full {
            for (word, paths) in
                [("changed", &baseline.dirty_files), ("untracked", &baseline.untracked_files)]
            {
                for path in paths {
                    self.add(self.detail().say(path, Tone::Plain).note(word));
                }
            }
        }
    }

    pub(in crate::tell) fn user_message(&mut self, event: &UserMessageCreated) {
        self.end_turn();
        self.is_turn_whole = true;
        self.whole.turns += 1;
        let mentions: Vec<String> =
            event.mentions.iter().map(|mention| place(&mention.path, mention.range.as_ref())).collect();
        let note = if mentions.is_empty() { String::new() } else { format!("with {}", mentions.join(", ")) };
        let row = Row::new(RowKind::Turn, self.seq, self.ts_ms, "you").toned(Tone::Strong);
        self.add_text(row, &event.text, Tone::Strong, &note);
    }

    pub(in crate::tell) fn steering_queued(&mut self, event: &UserSteeringQueued) {
        self.queued.insert(self.id.clone(), self.seq);
        let row = self.row("you").toned(Tone::Strong);
        self.add_text(row, &event.text, Tone::Strong, "while it works");
    }

    pub(in crate::tell) fn steering_injected(&mut self, event: &UserSteeringInjected) {
        let which = match self.queued.remove(&event.queued_event_id) {
            Some(seq) => format!("what you said at seq {seq} reaches the model"),
            None => "what you said before reaches the model".to_owned(),
        };
        self.add(self.row("you").toned(Tone::Strong).say(which, Tone::Dim));
    }

    pub(in crate::tell) fn interrupted(&mut self, event: &UserInterrupted) {
        let row = self.row("you").toned(Tone::Strong).say("stopped it", Tone::Bad);
        let open = event.pending_tool_use_ids.len();
        self.add(row.note(if open > 0 { format!("{} open", counted(open, "tool")) } else { String::new() }));
    }

    pub(in crate::tell) fn request_started(&mut self, event: &ModelRequestStarted) {
        if event.purpose == Purpose::Compaction {
            self.compactions.insert(event.request_id.clone());
        }
        if self.telling.full {
            let row = self.row("request").toned(Tone::Dim).say(event.purpose.as_str(), Tone::Dim);
            let size = tokens(event.context_stats.estimated_input_tokens);
            self.add(row.note(&event.model).note(format!("about {size} tokens")));
        }
    }

    pub(in crate::tell) fn text_block(&mut self, event: &ModelTextBlockCompleted) {
        let is_summary = self.compactions.contains(&event.request_id);
        let (label, tone) = if is_summary { ("sums up", Tone::Dim) } else { ("says", Tone::Plain) };
        if !event.text.trim().is_empty() {
            self.add_text(self.row(label), &event.text, tone, "");
        }
    }

    pub(in crate::tell) fn thinking_block(&mut self, event: &ModelThinkingBlockCompleted) {
        if !event.thinking.trim().is_empty() {
            self.add_text(self.row("thinks").toned(Tone::Dim), &event.thinking, Tone::Dim, "");
        }
    }

    pub(in crate::tell) fn response_completed(&mut self, event: &ModelResponseCompleted) {
        self.compactions.remove(&event.request_id);
        self.turn.usage(&event.usage, event.duration_ms);
        let is_usual = matches!(event.stop_reason, StopReason::EndTurn | StopReason::ToolUse);
        if !is_usual {
            let words = format!("stopped: {}", event.stop_reason.as_str());
            self.add(self.row("model").toned(Tone::Bad).say(words, Tone::Bad));
        } else if self.telling.full {
            let usage = &event.usage;
            let row = self.row("answer").toned(Tone::Dim).say(event.stop_reason.as_str(), Tone::Dim);
            let words = format!(
                "{} tokens in + {} from cache + {} into it, {} out",
                usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens
            );
            self.add(row.note(words).note(lasting(event.duration_ms)));
        }
    }

    pub(in crate::tell) fn request_failed(&mut self, event: &ModelRequestFailed) {
        self.compactions.remove(&event.request_id);
        self.turn.failed_requests += 1;
        let status = event.status.map(|status| format!(" {status}")).unwrap_or_default();
        let row = self.row("model").toned(Tone::Bad);
        let row = row.say(format!("failed: {}{status}: ", event.kind.as_str()), Tone::Bad);
        let note = if event.retries_exhausted { "" } else { "is tried again" };
        self.add_text(row, &event.message, Tone::Plain, note);
    }

    pub(in crate::tell) fn context_pruned(&mut self, event: &ContextPruned) {
        let results = counted(event.tool_use_ids.0.len(), "old result");
        let row = self.row("context").say(format!("{results} taken out"), Tone::Plain);
        self.add(row.note(format!("about {} tokens", tokens(event.tokens_reclaimed_estimate))));
    }

    pub(in crate::tell) fn context_compacted(&mut self, event: &ContextCompacted) {
        let (from, to) = (event.cut.from_seq.0, event.cut.to_seq.0);
        let row = self.row("context").say(format!("seq {from} to {to} became a checkpoint"), Tone::Plain);
        let row = row.note(format!("{} tokens before", tokens(event.tokens_before)));
        self.add(row.note(event.trigger.as_str()));
        if self.telling.full {
            let rows = self.lines(&event.checkpoint_yaml, |_| Tone::Plain);
            self.rows.extend(rows);
        }
    }
}
