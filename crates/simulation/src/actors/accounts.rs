//! The administrator of one account: creates it, rotates its keys, removes it, and creates it again.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::SETTLED_AFTER;
use crate::network::RequestOutcome;
use crate::time::pass;
use crate::world::World;

/// Bytes of a key.
const KEY_BYTES: usize = 64;

/// Administers an account in `steps` changes; removals only if it may be removed.
pub async fn administer(world: Arc<World>, account: &'static str, steps: u32, may_remove: bool) {
    for _ in 0..steps {
        let before = world.ledger().accounts.keys(account);
        world.ledger().accounts.begin(account);
        let after = match &before {
            None => add(&world, account).await,
            Some(_) if may_remove && world.rng.chance(450) => remove(&world, account, before.clone()).await,
            Some(keys) => rotate(&world, account, keys).await,
        };
        let after = match after {
            Ok(keys) => keys,
            Err(()) => look_up(&world, account).await,
        };
        let settled = world.ledger().accounts.settle(account, after);
        world.expect(settled);
        let pause = if may_remove { 2000 } else { 20_000 };
        pass(world.rng.below(pause)).await;
    }
}

/// The keys of the account afterwards; an error if the outcome is unknown.
type Changed = Result<Option<[String; 2]>, ()>;

async fn add(world: &World, account: &str) -> Changed {
    let keys = [0, 1].map(|_| STANDARD.encode(world.rng.bytes::<KEY_BYTES>()));
    let body = json!({ "keys": keys }).to_string();
    let outcome = world.administer("POST", format!("/accounts/{account}"), body).await;
    match outcome.status() {
        200 => Ok(Some(keys)),
        409 => {
            world.trace.fail(format!("account {account} does not exist, and cannot be created"));
            Err(())
        }
        _ if matches!(outcome, RequestOutcome::NotSent) => Ok(None),
        _ => Err(()),
    }
}

async fn rotate(world: &World, account: &str, keys: &[String; 2]) -> Changed {
    let which = world.rng.below(2) as usize;
    let path = format!("/accounts/{account}/keys/{}", which + 1);
    let outcome = world.administer("POST", path, String::new()).await;
    match outcome.status() {
        200 => {
            let shown: Option<Value> = serde_json::from_str(&outcome.text()).ok();
            let after = shown.as_ref().and_then(keys_of);
            let is_right = after
                .as_ref()
                .is_some_and(|after| after[which] != keys[which] && after[1 - which] == keys[1 - which]);
            if !is_right {
                world.trace.fail(format!("the response to a rotation of {account} shows other keys"));
            }
            Ok(after)
        }
        404 => {
            world.trace.fail(format!("account {account} exists, and has no keys to rotate"));
            Err(())
        }
        _ if matches!(outcome, RequestOutcome::NotSent) => Ok(Some(keys.clone())),
        _ => Err(()),
    }
}

async fn remove(world: &World, account: &str, keys: Option<[String; 2]>) -> Changed {
    let outcome = world.administer("DELETE", format!("/accounts/{account}"), String::new()).await;
    match outcome.status() {
        200 => Ok(None),
        409 => Ok(keys),
        _ if matches!(outcome, RequestOutcome::NotSent) => Ok(keys),
        _ => Err(()),
    }
}

/// Looks up an account after a change of unknown outcome, once nothing can change it any more.
async fn look_up(world: &World, account: &str) -> Option<[String; 2]> {
    pass(SETTLED_AFTER).await;
    loop {
        let outcome = world.administer("GET", "/accounts".into(), String::new()).await;
        if outcome.status() == 200 {
            let shown: Value = serde_json::from_str(&outcome.text()).unwrap_or_default();
            let accounts = shown["accounts"].as_array().cloned().unwrap_or_default();
            return accounts.iter().find(|found| found["name"] == account).and_then(keys_of);
        }
        pass(1000).await;
    }
}

fn keys_of(shown: &Value) -> Option<[String; 2]> {
    let key = |which: usize| shown["keys"][which].as_str().map(str::to_owned);
    Some([key(0)?, key(1)?])
}
