//! The store of a stopped server: it is served only to this process, on a free port of the loopback interface,
//! with a secret key.

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;

use lazuli_client::{Environment as _, System};
use lazuli_engine::Engine;
use lazuli_model::Service;
use lazuli_protocol::auth::AccountKey;
use lazuli_server::Config;
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::config::Listen;

use super::Storage;
use crate::fault::{Fault, settle};
use crate::runtime;

/// Number of random words in the key.
const KEY_WORDS: usize = 8;

/// The work of a command on an open store.
pub type Work<'a> = Box<dyn FnOnce(&Storage) -> Result<ExitCode, Fault> + 'a>;

/// Serves `engine`, runs `work`, and closes the engine.
pub fn run(
    engine: Arc<dyn Engine>,
    account: &str,
    service: Service,
    work: Work<'_>,
) -> Result<ExitCode, String> {
    let runtime = runtime::many_threads()?;
    let key = new_key()?;
    let given = ConfiguredAccount {
        name: account.to_owned(),
        keys: vec![key.clone()],
        is_weak: false,
        is_fallback: false,
    };
    let any_port = (Ipv4Addr::LOCALHOST, 0).into();
    let mut config = Config::new(any_port);
    // Requests of a command are not logged or measured as requests of the account's clients.
    config.analytics = false;
    config.listen = Listen::default().on(service, any_port);
    let started = runtime.block_on(lazuli_server::start(config, engine, vec![given]));
    let running = started.map_err(|error| error.to_string())?;
    let endpoint = running.endpoint(service).ok_or("the store is not served")?;
    let storage = Storage::with_key(service, &format!("{endpoint}/{account}"), account, key)?;
    let done = work(&storage);
    runtime.block_on(running.stop()).map_err(|error| error.to_string())?;
    Ok(settle(done, "the store"))
}

fn new_key() -> Result<AccountKey, String> {
    let system = System::default();
    let words: [u64; KEY_WORDS] = std::array::from_fn(|_| system.random());
    if words.contains(&0) {
        return Err("failed to get random bytes for a key".into());
    }
    Ok(AccountKey::new(&words.map(u64::to_le_bytes).concat()))
}
