//! Tables, stored access policies, service properties and shared access signatures.

use lazuli_client::{
    AccessPolicy, Account, CorsRule, Credential, DateTime, Dynamic, ErrorCode, ErrorKind, Logging, Metrics,
    PropertiesUpdate, SasOptions, SignedIdentifier, TableService, TablesOptions,
};

use crate::support::{Setting, cases, person};

fn long_from_now() -> Option<DateTime> {
    DateTime::parse("2100-01-01T00:00:00Z")
}

/// The same service with a token instead of the key.
fn with_token(service: &TableService, token: &str) -> Credentialed {
    let account = service.account().clone().with_credential(Credential::sas(token).unwrap());
    Credentialed { account }
}

struct Credentialed {
    account: Account,
}

impl Credentialed {
    /// Builds a new client, over the same transport if there is no socket.
    fn over(self, setting: &Setting) -> TableService {
        setting.service.with_account(self.account)
    }
}

cases! {
    /// OP-01 to OP-05, OP-20, LA-17: create, check, list, delete.
    async fn tables_are_created_and_deleted(setting: Setting) {
        let service = &setting.service;
        let name = setting.table_name("a");
        let table = service.table(&name).unwrap();
        table.delete_if_exists().await.unwrap();
        assert!(!table.exists().await.unwrap());
        assert!(table.create_if_missing().await.unwrap());
        assert!(!table.create_if_missing().await.unwrap());
        assert!(table.exists().await.unwrap());
        let error = table.create().await.unwrap_err();
        assert_eq!((error.kind(), error.code(), error.status()), (ErrorKind::Service, Some(ErrorCode::TableAlreadyExists), Some(409)));
        assert!(service.table_names().await.unwrap().contains(&name));
        table.delete().await.unwrap();
        assert!(!table.delete_if_exists().await.unwrap());
        assert!(table.delete().await.unwrap_err().is_not_found());
    }

    /// OP-01: by prefix, and in pages of one name each.
    async fn tables_are_listed_by_prefix_and_page(setting: Setting) {
        let mut expected = Vec::new();
        for suffix in ["pa", "pb", "pc"] {
            expected.push(setting.table_named(suffix).await.name().to_owned());
        }
        setting.table_named("qa").await;
        let prefix = setting.table_name("p");
        assert_eq!(setting.service.table_names_with_prefix(&prefix).await.unwrap(), expected);
        let mut options = TablesOptions { prefix: Some(prefix), top: Some(1), ..TablesOptions::default() };
        let mut seen = Vec::new();
        loop {
            let page = setting.service.tables_page(&options).await.unwrap();
            assert!(page.names.len() <= 1);
            seen.extend(page.names);
            match page.continuation {
                Some(next) => options.continuation = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, expected);
    }

    /// DM-05 to DM-07, LA-06: an invalid name is rejected before anything is sent.
    async fn names_are_checked_immediately(setting: Setting) {
        for name in ["", "ab", "1abc", "a-b", "tables"] {
            let error = setting.service.table(name).expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Input, "{name}");
            assert!(error.code().is_some(), "{name}");
        }
    }

    /// Policies are set and read; a token that names one gets its permissions.
    async fn policies_complete_tokens(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 1)).await.unwrap();
        let policy = AccessPolicy {
            start: DateTime::parse("2020-01-01T00:00:00Z"),
            expiry: long_from_now(),
            permissions: Some("r".into()),
        };
        let policies = vec![SignedIdentifier { id: "readers".into(), policy: Some(policy) }];
        table.set_policies(&policies).await.unwrap();
        assert_eq!(table.policies().await.unwrap(), policies);
        let options = SasOptions { policy: Some("readers".into()), ..SasOptions::default() };
        let token = setting.service.account().table_sas(table.name(), &options).unwrap();
        let reader = with_token(&setting.service, &token).over(&setting).table(table.name()).unwrap();
        reader.get::<Dynamic>("p", "r").await.unwrap();
        let rejected = reader.insert(&person("p", "s", 1)).await.unwrap_err();
        assert_eq!(rejected.status(), Some(403));
        table.set_policies(&[]).await.unwrap();
        assert_eq!(table.policies().await.unwrap(), []);
        assert_eq!(reader.get::<Dynamic>("p", "r").await.unwrap_err().status(), Some(403));
    }

    /// Tokens of the table and of the account; operations that they do not allow are rejected.
    async fn tokens_limit_permissions(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 1)).await.unwrap();
        let options = |permissions: &str| SasOptions { expiry: long_from_now(), permissions: permissions.into(), ..SasOptions::default() };
        let account = setting.service.account();
        let token = account.table_sas(table.name(), &options("a")).unwrap();
        let adder = with_token(&setting.service, &token).over(&setting).table(table.name()).unwrap();
        adder.insert(&person("p", "s", 2)).await.unwrap();
        assert_eq!(adder.get::<Dynamic>("p", "r").await.unwrap_err().status(), Some(403));
        let token = account.account_sas(&options("rl")).unwrap();
        let lister = with_token(&setting.service, &token).over(&setting);
        assert!(lister.table_names().await.unwrap().contains(&table.name().to_owned()));
        lister.table(table.name()).unwrap().get::<Dynamic>("p", "s").await.unwrap();
        assert_eq!(lister.table(table.name()).unwrap().delete().await.unwrap_err().status(), Some(403));
    }

    /// A token can be limited to a range of keys.
    async fn tokens_limit_the_keys(setting: Setting) {
        let table = setting.table().await;
        for partition in ["a", "b", "c"] {
            table.insert(&person(partition, "r", 1)).await.unwrap();
        }
        let options = SasOptions {
            expiry: long_from_now(),
            permissions: "r".into(),
            from: Some(("b".into(), None)),
            to: Some(("b".into(), None)),
            ..SasOptions::default()
        };
        let token = setting.service.account().table_sas(table.name(), &options).unwrap();
        let reader = with_token(&setting.service, &token).over(&setting).table(table.name()).unwrap();
        reader.get::<Dynamic>("b", "r").await.unwrap();
        assert!(reader.get::<Dynamic>("a", "r").await.is_err());
    }

    /// AU-03: the longer string to sign of Shared Key is accepted too.
    async fn shared_key_is_accepted(setting: Setting) {
        let table = setting.table().await;
        let key = lazuli_protocol::auth::DEVELOPMENT_KEY;
        let account = setting.service.account().clone();
        let account = account.with_credential(Credential::shared_key_full(key).unwrap());
        let full = setting.service.with_account(account).table(table.name()).unwrap();
        full.insert(&person("p é'", "r", 1)).await.unwrap();
        full.get::<Dynamic>("p é'", "r").await.unwrap();
        assert!(full.policies().await.unwrap().is_empty());
        let wrong = setting.service.account().clone().with_credential(Credential::shared_key("d3Jvbmc=").unwrap());
        let rejected = setting.service.with_account(wrong).table(table.name()).unwrap();
        let error = rejected.get::<Dynamic>("p", "r").await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::Service, Some(403)));
        assert!(!error.is_transient());
    }

    /// An update changes the given properties and leaves others unchanged.
    async fn properties_of_the_service(setting: Setting) {
        let before = setting.service.properties().await.unwrap();
        let rule = CorsRule {
            origins: vec!["https://example.com".into()],
            methods: vec!["GET".into()],
            allowed_headers: vec!["x-ms-*".into()],
            exposed_headers: vec!["x-ms-*".into()],
            max_age_seconds: 60,
        };
        let update = PropertiesUpdate {
            logging: Some(Logging { read: true, delete: true, retention_days: Some(5), ..Logging::default() }),
            hour_metrics: Some(Metrics { include_apis: Some(true), retention_days: Some(7) }),
            minute_metrics: Some(Metrics::default()),
            cors: Some(vec![rule.clone()]),
            ..PropertiesUpdate::default()
        };
        setting.service.set_properties(&update).await.unwrap();
        let after = setting.service.properties().await.unwrap();
        assert_eq!(after.logging, update.logging.unwrap());
        assert_eq!(after.hour_metrics, update.hour_metrics.unwrap());
        assert_eq!(after.cors, vec![rule]);
        let back = PropertiesUpdate { cors: Some(before.cors), logging: Some(before.logging), hour_metrics: Some(before.hour_metrics), ..PropertiesUpdate::default() };
        setting.service.set_properties(&back).await.unwrap();
        assert_eq!(setting.service.properties().await.unwrap().cors, []);
    }

    /// Stats come from the secondary.
    async fn stats_of_the_secondary(setting: Setting) {
        let stats = setting.service.stats().await.unwrap();
        assert_eq!(stats.status, "live");
        assert!(stats.last_sync.is_some());
    }
}
