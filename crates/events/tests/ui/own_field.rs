use herdbook_events::typed::{Stop, ToolBefore};

fn command(before: ToolBefore<'_>) -> Option<String> {
    before.tool_input().map(|input| input.value.get().to_owned())
}

fn goes_on(stop: Stop<'_>) -> bool {
    stop.reentry().is_some_and(|reentry| reentry.value)
}

fn main() {
    let _ = (command, goes_on);
}
