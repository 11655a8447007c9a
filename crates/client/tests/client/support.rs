//! The services that cases run on: HTTP and in process, behind one interface (FW-07).

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use lazuli_client::{Account, Dynamic, Table, TableService};
use lazuli_engine::Clock;
use lazuli_engine::memory::Memory;
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::{Config, Running};
use tokio::runtime::Runtime;

/// The endpoint of another service, such as `http://127.0.0.1:10002/devstoreaccount1`.
const ENDPOINT: &str = "LAZULI_CLIENT_ENDPOINT";

/// Cases that Azurite does not support, with the reason.
const AZURITE_CANNOT: &[(&str, &str)] = &[
    ("tokens_limit_the_keys", "3.35.0 ignores the key range of a token"),
    ("a_query_in_a_batch", "3.35.0 omits the empty line between head and body"),
    ("other_types_find_nothing", "3.35.0 treats the integer 2 as the double 2.0"),
];

/// The environment of a case.
pub struct Setting {
    pub service: TableService,
    case: &'static str,
}

impl Setting {
    /// A fresh table whose name starts with the name of the case.
    pub async fn table(&self) -> Table {
        self.table_named("").await
    }

    /// Another fresh table.
    pub async fn table_named(&self, suffix: &str) -> Table {
        let table = self.service.table(&self.table_name(suffix)).unwrap();
        table.delete_if_exists().await.unwrap();
        table.create().await.unwrap();
        table
    }

    pub fn table_name(&self, suffix: &str) -> String {
        let case: String = self.case.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        format!("{case}{}{suffix}", std::process::id())
    }
}

/// An entity whose contents do not matter.
pub fn person(partition: &str, row: &str, age: i32) -> Dynamic {
    Dynamic::new(partition, row).with("Age", age).unwrap().with("Name", "Ada").unwrap()
}

/// The stored age.
pub async fn age(table: &Table, partition: &str, row: &str) -> Option<i32> {
    let found = table.try_get::<Dynamic>(partition, row).await.unwrap();
    found.and_then(|found| found.value.get("Age").unwrap())
}

/// Runs a case on Lazuli over HTTP.
pub fn on_http<F: Future<Output = ()>>(case: &'static str, body: impl FnOnce(Setting) -> F) {
    let service = TableService::new(account_at(server())).unwrap();
    run(case, service, body);
}

/// Runs a case on Lazuli in this process.
pub fn embedded<F: Future<Output = ()>>(case: &'static str, body: impl FnOnce(Setting) -> F) {
    run(case, lazuli_embedded::memory(), body);
}

/// Runs a case on the service of the environment variable, if it is set and supports the case.
pub fn elsewhere<F: Future<Output = ()>>(case: &'static str, body: impl FnOnce(Setting) -> F) {
    let Ok(endpoint) = std::env::var(ENDPOINT) else { return };
    if AZURITE_CANNOT.iter().any(|(cannot, _)| *cannot == case) {
        return;
    }
    run(case, TableService::new(Account::development_at(&endpoint).unwrap()).unwrap(), body);
}

fn run<F: Future<Output = ()>>(case: &'static str, service: TableService, body: impl FnOnce(Setting) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(body(Setting { service, case }));
}

/// The development account at an address.
pub fn account_at(address: SocketAddr) -> Account {
    Account::development_at(&format!("http://{address}/devstoreaccount1")).unwrap()
}

/// One server for all cases, which runs until the tests end. Must not be called inside a runtime.
pub fn server() -> SocketAddr {
    static SERVER: OnceLock<(Runtime, Running)> = OnceLock::new();
    let start = || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let config = Config::new((Ipv4Addr::LOCALHOST, 0).into());
        let engine = Arc::new(Memory::new(Clock::system()));
        let given = vec![ConfiguredAccount::development()];
        let running = runtime.block_on(lazuli_server::start(config, engine, given)).unwrap();
        (runtime, running)
    };
    SERVER.get_or_init(start).1.listen.get(lazuli_server::Service::Table).unwrap()
}

/// Creates three tests from each case.
macro_rules! cases {
    ($($(#[$doc:meta])* async fn $name:ident($setting:ident: Setting) $body:block)*) => {
        $($(#[$doc])* async fn $name($setting: $crate::support::Setting) $body)*

        mod on_http {
            $(#[test] fn $name() { $crate::support::on_http(stringify!($name), super::$name); })*
        }
        mod embedded {
            $(#[test] fn $name() { $crate::support::embedded(stringify!($name), super::$name); })*
        }
        mod elsewhere {
            $(#[test] fn $name() { $crate::support::elsewhere(stringify!($name), super::$name); })*
        }
    };
}
pub(crate) use cases;
