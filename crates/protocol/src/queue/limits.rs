//! The numeric parameters of message operations, with the limits of each version.

use lazuli_model::queue::limits::{
    MESSAGES_PER_GET_MAX, MESSAGES_PER_MOVE_MAX, TTL_SECONDS_DEFAULT, TTL_SECONDS_MAX_2009,
    VISIBILITY_SECONDS_DEFAULT, VISIBILITY_SECONDS_MAX, VISIBILITY_SECONDS_MAX_2009,
};
use lazuli_model::{ErrorCode, Failure};

use crate::ApiVersion;
use crate::http::params::{Params, invalid_because, missing};

const VISIBILITY: &str = "visibilitytimeout";
const TTL: &str = "messagettl";

/// The number of messages to return.
pub fn count(params: &Params<'_>) -> Result<u32, Failure> {
    Ok(number(params, "numofmessages", 1, MESSAGES_PER_GET_MAX)?.unwrap_or(1))
}

/// The number of messages to move to another queue.
pub fn move_count(params: &Params<'_>) -> Result<u32, Failure> {
    Ok(number(params, "numofmessages", 1, MESSAGES_PER_MOVE_MAX)?.unwrap_or(MESSAGES_PER_MOVE_MAX))
}

/// The time for which dequeued messages stay invisible.
pub fn get_visibility(params: &Params<'_>, version: ApiVersion) -> Result<u32, Failure> {
    let is_old = version < ApiVersion::V2011_08_18;
    let max = if is_old { VISIBILITY_SECONDS_MAX_2009 } else { VISIBILITY_SECONDS_MAX };
    Ok(number(params, VISIBILITY, 1, max)?.unwrap_or(VISIBILITY_SECONDS_DEFAULT))
}

/// The time for which an updated message stays invisible.
pub fn update_visibility(params: &Params<'_>) -> Result<u32, Failure> {
    number(params, VISIBILITY, 0, VISIBILITY_SECONDS_MAX)?.ok_or_else(|| missing(VISIBILITY))
}

/// The time for which a new message stays invisible, and its time to live. The message must become visible
/// before it expires.
///
/// Before 2011-08-18, a new message is visible immediately, regardless of the query.
pub fn put_times(params: &Params<'_>, version: ApiVersion) -> Result<(u32, Option<u32>), Failure> {
    let visibility = match version < ApiVersion::V2011_08_18 {
        true => 0,
        false => number(params, VISIBILITY, 0, VISIBILITY_SECONDS_MAX)?.unwrap_or(0),
    };
    let ttl = ttl(params, version)?;
    if ttl.is_some_and(|ttl| ttl <= visibility) {
        let reason = "messagettl must be greater than visibilitytimeout";
        return Err(invalid_because(VISIBILITY, params.get(VISIBILITY).unwrap_or("0"), reason));
    }
    Ok((visibility, ttl))
}

/// From 2017-07-29 on any positive number is legal, and -1 for a message that never expires.
fn ttl(params: &Params<'_>, version: ApiVersion) -> Result<Option<u32>, Failure> {
    if version < ApiVersion::V2017_07_29 {
        return Ok(Some(number(params, TTL, 1, TTL_SECONDS_MAX_2009)?.unwrap_or(TTL_SECONDS_DEFAULT)));
    }
    match number(params, TTL, 1, i32::MAX.unsigned_abs()) {
        Ok(ttl) => Ok(Some(ttl.unwrap_or(TTL_SECONDS_DEFAULT))),
        Err(_) if params.get(TTL) == Some("-1") => Ok(None),
        Err(failure) if failure.code == ErrorCode::OutOfRangeQueryParameterValue => {
            let reason = "Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.";
            Err(invalid_because(TTL, params.get(TTL).unwrap_or_default(), reason))
        }
        Err(failure) => Err(failure),
    }
}

fn number(params: &Params<'_>, name: &str, min: u32, max: u32) -> Result<Option<u32>, Failure> {
    let found = params.number(name, min.into(), max.into())?;
    Ok(found.and_then(|number| u32::try_from(number).ok()))
}
