use herdbook_events::typed::ToolBefore;

fn goes_on(before: ToolBefore<'_>) -> bool {
    before.reentry().is_some()
}

fn main() {
    let _ = goes_on;
}
