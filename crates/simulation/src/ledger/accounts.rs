//! Accounts and their keys. Each account has one administrator, who knows its state unless an outcome is unknown.
//!
//! Promises: a key that was replaced or removed is never accepted again; a key that is valid is accepted; a container that
//! was created in an account is never lost by the removal of the account, and never seen by a later account of the same
//! name.

use std::collections::{BTreeMap, BTreeSet};

use lazuli_model::ErrorCode;

use super::Checked;
use crate::network::{Got, RequestOutcome};

/// An account.
#[derive(Clone, Debug, Default)]
struct Account {
    /// Counts the accounts that had this name.
    incarnation: u64,
    /// Its keys in Base64, if it exists.
    keys: Option<[String; 2]>,
    /// Counts administrative changes, at their start and at their end.
    changes: u64,
    /// Is an administrative change in progress, or its outcome unknown?
    is_changing: bool,
    /// Keys that were valid once.
    dead: Vec<String>,
}

/// A client's knowledge about an account when it sends a request.
#[derive(Clone, Debug)]
pub struct AccountAccess {
    /// The account.
    pub account: String,
    /// The incarnation of the account with that name.
    pub incarnation: u64,
    /// The key that the request is signed with.
    pub key: String,
    changes: u64,
    is_stable: bool,
    is_dead: bool,
}

/// All accounts.
#[derive(Default)]
pub struct AccountLedger {
    accounts: BTreeMap<String, Account>,
    /// Containers that were created: account, incarnation, name. The value is true once a deletion has started.
    created: BTreeMap<(String, u64, String), bool>,
    removed: BTreeSet<(String, u64)>,
}

impl AccountLedger {
    /// The keys of an account, if it exists according to its administrator.
    pub fn keys(&self, account: &str) -> Option<[String; 2]> {
        self.accounts.get(account)?.keys.clone()
    }

    /// Access with one of the valid keys; `None` if the account does not exist.
    pub fn access(&self, account: &str, which: usize) -> Option<AccountAccess> {
        let found = self.accounts.get(account)?;
        let key = found.keys.as_ref()?[which % 2].clone();
        Some(Self::with(account, found, key, false))
    }

    /// Access with a key that is no longer valid, if there is one.
    pub fn dead_access(&self, account: &str, which: usize) -> Option<AccountAccess> {
        let found = self.accounts.get(account)?;
        let key = found.dead.get(which % found.dead.len().max(1))?.clone();
        Some(Self::with(account, found, key, true))
    }

    fn with(account: &str, found: &Account, key: String, is_dead: bool) -> AccountAccess {
        AccountAccess {
            account: account.into(),
            incarnation: found.incarnation,
            key,
            changes: found.changes,
            is_stable: !found.is_changing,
            is_dead,
        }
    }

    /// An administrative change begins.
    pub fn begin(&mut self, account: &str) {
        let found = self.accounts.entry(account.into()).or_default();
        found.changes += 1;
        found.is_changing = true;
    }

    /// Records the end of a change, and the keys that the account has now.
    pub fn settle(&mut self, account: &str, keys: Option<[String; 2]>) -> Checked {
        let found = self.accounts.entry(account.into()).or_default();
        found.changes += 1;
        found.is_changing = false;
        let before = found.keys.take();
        if before.is_none() && keys.is_some() {
            found.incarnation += 1;
        }
        let is_alive = |key: &String| keys.as_ref().is_some_and(|keys| keys.contains(key));
        found.dead.extend(before.iter().flatten().filter(|key| !is_alive(key)).cloned());
        let is_removed = before.is_some() && keys.is_none();
        let incarnation = found.incarnation;
        found.keys = keys;
        if is_removed { self.removed(account, incarnation) } else { Ok(()) }
    }

    fn removed(&mut self, account: &str, incarnation: u64) -> Checked {
        self.removed.insert((account.into(), incarnation));
        let lost = self
            .created
            .iter()
            .find(|((of, number, _), is_deleting)| of == account && *number == incarnation && !**is_deleting);
        match lost {
            Some(((_, _, name), _)) => {
                Err(format!("account {account} was removed with its container {name} in it"))
            }
            None => Ok(()),
        }
    }

    /// Checks that the server accepts valid keys, and only those.
    pub fn check(&self, access: &AccountAccess, outcome: &RequestOutcome) -> Checked {
        let RequestOutcome::Got(Got { status, error, .. }) = outcome else { return Ok(()) };
        if access.is_dead && (*status < 400 || matches!(status, 409 | 412)) {
            return Err(format!("account {} accepts a key that was replaced: {status}", access.account));
        }
        let Some(found) = self.accounts.get(&access.account) else { return Ok(()) };
        let is_stable = access.is_stable && access.changes == found.changes && !access.is_dead;
        // This 403 concerns a version, not the key.
        let is_about_key = *error != Some(ErrorCode::OperationNotAllowedOnRootBlob);
        if is_stable && *status == 403 && is_about_key {
            return Err(format!("account {} rejects a valid key", access.account));
        }
        Ok(())
    }

    /// Was the account unchanged from the start of a request until now?
    pub fn is_stable(&self, access: &AccountAccess) -> bool {
        let now = self.accounts.get(&access.account).map(|found| found.changes);
        access.is_stable && now == Some(access.changes)
    }

    /// A container was created.
    pub fn created(&mut self, access: &AccountAccess, name: &str) -> Checked {
        let AccountAccess { account, incarnation, .. } = access;
        self.created.insert((account.clone(), *incarnation, name.into()), false);
        if self.removed.contains(&(account.clone(), *incarnation)) {
            return Err(format!("container {name} was created in account {account} after its removal"));
        }
        Ok(())
    }

    /// Records that a container is about to be deleted.
    pub fn deleting(&mut self, access: &AccountAccess, name: &str) {
        let key = (access.account.clone(), access.incarnation, name.to_owned());
        if let Some(is_deleting) = self.created.get_mut(&key) {
            *is_deleting = true;
        }
    }

    /// Containers of an account that certainly exist.
    pub fn existing(&self, access: &AccountAccess) -> Vec<String> {
        let is_meant = |key: &(String, u64, String)| key.0 == access.account && key.1 == access.incarnation;
        let existing = self.created.iter().filter(|(key, is_deleting)| is_meant(key) && !**is_deleting);
        existing.map(|((_, _, name), _)| name.clone()).collect()
    }
}
