//! The access policy of a table. One administrator changes it; signatures that refer to it are valid while it exists.

use super::Checked;
use crate::network::Fate;

/// The policy, and its known state.
#[derive(Default)]
pub struct PolicyLedger {
    /// Counts changes, at their start and at their end.
    changes: u64,
    is_changing: bool,
    /// Is the outcome of the last change that was not rejected unknown?
    is_unknown: bool,
    exists: bool,
}

/// A client's knowledge about the policy when it sends a request.
#[derive(Clone, Copy, Debug)]
pub struct PolicyAccess {
    changes: u64,
    is_stable: bool,
    exists: bool,
}

impl PolicyLedger {
    /// A change begins.
    pub fn begin(&mut self) {
        self.changes += 1;
        self.is_changing = true;
    }

    /// The change has ended.
    pub fn settle(&mut self, fate: Fate, exists: bool) {
        self.changes += 1;
        match fate {
            Fate::Applied => (self.exists, self.is_unknown) = (exists, false),
            Fate::Rejected => {}
            Fate::Unknown => self.is_unknown = true,
        }
        self.is_changing = false;
    }

    /// The knowledge about the policy now.
    pub fn access(&self) -> PolicyAccess {
        PolicyAccess {
            changes: self.changes,
            is_stable: !(self.is_changing || self.is_unknown),
            exists: self.exists,
        }
    }

    /// Checks that accepting or rejecting a signature was right. `has_key` says that its key was valid all the
    /// time.
    pub fn check(&self, access: PolicyAccess, status: u16, has_key: bool) -> Checked {
        if !access.is_stable || self.changes != access.changes {
            return Ok(());
        }
        match (access.exists, status) {
            (false, 200) => Err("a signature is accepted whose policy was removed".into()),
            (true, 403) if has_key => Err("a signature is rejected whose policy exists".into()),
            _ => Ok(()),
        }
    }
}
