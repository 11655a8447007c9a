//! Changes of rows that depend on their current value: counters, the time of a queue, the removal of a message.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::{Change, Condition, Next, Rejected, Update, Version, Write};
use lazuli_model::Guid;

use super::record::{MessageHead, TIME, counter_key, decode_count, decode_time, encode_count, encode_time};

/// Adds to the counter of the messages with this sequence number.
pub fn count(sequence: u64, by: i64) -> Write {
    let row = counter_key(sequence).into();
    Write { row, condition: Condition::Any, change: Change::Update(Arc::new(Count(by))) }
}

/// Raises the stored time of a queue.
pub fn raise(time: u64) -> Write {
    Write { row: TIME.into(), condition: Condition::Any, change: Change::Update(Arc::new(Raise(time))) }
}

struct Count(i64);

impl Update for Count {
    fn next(&self, current: Option<&Bytes>, _version: Version) -> Result<Next, Rejected> {
        let before = current.map_or(Ok(0), |bytes| decode_count(bytes)).map_err(|_| Rejected(0))?;
        Ok(Next::Put(encode_count(before.saturating_add(self.0))))
    }
}

struct Raise(u64);

impl Update for Raise {
    fn next(&self, current: Option<&Bytes>, _version: Version) -> Result<Next, Rejected> {
        let before = current.map_or(Ok(0), |bytes| decode_time(bytes)).map_err(|_| Rejected(0))?;
        Ok(if before < self.0 { Next::Put(encode_time(self.0)) } else { Next::Keep })
    }
}

/// Removes a message if the receipt matches its current state.
#[derive(Clone, Copy)]
pub struct Removal {
    pub id: Guid,
    pub nonce: u64,
    pub now: u64,
}

impl Update for Removal {
    fn next(&self, current: Option<&Bytes>, _version: Version) -> Result<Next, Rejected> {
        let head = current.and_then(|bytes| MessageHead::decode(bytes).ok()).ok_or(Rejected(0))?;
        let matches = head.id == self.id && head.nonce == self.nonce && head.expires > self.now;
        if matches { Ok(Next::Delete) } else { Err(Rejected(0)) }
    }
}
