//! The accounts that the server serves, with keys prepared for signature checks.

use std::sync::{Arc, RwLock, RwLockReadGuard};

use lazuli_protocol::auth::AccountKey;
pub use lazuli_protocol::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use lazuli_service::accounts::KEY_BYTES_MIN;
pub use lazuli_service::accounts::is_account_name;
use lazuli_service::hash::NameMap;
use lazuli_service::{Account, Accounts};

/// A static account: configured on the command line or in the environment, not stored in the engine.
#[derive(Clone, Debug)]
pub struct ConfiguredAccount {
    /// Its name.
    pub name: String,
    /// Its one or two keys.
    pub keys: Vec<AccountKey>,
    /// At least one key is so short that it can be guessed.
    pub is_weak: bool,
    /// If the engine stores an account with this name, the stored account is served instead: data created with private
    /// keys must not become accessible with a public key.
    pub is_fallback: bool,
}

impl ConfiguredAccount {
    /// The development account.
    pub fn development() -> Self {
        let key = AccountKey::from_base64(DEVELOPMENT_KEY).expect("the key is well known");
        Self { name: DEVELOPMENT_ACCOUNT.into(), keys: vec![key], is_weak: false, is_fallback: false }
    }

    /// Is it the development account with the key that everyone knows?
    pub fn is_development(&self) -> bool {
        let known = Self::development();
        let probe = |key: &AccountKey| key.sign("probe");
        self.name == known.name && self.keys.iter().any(|key| probe(key) == probe(&known.keys[0]))
    }
}

/// Reads `name:key1[:key2];…`, the form that Azurite uses too.
pub fn parse_accounts(text: &str) -> Result<Vec<ConfiguredAccount>, String> {
    let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
    let accounts: Vec<ConfiguredAccount> = entries.map(parse_account).collect::<Result<_, _>>()?;
    if accounts.is_empty() {
        return Err("no account given; expected name:key1[:key2];…".into());
    }
    let mut names: Vec<&str> = accounts.iter().map(|account| account.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(format!("account '{}' occurs twice", twice[0])),
        None => Ok(accounts),
    }
}

fn parse_account(entry: &str) -> Result<ConfiguredAccount, String> {
    let mut parts = entry.split(':');
    let name = parts.next().unwrap_or_default();
    if !is_account_name(name) {
        return Err(format!("'{name}' is not an account name: 3 to 24 lower-case letters and digits"));
    }
    let is_weak = parts.clone().any(|key| bytes_in(key) < KEY_BYTES_MIN);
    let keys: Option<Vec<AccountKey>> = parts.map(AccountKey::from_base64).collect();
    match keys {
        Some(keys) if (1..=2).contains(&keys.len()) => {
            Ok(ConfiguredAccount { name: name.into(), keys, is_weak, is_fallback: false })
        }
        _ => Err(format!("account '{name}' needs one or two keys in Base64")),
    }
}

/// The number of bytes that a Base64 string encodes.
fn bytes_in(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

/// An account that is served.
pub struct ServedAccount {
    /// Where its records are: see [`lazuli_service::Grant::home`].
    pub home: Arc<str>,
    /// Its keys.
    pub keys: Arc<[AccountKey]>,
    /// Requests by plain HTTP are rejected.
    pub https_only: bool,
    /// A static account: configured at start, not stored in the engine.
    is_given: bool,
}

/// All accounts that are served: static accounts and those stored in the engine.
pub struct Directory {
    given: Vec<ConfiguredAccount>,
    entries: RwLock<NameMap<String, Arc<ServedAccount>>>,
    /// The version of the shared engine's state for which the entries are known to be current. Its lock is held
    /// while the accounts are listed and stored, so an older list never replaces a newer one.
    known: tokio::sync::Mutex<Option<u64>>,
}

impl Directory {
    /// A directory with only the static accounts.
    pub fn new(given: Vec<ConfiguredAccount>) -> Self {
        let directory = Self { given, entries: RwLock::default(), known: tokio::sync::Mutex::default() };
        directory.set(&[]);
        directory
    }

    /// Reads the accounts of the engine. The result includes every change that was made before the call.
    pub async fn refresh(&self, accounts: &Accounts) -> lazuli_service::Result<()> {
        let _turn = self.known.lock().await;
        self.set(&accounts.list().await?);
        Ok(())
    }

    /// Reads the accounts of a shared engine, unless nothing has changed since they were read.
    pub async fn refresh_since(&self, changes: u64, accounts: &Accounts) -> lazuli_service::Result<()> {
        let mut known = self.known.lock().await;
        if *known != Some(changes) {
            self.set(&accounts.list().await?);
            *known = Some(changes);
        }
        Ok(())
    }

    fn set(&self, kept: &[Account]) {
        let mut entries = NameMap::default();
        for account in kept {
            let keys = account.keys.iter().map(|key| AccountKey::new(key)).collect();
            let home = account.home.as_str().into();
            let entry = ServedAccount { home, keys, https_only: account.https_only, is_given: false };
            entries.insert(account.name.clone(), Arc::new(entry));
        }
        for account in &self.given {
            if account.is_fallback && entries.contains_key(&account.name) {
                continue;
            }
            let keys = account.keys.iter().cloned().collect();
            // The same account with other keys in the engine.
            let kept: Option<&Arc<ServedAccount>> = entries.get(&account.name);
            let home = kept.map_or_else(|| account.name.as_str().into(), |kept| kept.home.clone());
            let entry = ServedAccount { home, keys, https_only: false, is_given: true };
            entries.insert(account.name.clone(), Arc::new(entry));
        }
        *self.entries.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = entries;
    }

    /// Where the records of an account are.
    pub fn home(&self, account: &str) -> Option<Arc<str>> {
        self.read().get(account).map(|entry| entry.home.clone())
    }

    /// An account.
    pub fn find(&self, account: &str) -> Option<Arc<ServedAccount>> {
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

    /// Is this a static account, which cannot be changed?
    pub fn is_given(&self, account: &str) -> bool {
        self.read().get(account).is_some_and(|entry| entry.is_given)
    }

    fn read(&self) -> RwLockReadGuard<'_, NameMap<String, Arc<ServedAccount>>> {
        self.entries.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use lazuli_engine::{Clock, Engine, EngineFuture, Layer, Memory, Page, Scan};
    use lazuli_service::{Options, Services};
    use tokio::sync::Notify;

    use super::*;

    /// The public key does not open a stored account of the same name.
    #[test]
    fn a_stored_account_takes_precedence_over_a_fallback() {
        let kept = Account {
            name: DEVELOPMENT_ACCOUNT.into(),
            home: format!("{DEVELOPMENT_ACCOUNT}.7"),
            keys: [vec![1; 64], vec![2; 64]],
            created: 0,
            https_only: true,
        };
        for is_fallback in [true, false] {
            let directory =
                Directory::new(vec![ConfiguredAccount { is_fallback, ..ConfiguredAccount::development() }]);
            assert!(directory.is_given(DEVELOPMENT_ACCOUNT));
            directory.set(std::slice::from_ref(&kept));
            let found = directory.find(DEVELOPMENT_ACCOUNT).unwrap();
            assert_eq!(*found.home, *kept.home, "whatever the keys, it is the same account");
            let wanted = if is_fallback { (2, true, false) } else { (1, false, true) };
            assert_eq!((found.keys.len(), found.https_only, directory.is_given(DEVELOPMENT_ACCOUNT)), wanted);
            directory.set(&[]);
            assert!(directory.is_given(DEVELOPMENT_ACCOUNT), "it is back");
            assert_eq!(directory.home(DEVELOPMENT_ACCOUNT).as_deref(), Some(DEVELOPMENT_ACCOUNT));
        }
    }

    /// An engine that withholds the result of its first scan until it is released.
    struct Gate {
        inner: Memory,
        is_first: AtomicBool,
        reached: Notify,
        release: Notify,
    }

    impl Layer for Gate {
        fn below(&self) -> &dyn Engine {
            &self.inner
        }

        fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
            Box::pin(async move {
                let page = self.inner.scan(scan).await;
                if self.is_first.swap(false, Ordering::SeqCst) {
                    self.reached.notify_one();
                    self.release.notified().await;
                }
                page
            })
        }
    }

    /// Finding 3 of the security review: a refresh that had read the accounts before a key rotation and stored
    /// them after it left the old key valid and the new one invalid.
    #[tokio::test]
    async fn finding_3_a_rotated_key_never_stays_valid() {
        let gate = Arc::new(Gate {
            inner: Memory::new(Clock::system()),
            is_first: AtomicBool::new(false),
            reached: Notify::new(),
            release: Notify::new(),
        });
        let options = Options {
            clock: Clock::system(),
            elapsed: Arc::new(|| Duration::ZERO),
            query_time_max: Duration::from_secs(5),
            name_hold: Duration::ZERO,
            secret: [1; 16],
        };
        let service = Arc::new(Services::new(gate.clone(), options));
        service.accounts().add("acct", [vec![1; 64], vec![2; 64]], false).await.unwrap();
        gate.is_first.store(true, Ordering::SeqCst);
        let directory = Arc::new(Directory::new(Vec::new()));
        let refresh = || {
            let (directory, service) = (directory.clone(), service.clone());
            tokio::spawn(async move { directory.refresh(&service.accounts()).await.unwrap() })
        };
        let early = refresh();
        gate.reached.notified().await;
        assert!(service.accounts().set_key("acct", 0, vec![3; 64]).await.unwrap());
        let late = refresh();
        // If it did not wait for the earlier refresh, it would be finished by now.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        gate.release.notify_one();
        early.await.unwrap();
        late.await.unwrap();
        let signed = directory.find("acct").unwrap().keys[0].sign("probe");
        assert_eq!(signed, AccountKey::new(&[3; 64]).sign("probe"));
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
