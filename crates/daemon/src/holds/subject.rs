//! What a call that may be held asks for.

use herdbook_hosts::{HostTable, NativeEvent, Projected, project, table};
use herdbook_wire::Delivery;
use herdbook_wire::limits::WAIT_MS;

use super::switch::Switch;
use crate::clock;

/// Nobody can read more before he says yes: a longer call is not held.
const BODY_BYTES: usize = 256 << 10;
/// The host gets its answer so long before its own time is over.
const RESERVE_MS: u64 = 1_000;

/// A call that may be held.
#[derive(Debug)]
pub(crate) struct Subject {
    pub delivery: u128,
    pub table: &'static HostTable,
    pub native: &'static NativeEvent,
    pub tool: String,
    /// Its whole input, as text.
    pub input: String,
    /// Milliseconds since boot at which the host's time is over for us.
    until_boot_ms: u64,
    /// So long it may be held at most, in milliseconds.
    most_ms: u64,
}

impl Subject {
    pub(super) fn read(delivery: &Delivery, switch: &Switch) -> Option<Subject> {
        if delivery.cut || delivery.body.len() > BODY_BYTES {
            return None;
        }
        let Projected::Event(event) =
            project(&delivery.host, delivery.native_event.as_deref(), &delivery.body)
        else {
            return None;
        };
        // Another host that runs these hooks may wait for them with its dialog.
        let table = table(&event.host).filter(|table| table.host == delivery.host)?;
        let native = table.event(event.native_event.as_deref()?)?;
        if !table.detail(native).is_some_and(|detail| detail.hold_safe) {
            return None;
        }
        // The usual time-out leaves no time for a human.
        let limit_ms = *switch.limits.get(native.name)?;
        let tool = event.native_text("tool_name")?;
        let input = event.native_member("tool_input")?.get().to_owned();
        let until_boot_ms = delivery.stamp_ms.saturating_add(limit_ms.checked_sub(RESERVE_MS)?);
        let most_ms = switch.hold_ms.min(u64::from(WAIT_MS));
        Some(Subject { delivery: delivery.delivery, table, native, tool, input, until_boot_ms, most_ms })
    }

    /// How long it may be held from now on, in milliseconds.
    pub(crate) fn hold_ms(&self) -> u64 {
        self.until_boot_ms.saturating_sub(clock::boot_ms()).min(self.most_ms)
    }
}
