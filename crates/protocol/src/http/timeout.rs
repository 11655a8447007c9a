//! The timeout that a client sets for its request.

use std::time::Duration;

use lazuli_model::{ErrorCode, Failure};

use crate::http::query::Query;

/// Maximum time that a client can request, unless the operation allows more.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(30);

/// The parameter `timeout`, in seconds. A longer time counts as [`TIMEOUT_MAX`], and zero as absent.
pub fn timeout(query: Query<'_>) -> Result<Option<Duration>, Failure> {
    let Some(text) = query.find("timeout") else { return Ok(None) };
    let time = Duration::from_secs(seconds(&text)?.into()).min(TIMEOUT_MAX);
    Ok(Some(time).filter(|time| !time.is_zero()))
}

/// A number of seconds. Numbers of any length are legal.
pub fn seconds(text: &str) -> Result<u32, Failure> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        let failure = Failure::from(ErrorCode::InvalidQueryParameterValue);
        return Err(failure
            .detail("QueryParameterName", "timeout")
            .detail("QueryParameterValue", text.to_owned()));
    }
    Ok(text.parse().unwrap_or(u32::MAX))
}
