//! redact.
