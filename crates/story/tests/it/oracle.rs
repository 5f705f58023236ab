//! The fold rules once more, as plainly as they read: collect everything up to a line, sort by place, cut, join.
//! It takes the log as loose JSON and knows nothing of the crate's types.

use std::collections::HashMap;

use serde_json::{Value, json};

type Place = (u64, u8, u64);

/// Returns `messages` as of the last of these lines.
pub fn messages(lines: &[Value], checkpoint: &str, nudge: &str) -> Value {
    let of = |kind: &'static str| lines.iter().filter(move |line| line["type"] == kind);
    let seq = |line: &Value| line["seq"].as_u64().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut items: Vec<(Place, Vec<Value>, bool)> = Vec::new();
    let user = |text: String| {
        if text.trim().is_empty() { vec![] } else { vec![json!({"type": "text", "text": text})] }
    };

    for line in of("user.message-created") {
        items.push(((seq(line), 1, 0), user(text(&line["payload"]["text"])), true));
    }
    for line in of("user.steering-injected") {
        let queued = of("user.steering-queued")
            .find(|queued| queued["id"] == line["payload"]["queuedEventId"])
            .unwrap();
        let after = line["payload"]["afterSeq"].as_u64().unwrap();
        items.push(((after, 2, seq(line)), user(text(&queued["payload"]["text"])), true));
    }
    for line in of("task.verification-requested") {
        let checks: Vec<String> =
            line["payload"]["detectedChecks"].as_array().unwrap().iter().map(text).collect();
        let filled = nudge
            .replace("{attempt}", &line["payload"]["attempt"].to_string())
            .replace("{detectedChecks}", &checks.join(", "));
        items.push(((seq(line), 1, 0), user(filled), true));
    }

    let mut results: HashMap<String, (u64, Value)> = HashMap::new();
    for line in lines {
        let id = line["payload"]["toolUseId"].as_str().unwrap_or_default().to_owned();
        let mut result =
            json!({"type": "tool_result", "tool_use_id": id, "content": line["payload"]["modelText"]});
        match line["type"].as_str().unwrap() {
            "tool.completed" => {}
            "tool.failed" | "tool.cancelled" => result["is_error"] = json!(true),
            _ => continue,
        }
        results.insert(id, (seq(line), result));
    }
    for line in of("context.pruned") {
        for id in line["payload"]["toolUseIds"].as_array().unwrap() {
            results.get_mut(id.as_str().unwrap()).unwrap().1["content"] =
                line["payload"]["placeholder"].clone();
        }
    }

    for start in of("model.request-started") {
        let id = &start["payload"]["requestId"];
        let mine = |line: &&Value| &line["payload"]["requestId"] == id;
        let is_completed = of("model.response-completed").any(|line| mine(&line));
        let is_cancelled =
            of("model.request-failed").any(|line| mine(&line) && line["payload"]["kind"] == "cancelled");
        if start["payload"]["purpose"] == "compaction" || !(is_completed || is_cancelled) {
            continue;
        }
        let mut blocks: Vec<(u64, Value)> = Vec::new();
        for line in lines.iter().filter(mine) {
            let payload = &line["payload"];
            let block = match line["type"].as_str().unwrap() {
                "model.text-block-completed" if !text(&payload["text"]).trim().is_empty() => {
                    json!({"type": "text", "text": payload["text"]})
                }
                "model.thinking-block-completed" => {
                    json!({"type": "thinking", "thinking": payload["thinking"], "signature": payload["signature"]})
                }
                "tool.requested" => {
                    json!({"type": "tool_use", "id": payload["toolUseId"], "name": payload["toolName"], "input": payload["input"]})
                }
                _ => continue,
            };
            blocks.push((payload["blockIndex"].as_u64().unwrap(), block));
        }
        blocks.sort_by_key(|(index, _)| *index);
        while is_cancelled && blocks.last().is_some_and(|(_, block)| block["type"] == "thinking") {
            blocks.pop();
        }
        let batch: Vec<&(u64, Value)> = blocks
            .iter()
            .filter(|(_, block)| block["type"] == "tool_use")
            .filter_map(|(_, block)| results.get(block["id"].as_str().unwrap()))
            .collect();
        if let Some(place) = batch.iter().map(|(seq, _)| *seq).max() {
            items.push(((place, 1, 0), batch.iter().map(|(_, result)| result.clone()).collect(), true));
        }
        items.push(((seq(start), 1, 0), blocks.into_iter().map(|(_, block)| block).collect(), false));
    }

    for line in of("context.compacted") {
        let cut = |end: &str| line["payload"]["cut"][end].as_u64().unwrap();
        items.retain(|((place, ..), ..)| !(cut("fromSeq")..=cut("toSeq")).contains(place));
        let filled =
            checkpoint.replace("{checkpointYaml}", line["payload"]["checkpointYaml"].as_str().unwrap());
        items.push(((cut("fromSeq"), 0, seq(line)), user(filled), true));
    }

    items.sort_by_key(|(place, ..)| *place);
    let mut messages: Vec<(bool, Vec<Value>)> = Vec::new();
    for (_, blocks, is_user) in items.into_iter().filter(|(_, blocks, _)| !blocks.is_empty()) {
        match messages.last_mut() {
            Some((true, joined)) if is_user => joined.extend(blocks),
            _ => messages.push((is_user, blocks)),
        }
    }
    let role = |is_user: bool| if is_user { "user" } else { "assistant" };
    messages.into_iter().map(|(is_user, blocks)| json!({"role": role(is_user), "content": blocks})).collect()
}
