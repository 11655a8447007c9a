//! Requests that are repeated because their response was lost: recognised as applied, applied now, or reported as uncertain.

use std::time::Duration;

use lazuli_client::{Applied, Context, Dynamic, ErrorCode, ModifyOptions, RetryOptions};

use crate::line::{Fate, Stage, run};
use crate::support::{age, person};

/// CS-08, ER-05: a repeated delete that gets 404 counts as done; a first one is an error.
#[test]
fn repeated_deletes() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        for fate in [Fate::LoseResponse, Fate::HangAfter] {
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

/// CS-08, ER-05: a repeated insert that gets 409 compares the entity.
#[test]
fn repeated_inserts() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        stage.script(&[Fate::LoseResponse]);
        let etag = stage.table.insert(&person("p", "mine", 1)).await.unwrap();
        assert_eq!(stage.seen(), ["POST", "POST", "GET"]);
        assert_eq!(stage.table.get::<Dynamic>("p", "mine").await.unwrap().etag, etag);

        // NaN does not equal itself, but the entity is the same.
        stage.script(&[Fate::LoseResponse]);
        stage.table.insert(&person("p", "nan", 1).with("Mean", f64::NAN).unwrap()).await.unwrap();

        stage.table.insert(&person("p", "other", 2)).await.unwrap();
        stage.script(&[Fate::LoseRequest]);
        let error = stage.table.insert(&person("p", "other", 1)).await.unwrap_err();
        assert_eq!((error.code(), error.applied()), (Some(ErrorCode::EntityAlreadyExists), Applied::Unknown));
        assert_eq!(age(&stage.table, "p", "other").await, Some(2));

        stage.script(&[Fate::NoConnection]);
        let error = stage.table.insert(&person("p", "other", 2)).await.unwrap_err();
        assert_eq!(
            error.applied(),
            Applied::No,
            "no response was lost, so the equal entity belongs to another client"
        );
    });
}

/// If two clients insert equal entities to find out which is first, an equal one is not accepted as one's own.
#[test]
fn racing_inserts() {
    run(async {
        let stage = Stage::new(RetryOptions { adopt_equal_insert: false, ..RetryOptions::default() }).await;
        stage.script(&[Fate::LoseResponse]);
        let error = stage.table.insert(&person("p", "r", 1)).await.unwrap_err();
        assert_eq!((error.code(), error.applied()), (Some(ErrorCode::EntityAlreadyExists), Applied::Unknown));
    });
}

/// A repeated conditional update may see its own change: that is reported, not guessed.
#[test]
fn repeated_conditional_updates() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        let etag = stage.table.insert(&person("p", "r", 1)).await.unwrap();
        stage.script(&[Fate::LoseResponse]);
        let error = stage.table.update_if(&person("p", "r", 2), &etag).await.unwrap_err();
        assert!(error.is_precondition_failed());
        assert_eq!(error.applied(), Applied::Unknown);
        assert_eq!(age(&stage.table, "p", "r").await, Some(2));
    });
}

/// CC-09: a change that may have been applied is not repeated, unless repeating is harmless.
#[test]
fn modify_does_not_repeat_uncertain_changes() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        stage.table.insert(&person("p", "r", 1)).await.unwrap();
        let add = |entity: &mut Dynamic| {
            let age: i32 = entity.get("Age")?.unwrap_or(0);
            entity.set("Age", age + 1).map(|_| ())
        };
        stage.script(&[Fate::Pass, Fate::LoseResponse]);
        let error = stage.table.modify("p", "r", add).await.unwrap_err();
        assert_eq!((error.applied(), age(&stage.table, "p", "r").await), (Applied::Unknown, Some(2)));
        stage.script(&[Fate::Pass, Fate::LoseResponse]);
        let options = ModifyOptions { repeatable: true, ..ModifyOptions::default() };
        let set = |entity: &mut Dynamic| entity.set("Age", 7).map(|_| ());
        stage.table.modify_with("p", "r", options, set).await.unwrap();
        assert_eq!(age(&stage.table, "p", "r").await, Some(7));
    });
}

/// CC-09: endless contention ends with an error.
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

/// Creating and deleting a table again after a lost response succeeds.
#[test]
fn repeated_changes_of_tables() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        let table = stage.table.service().table("Others").unwrap();
        stage.script(&[Fate::LoseResponse]);
        table.create().await.unwrap();
        stage.script(&[Fate::LoseResponse]);
        table.delete().await.unwrap();
        assert!(table.delete().await.unwrap_err().is_not_found());
    });
}

/// A repeated batch reports that it may have been applied; a busy service is retried.
#[test]
fn repeated_batches() {
    run(async {
        let stage = Stage::new(RetryOptions::default()).await;
        let batch = |row: &str| {
            let mut batch = stage.table.partition("p").unwrap().batch();
            batch.insert(&person("p", row, 1)).unwrap();
            batch
        };
        stage.script(&[Fate::LoseResponse]);
        let error = batch("a").execute().await.unwrap_err();
        assert_eq!((error.code(), error.applied()), (Some(ErrorCode::EntityAlreadyExists), Applied::Unknown));
        assert_eq!(error.batch_index(), Some(0));
        stage.script(&[Fate::Busy(0), Fate::LoseRequest]);
        batch("b").execute().await.unwrap();
        assert_eq!(age(&stage.table, "p", "b").await, Some(1));
    });
}

/// CL-08: a change whose response was lost stays pending, and a later save finds or applies it.
#[test]
fn a_context_survives_lost_responses() {
    run(async {
        for fate in [Fate::LoseRequest, Fate::LoseResponse, Fate::NoConnection] {
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

/// An uncertain outcome is reported as such until it is resolved, even by a later save and for a batch.
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
        assert_eq!(error.failed[0].error.applied(), Applied::No, "an entity added again was never sent");
        context.detach(again).unwrap();
    });
}

/// An entity that may be stored is neither forgotten nor deleted blindly: its state is resolved first.
#[test]
fn uncertain_inserts_are_not_forgotten() {
    run(async {
        let stage = Stage::new(RetryOptions::none()).await;
        let mut context = Context::new(stage.table.service());
        let added = context.add(&stage.table, person("p", "r", 1)).unwrap();
        stage.script(&[Fate::LoseResponse]);
        context.save().await.unwrap_err();
        context.delete(added).unwrap_err();
        assert_eq!((context.save().await.unwrap(), context.pending()), (1, 0));
        context.delete(added).unwrap();
        assert_eq!(context.save().await.unwrap(), 1);
        assert_eq!(age(&stage.table, "p", "r").await, None);
    });
}

/// A save that is dropped before its end keeps its results; the next one continues from there.
#[test]
fn a_dropped_save_is_continued_by_the_next() {
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

/// Dropping a poll does not request the page again: the page in flight is the one that is returned.
#[test]
fn a_dropped_poll_loses_no_row() {
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
        assert_eq!(stage.seen().len(), 3, "two pages, one of them requested twice by the retry");
    });
}
