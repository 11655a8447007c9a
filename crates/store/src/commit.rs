//! A commit on its way to the committer, and what it makes of the rows it names.
//!
//! Everything that does not depend on other commits is done by the caller before it queues: keys are encoded, values
//! are laid out and hashed, rows that must be checked are read.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use lazuli_engine::rules::{self, Next};
use lazuli_engine::{Change, Condition, Error, Reason, Result, TableId, Version, Write};

use crate::cell::{self, Cell, Draft};
use crate::keyspace;
use crate::limits::{COMMIT_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::recent::Seen;
use crate::view::View;

/// A commit that is ready to be decided.
#[derive(Debug)]
pub struct Commit {
    intents: Vec<Intent>,
    /// Some row is named more than once.
    has_repeats: bool,
    /// Bytes of its keys and of the values known so far.
    pub bytes: usize,
}

/// One write of a commit.
#[derive(Debug)]
struct Intent {
    key: Bytes,
    write: Write,
    draft: Option<Draft>,
    seen: Option<Seen>,
}

/// What a commit does, if it may.
#[derive(Debug)]
pub struct Decided {
    /// The new state of each row, in the order of the writes.
    pub changes: Vec<Changed>,
    /// What updates have computed, by the position of their writes.
    pub updated: Vec<Option<Bytes>>,
}

/// The new state of a row.
#[derive(Debug)]
pub struct Changed {
    /// Its key.
    pub key: Bytes,
    /// What is to be stored, and what a reader will find; `None` if the row is removed.
    pub state: Option<(Bytes, Cell)>,
}

impl Commit {
    /// Makes `writes` ready, looking at the rows that must be checked in `view`.
    pub fn prepare(view: &View, table: TableId, partition: &str, writes: Vec<Write>) -> Result<Self> {
        let mut bytes = 0;
        let mut intents = Vec::with_capacity(writes.len());
        for write in writes {
            let intent = Intent::prepare(view, table, partition, write)?;
            bytes += intent.key.len() + intent.draft.as_ref().map_or(0, Draft::len);
            if bytes > COMMIT_BYTES_MAX {
                return Err(Error::TooLarge(format!("a commit of more than {COMMIT_BYTES_MAX} bytes")));
            }
            intents.push(intent);
        }
        Ok(Self { has_repeats: has_repeats(&intents), intents, bytes })
    }

    /// What does the commit make of its rows? `current` tells the state of a row before it.
    pub fn decide(
        self,
        version: Version,
        current: impl Fn(&[u8], Option<&Seen>) -> Result<Option<Cell>>,
    ) -> Result<std::result::Result<Decided, (usize, Reason)>> {
        let count = self.intents.len();
        let mut decided = Decided { changes: Vec::with_capacity(count), updated: Vec::with_capacity(count) };
        for (index, intent) in self.intents.into_iter().enumerate() {
            let earlier = if self.has_repeats { decided.state_of(&intent.key) } else { None };
            let cell = match earlier {
                Some(cell) => cell,
                None if intent.needs_current() => current(&intent.key, intent.seen.as_ref())?,
                None => None,
            };
            match intent.decide(version, cell.as_ref())? {
                Ok((changed, computed)) => {
                    decided.changes.push(changed);
                    decided.updated.push(computed);
                }
                Err(reason) => return Ok(Err((index, reason))),
            }
        }
        Ok(Ok(decided))
    }
}

impl Intent {
    fn prepare(view: &View, table: TableId, partition: &str, write: Write) -> Result<Self> {
        let key = keyspace::row_key(table, partition, &write.row);
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::TooLarge(format!("a key of {} bytes; {KEY_BYTES_MAX} fit", key.len())));
        }
        let draft = match &write.change {
            Change::Put(value) => {
                check_size(value)?;
                Some(Draft::new(&key, value))
            }
            Change::Update(_) | Change::Delete => None,
        };
        let mut intent = Self { key: key.into(), write, draft, seen: None };
        if intent.needs_current() {
            intent.seen = Some(Seen { number: view.number, cell: view.cell(&intent.key)? });
        }
        Ok(intent)
    }

    /// What becomes of the row depends on what it is.
    fn needs_current(&self) -> bool {
        self.write.condition != Condition::Any || matches!(self.write.change, Change::Update(_))
    }

    fn decide(
        self,
        version: Version,
        current: Option<&Cell>,
    ) -> Result<std::result::Result<(Changed, Option<Bytes>), Reason>> {
        // An update is code of others; one that panics must not take the committer with it.
        let decide = || rules::decide(&self.write, current.map(|cell| (cell.version, &cell.value)));
        let next = catch_unwind(AssertUnwindSafe(decide))
            .map_err(|_| Error::Unavailable("an update panicked; nothing was applied".into()))?;
        let (value, is_computed) = match next {
            Ok(Next::Put { value, is_computed }) => (value, is_computed),
            Ok(Next::Delete) => return Ok(Ok((Changed { key: self.key, state: None }, None))),
            Err(reason) => return Ok(Err(reason)),
        };
        check_size(&value)?;
        let stored = self.draft.unwrap_or_else(|| Draft::new(&self.key, &value)).seal(version);
        let cell = Cell { version, value: cell::value_of(&stored) };
        Ok(Ok((Changed { key: self.key, state: Some((stored, cell)) }, is_computed.then_some(value))))
    }
}

impl Decided {
    /// What an earlier write of the same commit made of a row; `None` if there was none.
    fn state_of(&self, key: &Bytes) -> Option<Option<Cell>> {
        let changed = self.changes.iter().rev().find(|changed| changed.key == key)?;
        Some(changed.state.as_ref().map(|(_, cell)| cell.clone()))
    }
}

/// Does a value fit?
pub fn check_size(value: &Bytes) -> Result<()> {
    if value.len() > VALUE_BYTES_MAX {
        return Err(Error::TooLarge(format!("a value of {} bytes; {VALUE_BYTES_MAX} fit", value.len())));
    }
    Ok(())
}

fn has_repeats(intents: &[Intent]) -> bool {
    if intents.len() < 2 {
        return false;
    }
    let mut keys: Vec<&Bytes> = intents.iter().map(|intent| &intent.key).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}
