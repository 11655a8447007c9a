//! A commit on its way to the committer, and how it changes the rows that it names.
//!
//! Everything that does not depend on other commits is done by the caller before it queues: keys are encoded, values
//! are serialised and hashed, rows that must be checked are read.
//!
//! A commit that can no longer succeed ends here: its caller has read the rows that it must check, in a state that is
//! durable and published.
//!
//! Invariant: a commit holds no more memory than its permit for the queue covers. Of rows that it only checks
//! it keeps the version; values that its updates need are left to the committer if the permit does not cover them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use lazuli_engine::limits::{ResultBytes, check_value};
use lazuli_engine::rules;
use lazuli_engine::{Change, Condition, Error, Next, Reason, Result, TableId, Version, Write};

use crate::cell::{self, Cell, CellBuilder};
use crate::keyspace;
use crate::limits::{COMMIT_INPUT_BYTES_MAX, GROUP_BYTES_MAX, KEY_BYTES_MAX, WRITE_BYTES};
use crate::permit::Permit;
use crate::reads::{Look, ReadSource};
use crate::recent::Seen;
use crate::view::View;

/// A commit that is ready to be decided.
#[derive(Debug)]
pub struct Commit {
    intents: Vec<Intent>,
    /// Does some row occur more than once?
    has_repeats: bool,
    /// Bytes of its keys and of the values to put.
    pub bytes: usize,
}

/// One write of a commit.
#[derive(Debug)]
struct Intent {
    key: Bytes,
    write: Write,
    draft: Option<CellBuilder>,
    /// The part of the row that is kept in memory after reading.
    seen: Option<Seen>,
    has_looked: bool,
}

/// The changes of a commit, if its conditions hold.
#[derive(Debug)]
pub struct Decided {
    /// The new state of each row that changes, in the order of the writes.
    pub changes: Vec<Changed>,
    /// The values that updates have computed, by the position of their writes.
    pub updated: Vec<Option<Bytes>>,
    /// Upper bound of the bytes that the changes take up in the log.
    pub bytes: usize,
}

/// The effect of one write.
struct Effect {
    /// The new state of the row, if it changes.
    changed: Option<Changed>,
    /// The value that an update has computed.
    computed: Option<Bytes>,
}

/// The new state of a row.
#[derive(Debug)]
pub struct Changed {
    /// Its key.
    pub key: Bytes,
    /// The bytes to store, and the row for readers; `None` if the row is removed.
    pub state: Option<(Bytes, Cell)>,
}

impl Commit {
    /// Encodes the keys of `writes` and checks all sizes. Values are neither copied nor read.
    pub fn new(table: TableId, partition: &str, writes: Vec<Write>) -> Result<Self> {
        let mut bytes = 0;
        let mut intents = Vec::with_capacity(writes.len());
        for write in writes {
            let intent = Intent::new(table, partition, write)?;
            bytes += WRITE_BYTES + intent.key.len() + intent.value_bytes()?;
            if bytes > COMMIT_INPUT_BYTES_MAX {
                let why = format!("a commit of more than {COMMIT_INPUT_BYTES_MAX} bytes");
                return Err(Error::TooLarge(why));
            }
            intents.push(intent);
        }
        Ok(Self { has_repeats: has_repeats(&intents), intents, bytes })
    }

    /// Serialises the values to put.
    pub fn lay_out(&mut self) {
        self.intents.iter_mut().for_each(Intent::lay_out);
    }

    /// Reads the rows that must be checked from `view`, unless they were read before.
    pub fn look(&mut self, view: &View, permit: &mut Permit, source: ReadSource) -> Result<Look<()>> {
        for intent in &mut self.intents {
            if let Look::Cold = intent.look(view, permit, source)? {
                return Ok(Look::Cold);
            }
        }
        Ok(Look::Found(()))
    }

    /// The rejection of a commit whose conditions do not hold in the state that its caller has read. That state
    /// is durable and published, so the commit need not wait for the committer. `None` if only the committer
    /// can decide.
    pub fn rejection(&self) -> Option<(usize, Reason)> {
        if self.has_repeats {
            return None;
        }
        let mut view = None;
        for (index, intent) in self.intents.iter().enumerate().filter(|(_, intent)| intent.needs_current()) {
            let seen = intent.seen.as_ref()?;
            // The first write that fails is known only if all writes up to it were checked in the same state.
            if *view.get_or_insert(seen.number) != seen.number {
                return None;
            }
            let version = seen.cell.as_ref().map(|cell| cell.version);
            if let Err(reason) = rules::check(intent.write.condition, version) {
                return Some((index, reason));
            }
            // It may reject the current value.
            if let Change::Update(_) = intent.write.change {
                return None;
            }
        }
        None
    }

    /// Decides how the commit changes its rows. `current` returns the state of a row before it. `make_room` is called
    /// with the size of the result from time to time as it grows, and may wait or fail.
    pub fn decide(
        self,
        version: Version,
        current: impl Fn(&[u8], Option<&Seen>) -> Result<Option<Cell>>,
        make_room: impl Fn(usize) -> Result<()>,
    ) -> Result<std::result::Result<Decided, (usize, Reason)>> {
        let count = self.intents.len();
        let mut bytes = ResultBytes::default();
        let mut decided =
            Decided { changes: Vec::with_capacity(count), updated: Vec::with_capacity(count), bytes: 0 };
        for (index, intent) in self.intents.into_iter().enumerate() {
            let earlier = if self.has_repeats { decided.state_of(&intent.key) } else { None };
            let cell = match earlier {
                Some(cell) => cell,
                None if intent.needs_current() => current(&intent.key, intent.seen.as_ref())?,
                None => None,
            };
            match intent.decide(version, cell.as_ref())? {
                Ok(Effect { changed, computed }) => {
                    if let Some(changed) = changed {
                        let before = bytes.total();
                        bytes.add(changed.key.len(), changed.value_bytes())?;
                        decided.changes.push(changed);
                        if bytes.total() / GROUP_BYTES_MAX > before / GROUP_BYTES_MAX {
                            make_room(bytes.total())?;
                        }
                    }
                    decided.updated.push(computed);
                }
                Err(reason) => return Ok(Err((index, reason))),
            }
        }
        decided.bytes = bytes.total();
        Ok(Ok(decided))
    }
}

impl Intent {
    fn new(table: TableId, partition: &str, write: Write) -> Result<Self> {
        let key = keyspace::row_key(table, partition, &write.row);
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::TooLarge(format!(
                "a key of {} bytes is too long; the maximum is {KEY_BYTES_MAX}",
                key.len()
            )));
        }
        Ok(Self { key: key.into(), write, draft: None, seen: None, has_looked: false })
    }

    /// Bytes of the value to put.
    fn value_bytes(&self) -> Result<usize> {
        match &self.write.change {
            Change::Put(value) => check_value(value.len()),
            Change::Update(_) | Change::Delete => Ok(0),
        }
    }

    fn lay_out(&mut self) {
        if let Change::Put(value) = &mut self.write.change {
            // The draft owns the value from now on.
            self.draft = Some(CellBuilder::new(&self.key, &std::mem::take(value)));
        }
    }

    fn look(&mut self, view: &View, permit: &mut Permit, source: ReadSource) -> Result<Look<()>> {
        if self.needs_current() && !self.has_looked {
            let Look::Found(cell) = view.look_aside(&self.key, source)? else { return Ok(Look::Cold) };
            self.see(view.number, cell, permit);
            self.has_looked = true;
        }
        Ok(Look::Found(()))
    }

    /// Keeps the parts of the row that it needs.
    fn see(&mut self, number: u64, mut cell: Option<Cell>, permit: &mut Permit) {
        if let Some(cell) = &mut cell {
            if !matches!(self.write.change, Change::Update(_)) {
                cell.value = Bytes::new();
            } else if !permit.keep(cell.value.len()) {
                return;
            }
        }
        self.seen = Some(Seen { number, cell });
    }

    /// Does the new state of the row depend on its current state?
    fn needs_current(&self) -> bool {
        self.write.condition != Condition::Any || matches!(self.write.change, Change::Update(_))
    }

    fn decide(self, version: Version, current: Option<&Cell>) -> Result<std::result::Result<Effect, Reason>> {
        // An update is the caller's code: a panic in it must not end the committer.
        let current = current.map(|cell| (cell.version, &cell.value));
        let decide = || rules::decide(&self.write, current, version);
        let decision = catch_unwind(AssertUnwindSafe(decide))
            .map_err(|_| Error::Unavailable("an update panicked; nothing was applied".into()))?;
        let decision = match decision {
            Ok(decision) => decision,
            Err(reason) => return Ok(Err(reason)),
        };
        let state = match decision.next {
            Next::Put(value) => {
                check_value(value.len())?;
                let draft = self.draft.unwrap_or_else(|| CellBuilder::of(&self.key, value));
                let stored = draft.seal(version);
                let cell = Cell { version, value: cell::value_of(&stored) };
                Some((stored, cell))
            }
            Next::Delete => None,
            Next::Keep => return Ok(Ok(Effect { changed: None, computed: None })),
        };
        // The value in stored form, so that there is only one copy of it.
        let computed = state.as_ref().filter(|_| decision.is_computed).map(|(_, cell)| cell.value.clone());
        Ok(Ok(Effect { changed: Some(Changed { key: self.key, state }), computed }))
    }
}

impl Changed {
    fn value_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, |(_, cell)| cell.value.len())
    }
}

impl Decided {
    /// The state of a row after an earlier write of the same commit; `None` if there was none.
    fn state_of(&self, key: &Bytes) -> Option<Option<Cell>> {
        let changed = self.changes.iter().rev().find(|changed| changed.key == key)?;
        Some(changed.state.as_ref().map(|(_, cell)| cell.clone()))
    }
}

fn has_repeats(intents: &[Intent]) -> bool {
    if intents.len() < 2 {
        return false;
    }
    let mut keys: Vec<&Bytes> = intents.iter().map(|intent| &intent.key).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}
