//! Prints what is made of the event catalog: `ts`, or `json-schema`.

#[expect(clippy::print_stdout, reason = "it prints what is committed")]
fn main() {
    use herdbook_events::catalog::{Lists, author};
    match std::env::args().nth(1).as_deref() {
        Some("ts") => print!("{}", author::typescript()),
        _ => print!("{}", author::json_schema(Lists::OpenTools)),
    }
}
