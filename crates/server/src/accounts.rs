//! The accounts that the server serves, with their keys ready for checking signatures.

use std::collections::HashMap;
use std::sync::{Arc, RwLock, RwLockReadGuard};

use lazuli_protocol::auth::AccountKey;
pub use lazuli_protocol::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use lazuli_service::accounts::KEY_BYTES_MIN;
pub use lazuli_service::accounts::is_account_name;
use lazuli_service::{Account, Accounts};

/// An account that comes from the command line or the environment rather than from the engine.
#[derive(Clone, Debug)]
pub struct GivenAccount {
    /// Its name.
    pub name: String,
    /// Its one or two keys.
    pub keys: Vec<AccountKey>,
    /// One of them is so short that it can be guessed.
    pub is_weak: bool,
    /// If the engine keeps an account of this name, that one is served: what was made with private keys does not open to
    /// a public one.
    pub yields: bool,
}

impl GivenAccount {
    /// The development account.
    pub fn development() -> Self {
        let key = AccountKey::from_base64(DEVELOPMENT_KEY).expect("the key is well known");
        Self { name: DEVELOPMENT_ACCOUNT.into(), keys: vec![key], is_weak: false, yields: false }
    }

    /// Is it the development account with the key that everyone knows?
    pub fn is_development(&self) -> bool {
        let known = Self::development();
        let probe = |key: &AccountKey| key.sign("probe");
        self.name == known.name && self.keys.iter().any(|key| probe(key) == probe(&known.keys[0]))
    }
}

/// Reads `name:key1[:key2];…`, the form that Azurite uses too.
pub fn parse_accounts(text: &str) -> Result<Vec<GivenAccount>, String> {
    let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
    let accounts: Vec<GivenAccount> = entries.map(parse_account).collect::<Result<_, _>>()?;
    if accounts.is_empty() {
        return Err("no account is named; the form is name:key1[:key2];…".into());
    }
    let mut names: Vec<&str> = accounts.iter().map(|account| account.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(format!("account '{}' is named twice", twice[0])),
        None => Ok(accounts),
    }
}

fn parse_account(entry: &str) -> Result<GivenAccount, String> {
    let mut parts = entry.split(':');
    let name = parts.next().unwrap_or_default();
    if !is_account_name(name) {
        return Err(format!("'{name}' is not an account name: 3 to 24 lower-case letters and digits"));
    }
    let is_weak = parts.clone().any(|key| bytes_in(key) < KEY_BYTES_MIN);
    let keys: Option<Vec<AccountKey>> = parts.map(AccountKey::from_base64).collect();
    match keys {
        Some(keys) if (1..=2).contains(&keys.len()) => {
            Ok(GivenAccount { name: name.into(), keys, is_weak, yields: false })
        }
        _ => Err(format!("account '{name}' needs one or two keys in Base64")),
    }
}

/// How many bytes a text in Base64 stands for.
fn bytes_in(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

/// What is known of an account that is served.
#[derive(Clone)]
pub struct Entry {
    /// Its keys.
    pub keys: Arc<[AccountKey]>,
    /// Requests by plain HTTP are refused.
    pub https_only: bool,
    /// It was given at start, and is not kept in the engine.
    is_given: bool,
}

/// All accounts that are served: those given at start and those kept in the engine.
pub struct Directory {
    given: Vec<GivenAccount>,
    entries: RwLock<HashMap<String, Entry>>,
    /// Up to which change of a shared engine the entries are known to be right.
    known: tokio::sync::Mutex<Option<u64>>,
}

impl Directory {
    /// A directory of the accounts given at start.
    pub fn new(given: Vec<GivenAccount>) -> Self {
        let directory = Self { given, entries: RwLock::default(), known: tokio::sync::Mutex::default() };
        directory.set(&[]);
        directory
    }

    /// Takes the accounts of the engine over, as they are now.
    pub async fn refresh(&self, accounts: &Accounts) -> lazuli_service::Result<()> {
        self.set(&accounts.list().await?);
        Ok(())
    }

    /// Takes the accounts of a shared engine over, unless nothing has changed since that was done.
    pub async fn refresh_since(&self, changes: u64, accounts: &Accounts) -> lazuli_service::Result<()> {
        let mut known = self.known.lock().await;
        if *known != Some(changes) {
            self.refresh(accounts).await?;
            *known = Some(changes);
        }
        Ok(())
    }

    fn set(&self, kept: &[Account]) {
        let mut entries = HashMap::new();
        for account in kept {
            let keys = account.keys.iter().map(|key| AccountKey::new(key)).collect();
            entries.insert(
                account.name.clone(),
                Entry { keys, https_only: account.https_only, is_given: false },
            );
        }
        for account in &self.given {
            if account.yields && entries.contains_key(&account.name) {
                continue;
            }
            let keys = account.keys.iter().cloned().collect();
            entries.insert(account.name.clone(), Entry { keys, https_only: false, is_given: true });
        }
        *self.entries.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = entries;
    }

    /// What is known of an account.
    pub fn find(&self, account: &str) -> Option<Entry> {
        self.read().get(account).cloned()
    }

    /// The names of all accounts.
    pub fn names(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    /// Is there such an account?
    pub fn contains(&self, account: &str) -> bool {
        self.read().contains_key(account)
    }

    /// Is the account given at start, so that it cannot be changed?
    pub fn is_given(&self, account: &str) -> bool {
        self.read().get(account).is_some_and(|entry| entry.is_given)
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, Entry>> {
        self.entries.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The public key is not good for an account of the same name that the store keeps.
    #[test]
    fn a_kept_account_is_stronger_than_one_that_yields() {
        let kept = Account {
            name: DEVELOPMENT_ACCOUNT.into(),
            keys: [vec![1; 64], vec![2; 64]],
            created: 0,
            https_only: true,
        };
        for yields in [true, false] {
            let directory = Directory::new(vec![GivenAccount { yields, ..GivenAccount::development() }]);
            assert!(directory.is_given(DEVELOPMENT_ACCOUNT));
            directory.set(std::slice::from_ref(&kept));
            let found = directory.find(DEVELOPMENT_ACCOUNT).unwrap();
            let wanted = if yields { (2, true, false) } else { (1, false, true) };
            assert_eq!((found.keys.len(), found.https_only, directory.is_given(DEVELOPMENT_ACCOUNT)), wanted);
            directory.set(&[]);
            assert!(directory.is_given(DEVELOPMENT_ACCOUNT), "it is back");
        }
    }

    #[test]
    fn accounts_from_the_environment() {
        let names = |text: &str| {
            parse_accounts(text)
                .map(|list| list.iter().map(|a| (a.name.clone(), a.keys.len())).collect::<Vec<_>>())
        };
        assert_eq!(names("abc:YQ=="), Ok(vec![("abc".into(), 1)]));
        assert_eq!(names("abc:YQ==:Yg==;def:Yw==;"), Ok(vec![("abc".into(), 2), ("def".into(), 1)]));
        let weak = |text: &str| parse_accounts(text).unwrap()[0].is_weak;
        let (short, long) = (format!("{}==", "A".repeat(42)), format!("{}=", "A".repeat(43)));
        assert!(weak("abc:YQ==") && weak(&format!("abc:{long}:YQ==")) && weak(&format!("abc:{short}")));
        assert!(!weak(&format!("abc:{long}")) && !weak(&format!("abc:{DEVELOPMENT_KEY}")));
        for bad in ["", ";", "abc", "abc:", "abc:***", "AB:YQ==", "abc:YQ==:YQ==:YQ==", "abc:YQ==;abc:Yg=="] {
            assert!(names(bad).is_err(), "{bad}");
        }
    }
}
