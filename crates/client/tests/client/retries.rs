//! Lost requests, lost answers, busy services and deadlines: a scripted transport before an embedded service, and a
//! clock that jumps ahead when everybody waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lazuli_client::transport::TransportResult;
use lazuli_client::{
    Account, Applied, BoxFuture, Context, Credential, DateTime, Dynamic, Environment, Error, ErrorCode,
    ErrorKind, ModifyOptions, ReadFrom, RetryOptions, System, Table, TableService, TokenProvider, Transport,
    TransportError,
};
use lazuli_embedded::Embedded;
use tokio::time::Instant;

use crate::support::{age, person};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It is answered.
    Pass,
    /// No connection can be made.
    NoConnection,
    /// It is lost on its way.
    LoseRequest,
    /// It is carried out, and its answer is lost.
    LoseAnswer,
    /// Nobody ever answers.
    Hang,
    /// It is carried out, and nobody ever answers.
    HangAfter,
    /// A proxy or the service answers with this status and no word of why.
    Status(u16),
    /// The service is busy and says for how many seconds.
    Busy(u64),
}

/// A service behind a bad line.
#[derive(Clone)]
struct Line {
    embedded: Embedded,
    script: Arc<Mutex<VecDeque<Fate>>>,
    /// The method and host of every request.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Transport for Line {
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, TransportResult> {
        let fate = self.script.lock().unwrap().pop_front().unwrap_or(Fate::Pass);
        let secondary = if request.uri().path().contains("-secondary") { " secondary" } else { "" };
        self.seen.lock().unwrap().push(format!("{}{secondary}", request.method()));
        Box::pin(async move {
            match fate {
                Fate::Pass => self.embedded.send(request).await,
                Fate::NoConnection => Err(TransportError::not_sent("refused")),
                Fate::LoseRequest => Err(TransportError::lost("reset")),
                Fate::LoseAnswer => {
                    self.embedded.send(request).await?;
                    Err(TransportError::lost("reset"))
                }
                Fate::Hang => std::future::pending().await,
                Fate::HangAfter => {
                    self.embedded.send(request).await?;
                    std::future::pending().await
                }
                Fate::Status(status) => {
                    Ok(http::Response::builder().status(status).body(Bytes::new()).unwrap())
                }
                Fate::Busy(seconds) => {
                    let response = http::Response::builder().status(503).header("retry-after", seconds);
                    let body =
                        "{\"odata.error\":{\"code\":\"ServerBusy\",\"message\":{\"value\":\"Busy.\"}}}";
                    Ok(response.body(body.into()).unwrap())
                }
            }
        })
    }
}

/// The runtime's own time, which the tests stop: it jumps ahead to the next sleeper when nobody has anything to do.
struct Jumping {
    start: Instant,
    sleeps: Arc<Mutex<Vec<Duration>>>,
}

impl Environment for Jumping {
    fn now(&self) -> DateTime {
        System::default().now()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    #[allow(clippy::disallowed_methods, reason = "the time of these tests is stopped: nobody really waits")]
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.sleeps.lock().unwrap().push(time);
        Box::pin(tokio::time::sleep(time))
    }

    fn random(&self) -> u64 {
        0
    }
}

struct Stage {
    table: Table,
    line: Line,
    sleeps: Arc<Mutex<Vec<Duration>>>,
}

impl Stage {
    async fn new(options: RetryOptions) -> Self {
        Self::reading(options, ReadFrom::Primary).await
    }

    async fn reading(options: RetryOptions, read_from: ReadFrom) -> Self {
        let line =
            Line { embedded: Embedded::memory().unwrap(), script: Arc::default(), seen: Arc::default() };
        let sleeps = Arc::default();
        let service = TableService::builder(lazuli_embedded::account())
            .transport(line.clone())
            .environment(Jumping { start: Instant::now(), sleeps: Arc::clone(&sleeps) })
            .retry(options)
            .read_from(read_from)
            .build()
            .unwrap();
        let table = service.create_table("People").await.unwrap();
        let stage = Self { table, line, sleeps };
        stage.script(&[]);
        stage
    }

    /// What happens to the next requests; those after them pass.
    fn script(&self, fates: &[Fate]) {
        *self.line.script.lock().unwrap() = fates.iter().copied().collect();
        self.line.seen.lock().unwrap().clear();
        self.sleeps.lock().unwrap().clear();
    }

    fn seen(&self) -> Vec<String> {
        self.line.seen.lock().unwrap().clone()
    }

    /// How long was waited between attempts; the limits of attempts are not counted.
    fn waits(&self) -> Vec<u64> {
        let longest = RetryOptions::default().delay_max;
        let sleeps = self.sleeps.lock().unwrap();
        sleeps.iter().filter(|time| **time <= longest).map(|time| time.as_millis() as u64).collect()
    }
}

fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(test);
}

/// ER-04: timeouts, 500, 503, closed connections and refused ones are tried again, after longer and longer waits.
#[test]
fn transient_failures_are_tried_again() {
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

/// ER-09: what would fail again is not tried again.
#[test]
fn permanent_failures_are_not_tried_again() {
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

/// ER-04: attempts have an end, and the last error says whether anything may have been done.
#[test]
fn attempts_have_an_end() {
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

/// One attempt that may have been carried out makes the whole operation uncertain, whatever comes after it.
#[test]
fn one_lost_answer_makes_it_uncertain() {
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

/// The deadline is for everything: no attempt is begun that would come after it.
#[test]
fn the_deadline_is_for_everything() {
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

/// A service that says when to come back is obeyed, within reason.
#[test]
fn retry_after_is_obeyed() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        stage.script(&[Fate::Busy(3), Fate::Busy(3600)]);
        stage.table.upsert(&person("p", "r", 1)).await.unwrap();
        assert_eq!(stage.waits(), [3000, 10_000]);
    });
}

/// ER-05: a repeated delete that finds nothing is done; a first one that finds nothing is an error.
#[test]
fn repeated_deletes() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        for fate in [Fate::LoseAnswer, Fate::HangAfter] {
            stage.table.upsert(&person("p", "r", 1)).await.unwrap();
            stage.script(&[fate]);
            stage.table.delete_entity("p", "r").await.unwrap();
            assert_eq!(stage.seen(), ["DELETE", "DELETE"]);
        }
        stage.script(&[Fate::NoConnection]);
        let error = stage.table.delete_entity("p", "r").await.unwrap_err();
        assert_eq!((error.code(), error.applied()), (Some(ErrorCode::ResourceNotFound), Applied::No));
    });
}

/// ER-05: a repeated insert that finds the entity there compares.
#[test]
fn repeated_inserts() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        stage.script(&[Fate::LoseAnswer]);
        let etag = stage.table.insert(&person("p", "mine", 1)).await.unwrap();
        assert_eq!(stage.seen(), ["POST", "POST", "GET"]);
        assert_eq!(stage.table.get::<Dynamic>("p", "mine").await.unwrap().etag, etag);

        stage.table.insert(&person("p", "other", 2)).await.unwrap();
        stage.script(&[Fate::LoseRequest]);
        let error = stage.table.insert(&person("p", "other", 1)).await.unwrap_err();
        assert_eq!((error.code(), error.applied()), (Some(ErrorCode::EntityAlreadyExists), Applied::Unknown));
        assert_eq!(age(&stage.table, "p", "other").await, Some(2));

        stage.script(&[Fate::NoConnection]);
        let error = stage.table.insert(&person("p", "other", 2)).await.unwrap_err();
        assert_eq!(error.applied(), Applied::No, "nothing was lost, so an equal one is another's");
    });
}

/// Where two insert equal entities to find out who is first, an equal one is not taken for one's own.
#[test]
fn inserts_that_are_races() {
    run(async {
        let stage = Stage::new(RetryOptions { adopt_equal_insert: false, ..RetryOptions::default() }).await;
        stage.script(&[Fate::LoseAnswer]);
        let error = stage.table.insert(&person("p", "r", 1)).await.unwrap_err();
        assert_eq!((error.code(), error.applied()), (Some(ErrorCode::EntityAlreadyExists), Applied::Unknown));
    });
}

/// A repeated conditional update may find its own change: that is told, not guessed.
#[test]
fn repeated_conditional_updates() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        let etag = stage.table.insert(&person("p", "r", 1)).await.unwrap();
        stage.script(&[Fate::LoseAnswer]);
        let error = stage.table.update_if(&person("p", "r", 2), &etag).await.unwrap_err();
        assert!(error.is_precondition_failed());
        assert_eq!(error.applied(), Applied::Unknown);
        assert_eq!(age(&stage.table, "p", "r").await, Some(2));
    });
}

/// CC-09: a change that may have been made is not made again, unless that does no harm.
#[test]
fn modify_does_not_repeat_what_may_be_done() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        stage.table.insert(&person("p", "r", 1)).await.unwrap();
        let add = |entity: &mut Dynamic| {
            let age: i32 = entity.get("Age")?.unwrap_or(0);
            entity.set("Age", age + 1).map(|_| ())
        };
        stage.script(&[Fate::Pass, Fate::LoseAnswer]);
        let error = stage.table.modify("p", "r", add).await.unwrap_err();
        assert_eq!((error.applied(), age(&stage.table, "p", "r").await), (Applied::Unknown, Some(2)));
        stage.script(&[Fate::Pass, Fate::LoseAnswer]);
        let options = ModifyOptions { repeatable: true, ..ModifyOptions::default() };
        let set = |entity: &mut Dynamic| entity.set("Age", 7).map(|_| ());
        stage.table.modify_with("p", "r", options, set).await.unwrap();
        assert_eq!(age(&stage.table, "p", "r").await, Some(7));
    });
}

/// CC-09: contention without end is an error at last.
#[test]
fn modify_gives_up() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        stage.table.insert(&person("p", "r", 1)).await.unwrap();
        stage.script(&[
            Fate::Pass,
            Fate::Status(412),
            Fate::Pass,
            Fate::Status(412),
            Fate::Pass,
            Fate::Status(412),
        ]);
        let options = ModifyOptions { attempts_max: 3, ..ModifyOptions::default() };
        let error = stage.table.modify_with("p", "r", options, |_: &mut Dynamic| Ok(())).await.unwrap_err();
        assert!(error.is_precondition_failed());
        assert_eq!(stage.seen(), ["GET", "PUT", "GET", "PUT", "GET", "PUT"]);
    });
}

/// Creating and deleting a table a second time, after a lost answer, is done.
#[test]
fn repeated_changes_of_tables() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        let table = stage.table.service().table("Others").unwrap();
        stage.script(&[Fate::LoseAnswer]);
        table.create().await.unwrap();
        stage.script(&[Fate::LoseAnswer]);
        table.delete().await.unwrap();
        assert!(table.delete().await.unwrap_err().is_not_found());
    });
}

/// A repeated batch tells that it may have been done; a busy service is asked again.
#[test]
fn repeated_batches() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        let batch = |row: &str| {
            let mut batch = stage.table.partition("p").unwrap().batch();
            batch.insert(&person("p", row, 1)).unwrap();
            batch
        };
        stage.script(&[Fate::LoseAnswer]);
        let error = batch("a").execute().await.unwrap_err();
        assert_eq!((error.code(), error.applied()), (Some(ErrorCode::EntityAlreadyExists), Applied::Unknown));
        assert_eq!(error.batch_index(), Some(0));
        stage.script(&[Fate::Busy(0), Fate::LoseRequest]);
        batch("b").execute().await.unwrap();
        assert_eq!(age(&stage.table, "p", "b").await, Some(1));
    });
}

/// CL-08: a change whose answer was lost stays pending, and a later save finds it done, or does it.
#[test]
fn a_context_survives_a_bad_line() {
    run(async {
        for fate in [Fate::LoseRequest, Fate::LoseAnswer, Fate::NoConnection] {
            let stage = Stage::new(RetryOptions::none()).await;
            stage.table.insert(&person("p", "old", 1)).await.unwrap();
            for change in 0..4 {
                let mut context = Context::new(stage.table.service());
                match change {
                    0 => drop(context.add(&stage.table, person("p", "r", 1)).unwrap()),
                    1 => {
                        let old = context.get::<Dynamic>(&stage.table, "p", "old").await.unwrap();
                        context.delete(old).unwrap();
                    }
                    2 => drop(context.create_table("Others").unwrap()),
                    _ => context.delete_table("Others").unwrap(),
                }
                stage.script(&[fate]);
                let error = context.save().await.unwrap_err();
                let told = if fate == Fate::NoConnection { Applied::No } else { Applied::Unknown };
                assert_eq!(
                    (error.failed[0].error.applied(), context.pending()),
                    (told, 1),
                    "{change} {fate:?}"
                );
                assert_eq!(context.save().await.unwrap(), 1, "{change} {fate:?}");
            }
            assert_eq!(age(&stage.table, "p", "r").await, Some(1));
            assert_eq!(age(&stage.table, "p", "old").await, None);
        }
    });
}

/// What a lost answer leaves open is told as open until it is settled, also by a later save and for a batch.
#[test]
fn a_context_remembers_what_is_uncertain() {
    run(async {
        let stage = Stage::new(RetryOptions::none()).await;
        stage.table.insert(&person("p", "taken", 2)).await.unwrap();
        let mut context = Context::new(stage.table.service());
        let taken = context.add(&stage.table, person("p", "taken", 1)).unwrap();
        stage.script(&[Fate::LoseRequest]);
        context.save_batch().await.unwrap_err();
        for error in [context.save_batch().await.unwrap_err(), context.save().await.unwrap_err()] {
            let error = &error.failed[0].error;
            assert_eq!(
                (error.code(), error.applied()),
                (Some(ErrorCode::EntityAlreadyExists), Applied::Unknown)
            );
        }
        context.detach(taken).unwrap();
        let again = context.add(&stage.table, person("p", "taken", 1)).unwrap();
        let error = context.save().await.unwrap_err();
        assert_eq!(error.failed[0].error.applied(), Applied::No, "what is added anew was never sent");
        context.detach(again).unwrap();
    });
}

/// A save that is given up half-way has done what it has done; the next one goes on from there.
#[test]
fn a_save_that_is_dropped_goes_on_where_it_was() {
    run(async {
        for (fate, then) in [(Fate::Hang, vec!["POST"]), (Fate::HangAfter, vec!["POST", "GET"])] {
            let stage = Stage::new(RetryOptions::default()).await;
            stage.table.insert(&person("p", "old", 1)).await.unwrap();
            let mut context = Context::new(stage.table.service());
            let old = context.get::<Dynamic>(&stage.table, "p", "old").await.unwrap();
            context.create_table("Others").unwrap();
            context.delete(old).unwrap();
            context.add(&stage.table, person("p", "a", 1)).unwrap();
            context.add(&stage.table, person("p", "b", 1)).unwrap();
            stage.script(&[Fate::Pass, Fate::Pass, Fate::Pass, fate]);
            assert!(tokio::time::timeout(Duration::from_secs(1), context.save()).await.is_err());
            assert_eq!((stage.seen().len(), context.pending()), (4, 1), "{fate:?}");
            stage.script(&[]);
            assert_eq!(context.save().await.unwrap(), 1, "{fate:?}");
            assert_eq!((stage.seen(), context.pending()), (then.into_iter().map(str::to_owned).collect(), 0));
            assert_eq!(age(&stage.table, "p", "b").await, Some(1), "{fate:?}");
        }
    });
}

/// A query whose poll is given up is not asked for again: the page that is under way is the one that comes.
#[test]
fn a_row_that_was_not_waited_for_is_not_lost() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        for row in ["a", "b", "c"] {
            stage.table.insert(&person("p", row, 1)).await.unwrap();
        }
        let mut rows = stage.table.query::<Dynamic>().page_size(2).stream();
        stage.script(&[Fate::Pass, Fate::Hang]);
        let mut seen = Vec::new();
        for _ in 0..100 {
            match tokio::time::timeout(Duration::from_secs(1), rows.try_next()).await {
                Err(_) => {}
                Ok(Ok(None)) => break,
                Ok(row) => seen.push(row.unwrap().unwrap().row_key),
            }
        }
        assert_eq!(seen, ["a", "b", "c"]);
        assert_eq!(stage.seen().len(), 3, "two pages, one of them asked for twice by the retry");
    });
}

/// A provider of tokens that never answers.
struct NoTokens;

impl TokenProvider for NoTokens {
    fn token(&self) -> BoxFuture<'_, lazuli_client::Result<String>> {
        Box::pin(std::future::pending())
    }
}

/// The deadline is also for the token: a provider that hangs has sent nothing.
#[test]
fn a_token_that_never_comes_ends_with_the_deadline() {
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
        let error = error.expect("it does not wait for ever").unwrap_err();
        assert_eq!((error.kind(), error.applied()), (ErrorKind::Deadline, Applied::No), "{error}");
        assert!(start.elapsed() <= RetryOptions::default().deadline);
    });
}

/// Times without bound are no sums that overflow.
#[test]
fn delays_without_bound() {
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
            "it waits for long, or gives up"
        );
    });
}

/// Reads fall back to the secondary in turns; writes never do.
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

/// An account without secondary cannot read from it: that is said at once.
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
