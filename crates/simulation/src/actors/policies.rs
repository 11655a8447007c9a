//! The access policy of a table: an administrator adds and removes it, clients use signatures that refer to it.

use std::sync::Arc;

use lazuli_model::Service;
use lazuli_protocol::auth::{AccountKey, signature_text};

use super::{SETTLED_AFTER, STEADY, request, use_rows_table};
use crate::network::Fate;
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2019-02-02";

/// Adds and removes the policy, `steps` times in total.
pub async fn change_policy(world: Arc<World>, steps: u32) {
    use_rows_table(&world).await;
    for step in 0..steps {
        world.rest().await;
        let exists = step % 2 == 0;
        let identifier = "<SignedIdentifier><Id>readers</Id><AccessPolicy><Start>2020-01-01T00:00:00Z</Start>\
             <Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>";
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers>{}</SignedIdentifiers>",
            if exists { identifier } else { "" }
        );
        let access = world.steady().await;
        world.ledger().policies.begin();
        let target = format!("/{STEADY}/Rows?comp=acl");
        let set = request("PUT", target, VERSION).with("Content-Type", "application/xml").body(body);
        let outcome = world.send_as(&access, Service::Table, set).await;
        let fate = outcome.fate();
        world.ledger().policies.settle(fate, exists);
        if fate == Fate::Unknown {
            pass(SETTLED_AFTER).await;
        }
    }
}

/// Reads rows with a signature that refers to the policy, `steps` times in total.
pub async fn use_policy(world: Arc<World>, steps: u32) {
    use_rows_table(&world).await;
    for _ in 0..steps {
        world.rest().await;
        let access = world.steady().await;
        let Some(key) = AccountKey::from_base64(&access.key) else { continue };
        let resource = format!("/table/{STEADY}/rows");
        let text = format!("\n\n\n{resource}\nreaders\n\n\n{VERSION}\n\n\n\n");
        let signature = signature_text(&key.sign(&text));
        let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        let token = format!("sv={VERSION}&si=readers&tn=Rows&sig={signature}");
        let target = format!("/{STEADY}/Rows()?$filter=PartitionKey%20eq%20'p0'&{token}");
        let query = request("GET", target, VERSION).with("Accept", "application/json;odata=nometadata");
        let policy = world.ledger().policies.access();
        let outcome = world.send_unsigned(Service::Table, query).await;
        let has_key = world.ledger().accounts.is_stable(&access);
        let checked = world.ledger().policies.check(policy, outcome.status(), has_key);
        world.expect(checked);
    }
}
