//! Reading bodies within limits of size and time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::Refusal;

/// A hook payload; longer ones go through `herdbook-hook`, which spools them.
pub(super) const HOOK_BYTES: usize = 8 << 20;
/// Any other body.
pub(super) const POST_BYTES: usize = 1 << 20;
/// A body must be there in that time.
const READ_TIME: Duration = Duration::from_secs(10);

/// Reads a whole body.
pub(super) async fn read(body: Body, limit: usize) -> Result<Bytes, Refusal> {
    let collected = tokio::time::timeout(READ_TIME, Limited::new(body, limit).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let words = format!("the body has more than {limit} bytes");
            Err(Refusal(StatusCode::PAYLOAD_TOO_LARGE, words))
        }
        Ok(Err(_)) => Err(Refusal(StatusCode::BAD_REQUEST, "the body ended early".to_owned())),
        Err(_) => Err(Refusal(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned())),
    }
}

/// Reads a body as JSON of our own API. The error names the field, or line and column.
pub(super) async fn read_json<T: DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    parse(&read(body, POST_BYTES).await?)
}

/// As [`read_json`]; no body at all is the default.
pub(super) async fn read_json_or_default<T: DeserializeOwned + Default>(body: Body) -> Result<T, Refusal> {
    let bytes = read(body, POST_BYTES).await?;
    if bytes.is_empty() { Ok(T::default()) } else { parse(&bytes) }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|error| Refusal(StatusCode::BAD_REQUEST, format!("invalid body: {error}")))
}
