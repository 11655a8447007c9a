//! Lost requests, busy services and deadlines: which requests are retried, when, and for how long.

use std::sync::Arc;
use std::time::Duration;

use lazuli_client::{
    Account, Applied, BoxFuture, Credential, Dynamic, Error, ErrorKind, ReadFrom, RetryOptions, TableService,
    TokenProvider,
};
use lazuli_embedded::Embedded;
use tokio::time::Instant;

use crate::line::{Fate, Jumping, Stage, run};
use crate::support::{age, person};

/// ER-04: timeouts, 500, 503, and closed or refused connections are retried, with increasing delays.
#[test]
fn transient_failures_are_retried() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        for fate in [
            Fate::NoConnection,
            Fate::LoseRequest,
            Fate::Hang,
            Fate::Status(500),
            Fate::Status(502),
            Fate::Status(503),
            Fate::Status(504),
            Fate::Status(408),
            Fate::Status(429),
        ] {
            stage.script(&[fate, fate, fate]);
            stage
                .table
                .upsert(&person("p", "r", 1))
                .await
                .unwrap_or_else(|error| panic!("{fate:?}: {error}"));
            assert_eq!(stage.seen().len(), 4, "{fate:?}");
            assert_eq!(stage.waits(), [100, 200, 400], "{fate:?}");
        }
    });
}

/// ER-09: permanent failures are not retried.
#[test]
fn permanent_failures_are_not_retried() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        for status in [400, 401, 403, 404, 405, 409, 411, 412, 413, 415, 501] {
            stage.script(&[Fate::Status(status)]);
            let error = stage.table.upsert(&person("p", "r", 1)).await.unwrap_err();
            assert_eq!((error.status(), error.is_transient()), (Some(status), false));
            assert_eq!((stage.seen().len(), error.applied()), (1, Applied::No), "{status}");
        }
    });
}

/// ER-04: the number of attempts is limited, and the last error says whether a change may have been applied.
#[test]
fn attempts_are_limited() {
    run(async {
        let stage = Stage::new(RetryOptions { attempts_max: 3, ..RetryOptions::default() }).await;
        for (fate, applied) in [
            (Fate::NoConnection, Applied::No),
            (Fate::Busy(0), Applied::No),
            (Fate::LoseRequest, Applied::Unknown),
            (Fate::Status(500), Applied::Unknown),
            (Fate::Hang, Applied::Unknown),
        ] {
            stage.script(&[fate; 9]);
            let error = stage.table.upsert(&person("p", "r", 1)).await.unwrap_err();
            assert_eq!((stage.seen().len(), error.applied()), (3, applied), "{fate:?}");
            assert!(error.is_transient(), "{fate:?}");
            stage.script(&[fate; 9]);
            let error = stage.table.get::<Dynamic>("p", "r").await.unwrap_err();
            assert_eq!(error.applied(), Applied::No, "{fate:?}: a read changes nothing");
        }
        let never = Stage::new(RetryOptions::none()).await;
        never.script(&[Fate::NoConnection]);
        assert_eq!(never.table.upsert(&person("p", "r", 1)).await.unwrap_err().kind(), ErrorKind::Transport);
    });
}

/// One attempt that may have been applied makes the whole operation uncertain, whatever follows.
#[test]
fn one_lost_response_makes_it_uncertain() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        stage.script(&[Fate::LoseRequest, Fate::Status(403)]);
        let error = stage.table.upsert(&person("p", "r", 1)).await.unwrap_err();
        assert_eq!((error.status(), error.applied()), (Some(403), Applied::Unknown));
        stage.script(&[Fate::NoConnection, Fate::Status(403)]);
        let error = stage.table.upsert(&person("p", "r", 1)).await.unwrap_err();
        assert_eq!((error.status(), error.applied()), (Some(403), Applied::No));
    });
}

/// The deadline covers everything: no attempt starts after it.
#[test]
fn the_deadline_covers_everything() {
    run(async {
        let options = RetryOptions {
            attempts_max: 100,
            deadline: Duration::from_secs(5),
            attempt_time_max: Duration::from_secs(2),
            ..RetryOptions::default()
        };
        let stage = Stage::new(options).await;
        stage.script(&[Fate::Hang; 50]);
        let start = Instant::now();
        let error = stage.table.upsert(&person("p", "r", 1)).await.unwrap_err();
        assert!(start.elapsed() <= options.deadline, "{:?}", start.elapsed());
        assert_eq!((error.kind(), error.applied()), (ErrorKind::Deadline, Applied::Unknown));
        assert_eq!(stage.seen().len(), 3);
    });
}

/// `Retry-After` is obeyed, within limits.
#[test]
fn retry_after_is_obeyed() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        stage.script(&[Fate::Busy(3), Fate::Busy(3600)]);
        stage.table.upsert(&person("p", "r", 1)).await.unwrap();
        assert_eq!(stage.waits(), [3000, 10_000]);
    });
}

/// A token provider that never returns.
struct NoTokens;

impl TokenProvider for NoTokens {
    fn token(&self) -> BoxFuture<'_, lazuli_client::Result<String>> {
        Box::pin(std::future::pending())
    }
}

/// The deadline also covers the token: while the provider hangs, nothing is sent.
#[test]
fn the_deadline_covers_the_token_provider() {
    run(async {
        let account = Account::development_at("http://127.0.0.1:1/devstoreaccount1").unwrap();
        let start = Instant::now();
        let service = TableService::builder(account.with_credential(Credential::bearer(NoTokens)))
            .transport(Embedded::memory().unwrap())
            .environment(Jumping { start, sleeps: Arc::default() })
            .build()
            .unwrap();
        let (table, ann) = (service.table("People").unwrap(), person("p", "r", 1));
        let error = tokio::time::timeout(Duration::from_secs(3600), table.upsert(&ann)).await;
        let error = error.expect("the deadline ends it").unwrap_err();
        assert_eq!((error.kind(), error.applied()), (ErrorKind::Deadline, Applied::No), "{error}");
        assert!(start.elapsed() <= RetryOptions::default().deadline);
    });
}

/// Unlimited durations do not overflow.
#[test]
fn unlimited_durations() {
    run(async {
        let options = RetryOptions {
            delay_base: Duration::MAX,
            delay_max: Duration::MAX,
            attempt_time_max: Duration::MAX,
            deadline: Duration::MAX,
            ..RetryOptions::default()
        };
        let stage = Stage::new(options).await;
        stage.script(&[Fate::Pass, Fate::NoConnection]);
        let ann = person("p", "r", 1);
        stage.table.upsert(&ann).await.unwrap();
        let again = tokio::time::timeout(Duration::from_secs(3600), stage.table.upsert(&ann)).await;
        assert!(
            again.is_err() || again.is_ok_and(|change| change.is_err()),
            "it either waits longer than an hour or fails"
        );
    });
}

/// Reads alternate with the secondary on failure; writes never do.
#[test]
fn reads_fall_back_to_the_secondary() {
    run(async {
        let stage = Stage::reading(RetryOptions::default(), ReadFrom::PrimaryThenSecondary).await;
        stage.table.insert(&person("p", "r", 1)).await.unwrap();
        stage.script(&[Fate::NoConnection, Fate::NoConnection]);
        assert_eq!(age(&stage.table, "p", "r").await, Some(1));
        assert_eq!(stage.seen(), ["GET", "GET secondary", "GET"]);
        stage.script(&[Fate::NoConnection]);
        stage.table.upsert(&person("p", "r", 2)).await.unwrap();
        assert_eq!(stage.seen(), ["PUT", "PUT"]);
        let stage = Stage::reading(RetryOptions::default(), ReadFrom::Secondary).await;
        stage.script(&[]);
        assert_eq!(age(&stage.table, "p", "r").await, None);
        assert_eq!(stage.seen(), ["GET secondary"]);
    });
}

/// Reading from a missing secondary is an immediate error.
#[test]
fn no_secondary() {
    run(async {
        let account: Account = "AccountName=a;AccountKey=YWJj;TableEndpoint=http://h/a".parse().unwrap();
        let service = TableService::builder(account)
            .transport(Embedded::memory().unwrap())
            .read_from(ReadFrom::Secondary)
            .build()
            .unwrap();
        let error: Error = service.table_names().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
    });
}
