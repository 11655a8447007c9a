//! A client of accounts that are created and removed: it creates containers, lists them, and deletes some.

use std::sync::Arc;

use lazuli_model::Service;

use super::request;
use crate::ledger::AccountAccess;
use crate::network::Fate;
use crate::world::World;

/// Creates, lists and deletes tables in an account, `steps` times in total.
pub async fn create_and_delete(world: Arc<World>, client: usize, account: &'static str, steps: u32) {
    for step in 0..steps {
        world.rest().await;
        let which = world.rng.below(64) as usize;
        let is_probe = world.rng.chance(100);
        let access = match is_probe {
            true => world.ledger().accounts.dead_access(account, which),
            false => world.ledger().accounts.access(account, which),
        };
        let Some(access) = access else { continue };
        match world.rng.below(10) {
            0..4 => create(&world, &access, format!("t{}c{client}s{step}", access.incarnation)).await,
            4..7 => list(&world, &access).await,
            _ => delete(&world, &access).await,
        }
    }
}

async fn create(world: &World, access: &AccountAccess, name: String) {
    let body = format!("{{\"TableName\":\"{name}\"}}");
    let create = request("POST", format!("/{}/Tables", access.account), "2019-02-02");
    let create = create.with("Prefer", "return-no-content").json(body);
    let outcome = world.send_as(access, Service::Table, create).await;
    if outcome.fate() == Fate::Applied {
        let checked = world.ledger().accounts.created(access, &name);
        world.expect(checked);
    }
}

async fn list(world: &World, access: &AccountAccess) {
    let before = world.ledger().accounts.existing(access);
    let list = request("GET", format!("/{}/Tables", access.account), "2019-02-02");
    let list = list.with("Accept", "application/json;odata=nometadata");
    let outcome = world.send_as(access, Service::Table, list).await;
    if outcome.status() != 200 {
        return;
    }
    let text = outcome.text();
    let own = format!("t{}c", access.incarnation);
    let shown: Vec<&str> =
        text.split("\"TableName\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    if !world.ledger().accounts.is_stable(access) {
        return;
    }
    if let Some(stray) = shown.iter().find(|name| !name.starts_with(&own)) {
        world.trace.fail(format!("account {} shows {stray} of an earlier account", access.account));
    }
    let after = world.ledger().accounts.existing(access);
    // A table whose deletion started in the meantime may be missing.
    let missing = before.iter().find(|name| after.contains(name) && !shown.contains(&name.as_str()));
    if let Some(name) = missing {
        world.trace.fail(format!("account {} does not show its table {name}", access.account));
    }
}

async fn delete(world: &World, access: &AccountAccess) {
    let existing = world.ledger().accounts.existing(access);
    let Some(name) = world.rng.pick(&existing) else { return };
    world.ledger().accounts.deleting(access, name);
    let delete = request("DELETE", format!("/{}/Tables('{name}')", access.account), "2019-02-02");
    world.send_as(access, Service::Table, delete).await;
}
