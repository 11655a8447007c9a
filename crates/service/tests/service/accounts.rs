//! Accounts: their homes, and their removal while clients create tables.

use std::sync::Mutex;

use lazuli_engine::{Applied, Engine, EngineFuture, Layer, Page, Scan, TableId};
use lazuli_model::table::operation::TableQuery;
use lazuli_service::AccountRemoval;

use super::*;

fn keys() -> [Vec<u8>; 2] {
    [vec![1; 64], vec![2; 64]]
}

async fn home_of(service: &Services, name: &str) -> String {
    let list = service.accounts().list().await.unwrap();
    list.into_iter().find(|account| account.name == name).expect("the account exists").home
}

async fn tables_of(service: &Services, home: &str) -> Vec<String> {
    let operation = Operation::QueryTables(TableQuery::default());
    match service.execute_table(&Grant::everything(home), operation).await.unwrap() {
        Outcome::Tables { names, .. } => names,
        other => panic!("{other:?}"),
    }
}

async fn create_in(service: &Services, home: &str, name: &str) -> Result<(), ErrorCode> {
    let operation = Operation::CreateTable(table(name));
    let created = service.execute_table(&Grant::everything(home), operation).await;
    created.map(drop).map_err(|error| error.failure().code)
}

/// An account of the same name starts empty, and a late request to its predecessor cannot create anything.
#[tokio::test]
async fn finding_5_a_late_request_of_a_removed_account_creates_nothing() {
    let world = World::new();
    let accounts = world.service.accounts();
    assert!(accounts.add("acct", keys(), false).await.unwrap());
    let first = home_of(&world.service, "acct").await;
    create_in(&world.service, &first, "Data").await.unwrap();
    assert_eq!(accounts.remove("acct").await, Ok(AccountRemoval::InUse));
    create_in(&world.service, &first, "More").await.unwrap();
    for name in ["Data", "More"] {
        let operation = Operation::DeleteTable(table(name));
        world.service.execute_table(&Grant::everything(&*first), operation).await.unwrap();
    }
    assert_eq!(accounts.remove("acct").await, Ok(AccountRemoval::Done));
    assert_eq!(accounts.remove("acct").await, Ok(AccountRemoval::Missing));
    assert_eq!(create_in(&world.service, &first, "Late").await, Err(ErrorCode::ServerBusy));
    assert!(accounts.add("acct", keys(), false).await.unwrap());
    let second = home_of(&world.service, "acct").await;
    assert_ne!(first, second);
    assert_eq!(create_in(&world.service, &first, "Late").await, Err(ErrorCode::ServerBusy));
    assert!(tables_of(&world.service, &second).await.is_empty());
    create_in(&world.service, &second, "Data").await.unwrap();
}

/// A client that creates one table after the other, between any two steps of the removal.
struct Intruder {
    inner: Memory,
    service: Mutex<Option<Arc<Services>>>,
    home: Mutex<String>,
    /// The next step before which a table is created.
    step: AtomicU64,
    wanted: u64,
    created: Mutex<Vec<String>>,
}

impl Intruder {
    /// Creates a table before the step that is wanted. Steps of the creation itself do not count.
    async fn intrude(&self) {
        let service = {
            let mut service = self.service.lock().unwrap();
            if service.is_none() || self.step.fetch_add(1, Ordering::SeqCst) != self.wanted {
                return;
            }
            service.take()
        };
        let home = self.home.lock().unwrap().clone();
        if let Some(service) = service
            && create_in(&service, &home, "Sneaky").await.is_ok()
        {
            self.created.lock().unwrap().push("Sneaky".into());
        }
    }
}

impl Layer for Intruder {
    fn below(&self) -> &dyn Engine {
        &self.inner
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move {
            self.intrude().await;
            self.inner.scan(scan).await
        })
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<lazuli_engine::Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            self.intrude().await;
            self.inner.apply(table, partition, writes).await
        })
    }
}

/// Finding 5 of the security review: tables that were acknowledged while their account was being removed showed up under
/// a new account of the same name. A table is created between any two steps of the removal. If its creation is
/// acknowledged, the account stays; and no later account ever has it.
#[tokio::test]
async fn finding_5_tables_of_a_removed_account_never_reappear() {
    let mut outcomes = Vec::new();
    for wanted in 0..40 {
        let engine = Arc::new(Intruder {
            inner: Memory::new(Clock::system()),
            service: Mutex::default(),
            home: Mutex::default(),
            step: AtomicU64::new(0),
            wanted,
            created: Mutex::default(),
        });
        let service = Arc::new(Services::new(engine.clone(), crate::tables::options()));
        let accounts = service.accounts();
        accounts.add("acct", keys(), false).await.unwrap();
        let home = home_of(&service, "acct").await;
        *engine.home.lock().unwrap() = home.clone();
        *engine.service.lock().unwrap() = Some(service.clone());
        let removal = accounts.remove("acct").await.unwrap();
        engine.service.lock().unwrap().take();
        let acknowledged = !engine.created.lock().unwrap().is_empty();
        match removal {
            AccountRemoval::Done => {
                assert!(!acknowledged, "step {wanted}: the table is lost");
                accounts.add("acct", keys(), false).await.unwrap();
                let home = home_of(&service, "acct").await;
                assert!(tables_of(&service, &home).await.is_empty(), "step {wanted}");
            }
            AccountRemoval::InUse => {
                assert_eq!(tables_of(&service, &home).await, ["Sneaky"], "step {wanted}");
                create_in(&service, &home, "Other").await.unwrap();
            }
            AccountRemoval::Missing => panic!("step {wanted}"),
        }
        outcomes.push((removal, acknowledged));
    }
    assert!(outcomes.contains(&(AccountRemoval::InUse, true)), "{outcomes:?}");
    assert!(outcomes.contains(&(AccountRemoval::Done, false)), "{outcomes:?}");
}

/// An engine that fails from some call on, like a killed process.
struct Mortal {
    inner: Memory,
    calls_left: AtomicU64,
}

impl Layer for Mortal {
    fn below(&self) -> &dyn Engine {
        &self.inner
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<lazuli_engine::Write>,
    ) -> EngineFuture<'a, Applied> {
        let left = self.calls_left.load(Ordering::SeqCst);
        if left == 0 {
            let dead = lazuli_engine::Error::Unavailable("killed".into());
            return Box::pin(std::future::ready(Err(dead)));
        }
        self.calls_left.store(left - 1, Ordering::SeqCst);
        self.inner.apply(table, partition, writes)
    }
}

/// After an interrupted removal the account works again after a while.
#[tokio::test]
async fn an_interrupted_removal_is_undone() {
    for calls in 0..8 {
        let ticks = Arc::new(AtomicU64::new(START_TICKS));
        let clock = {
            let ticks = ticks.clone();
            Clock::new(move || ticks.load(Ordering::SeqCst))
        };
        let inner = Memory::new(clock.clone());
        let engine = Arc::new(Mortal { inner, calls_left: AtomicU64::new(u64::MAX) });
        let options = Options { clock, ..crate::tables::options() };
        let service = Services::new(engine.clone(), options);
        let accounts = service.accounts();
        accounts.add("acct", keys(), false).await.unwrap();
        let home = home_of(&service, "acct").await;
        engine.calls_left.store(calls, Ordering::SeqCst);
        let removal = accounts.remove("acct").await;
        engine.calls_left.store(u64::MAX, Ordering::SeqCst);
        let mut sweep = service.sweep();
        for _ in 0..3 {
            ticks.fetch_add(121 * TICKS_PER_SECOND, Ordering::SeqCst);
            sweep.round().await.unwrap();
        }
        let remains = accounts.list().await.unwrap().len() == 1;
        assert_eq!(removal.is_err() && calls < 5, remains, "{calls} calls: {removal:?}");
        if remains {
            create_in(&service, &home, "Data").await.unwrap();
            assert_eq!(accounts.remove("acct").await, Ok(AccountRemoval::InUse));
        }
    }
}

/// The containers of a static account stay with it when the operator creates it in the engine.
#[tokio::test]
async fn a_static_account_can_be_created_in_the_engine() {
    let world = World::new();
    world.create("Data").await.unwrap();
    world.service.accounts().add("acct", keys(), false).await.unwrap();
    assert_eq!(home_of(&world.service, "acct").await, "acct");
}

/// Two removals at the same time, and a client in between.
#[tokio::test]
async fn concurrent_removals_agree() {
    let world = World::new();
    let accounts = world.service.accounts();
    accounts.add("acct", keys(), false).await.unwrap();
    let (one, other) = tokio::join!(accounts.remove("acct"), accounts.remove("acct"));
    let outcomes = [one.unwrap(), other.unwrap()];
    assert!(
        outcomes.contains(&AccountRemoval::Done) && !outcomes.contains(&AccountRemoval::InUse),
        "{outcomes:?}"
    );
    assert!(accounts.list().await.unwrap().is_empty());
}
