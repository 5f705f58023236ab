//! Parts of a request's address; what cannot be read is refused as JSON, like everything else.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::Refusal;

/// As [`Path`].
pub(super) struct InPath<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<InPath<T>, Refusal> {
        let read = Path::from_request_parts(parts, state).await;
        read.map(|Path(read)| InPath(read))
            .map_err(|_| refused("the path is not UTF-8 once decoded".to_owned()))
    }
}

/// As [`Query`].
pub(super) struct InQuery<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for InQuery<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<InQuery<T>, Refusal> {
        let read = Query::from_request_parts(parts, state).await;
        read.map(|Query(read)| InQuery(read)).map_err(|rejection| {
            // It names the parameter, after a general sentence.
            let text = rejection.body_text();
            let words = text.split_once(": ").map_or(text.as_str(), |(_, words)| words);
            refused(format!("invalid query: {words}"))
        })
    }
}

fn refused(words: String) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, words)
}
