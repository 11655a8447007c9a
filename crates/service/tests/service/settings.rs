//! Access policies of tables and properties of services: stored, replaced, deleted.

use lazuli_model::properties::{Logging, Metrics, PropertiesUpdate};
use lazuli_model::{AccessPolicy, ServiceProperties, SignedIdentifier};

use lazuli_service::AccountRemoval;

use super::*;

fn policy(id: &str) -> SignedIdentifier {
    let policy = AccessPolicy { permissions: Some("r".into()), ..AccessPolicy::default() };
    SignedIdentifier { id: id.into(), policy: Some(policy) }
}

impl World {
    async fn ids(&self, name: &str) -> Result<String, ErrorCode> {
        match self.run(Operation::GetAcl(table(name))).await? {
            Outcome::Acl(policies) => {
                Ok(policies.iter().map(|policy| policy.id.as_str()).collect::<Vec<_>>().join(" "))
            }
            other => panic!("{other:?}"),
        }
    }

    async fn set(&self, name: &str, ids: &[&str]) -> Result<Outcome, ErrorCode> {
        let policies = ids.iter().map(|id| policy(id)).collect();
        self.run(Operation::SetAcl(table(name), policies)).await
    }

    async fn logs_reads(&self, account: &str) -> bool {
        self.service.properties(lazuli_model::Service::Table, account).await.unwrap().logging.read
    }
}

/// OP-22: effective at once, and gone with the table.
#[tokio::test]
async fn policies_are_deleted_with_their_table() {
    let world = World::new();
    assert_eq!(world.ids("Data").await, Err(ErrorCode::TableNotFound));
    assert_eq!(world.set("Data", &["a"]).await, Err(ErrorCode::TableNotFound));
    world.create("Data").await.unwrap();
    world.insert("Data", ("p", "r"), 1).await.unwrap();
    assert_eq!(world.ids("Data").await.unwrap(), "");
    assert_eq!(world.set("dATA", &["a", "b"]).await, Ok(Outcome::AclSet));
    assert_eq!(world.ids("Data").await.unwrap(), "a b");
    assert_eq!(world.set("Data", &["c"]).await, Ok(Outcome::AclSet));
    assert_eq!(world.ids("DATA").await.unwrap(), "c");
    assert_eq!(keys(&world.query("Data", "", EntityQuery::default()).await), "p/r ");
    let listed = world.run(Operation::QueryTables(Default::default())).await.unwrap();
    assert_eq!(listed, Outcome::Tables { names: vec!["Data".into()], next: None });
    world.drop("Data").await.unwrap();
    assert!(world.ids("Data").await.is_err());
    world.create("Data").await.unwrap();
    assert_eq!(world.ids("Data").await.unwrap(), "");
}

/// They are in the engine, not only in memory.
#[tokio::test]
async fn settings_outlive_the_service() {
    let world = World::new();
    world.create("Data").await.unwrap();
    world.set("Data", &["a"]).await.unwrap();
    let logging = Some(Logging { read: true, retention_days: Some(5), ..Logging::default() });
    let update = PropertiesUpdate { logging, ..PropertiesUpdate::default() };
    world.run(Operation::SetProperties(Box::new(update))).await.unwrap();
    let options = Options {
        clock: Clock::new(|| START_TICKS),
        elapsed: Arc::new(|| Duration::ZERO),
        query_time_max: Duration::from_secs(5),
        name_hold: Duration::ZERO,
        secret: [1; 16],
    };
    let again = Services::new(world.engine.clone(), options);
    assert_eq!(
        again.policies(lazuli_model::Service::Table, "acct", "data").await.unwrap().unwrap()[..],
        [policy("a")]
    );
    assert_eq!(
        again.properties(lazuli_model::Service::Table, "acct").await.unwrap().logging.retention_days,
        Some(5)
    );
}

#[tokio::test]
async fn properties_change_in_part_and_for_one_account() {
    let world = World::new();
    let get = || world.run(Operation::GetProperties);
    assert_eq!(get().await, Ok(Outcome::Properties(Arc::new(ServiceProperties::default()))));
    let read = Logging { read: true, ..Logging::default() };
    let hourly = Metrics { include_apis: Some(true), retention_days: None };
    for update in [
        PropertiesUpdate { logging: Some(read), ..PropertiesUpdate::default() },
        PropertiesUpdate { hour_metrics: Some(hourly), ..PropertiesUpdate::default() },
    ] {
        let done = world.run(Operation::SetProperties(Box::new(update))).await;
        assert_eq!(done, Ok(Outcome::PropertiesSet));
    }
    let expected = ServiceProperties { logging: read, hour_metrics: hourly, ..ServiceProperties::default() };
    assert_eq!(get().await, Ok(Outcome::Properties(Arc::new(expected))));
    assert!(world.logs_reads("acct").await);
    assert!(!world.logs_reads("other").await);
}

/// An account that is removed and added again starts with default properties.
#[tokio::test]
async fn properties_are_deleted_with_their_account() {
    let world = World::new();
    let accounts = world.service.accounts();
    let mut homes = Vec::new();
    for _ in 0..2 {
        assert!(accounts.add("acct", [vec![1], vec![2]], false).await.unwrap());
        let home = accounts.list().await.unwrap()[0].home.clone();
        assert!(!world.logs_reads(&home).await);
        let logging = Some(Logging { read: true, ..Logging::default() });
        let update = PropertiesUpdate { logging, ..PropertiesUpdate::default() };
        world.run_as(&home, Operation::SetProperties(Box::new(update))).await.unwrap();
        assert!(world.logs_reads(&home).await);
        assert_eq!(accounts.remove("acct").await.unwrap(), AccountRemoval::Done);
        assert!(!world.logs_reads(&home).await);
        homes.push(home);
    }
    assert_ne!(homes[0], homes[1]);
}
