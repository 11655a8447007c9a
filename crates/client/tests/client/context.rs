//! Tracked objects and how they are saved.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazuli_client::{Context, Dynamic, ErrorCode, ErrorKind, MergeOption, SaveMode, SaveOptions};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::support::{age, cases, person};

cases! {
    /// CL-01, CL-02, CL-03: nothing is sent before the save; merging is the default, replacing is optional.
    async fn changes_wait_for_the_save(setting: Setting) {
        let table = setting.table().await;
        let mut context = Context::new(&setting.service);
        let handle = context.add(&table, person("p", "r", 1)).unwrap();
        assert_eq!((context.pending(), age(&table, "p", "r").await), (1, None));
        assert_eq!(context.save().await.unwrap(), 1);
        assert_eq!((context.pending(), age(&table, "p", "r").await), (0, Some(1)));
        assert!(context.etag(handle).unwrap().is_some());

        *context.edit(handle).unwrap() = Dynamic::new("p", "r").with("Age", 2).unwrap();
        context.save().await.unwrap();
        let merged = table.get::<Dynamic>("p", "r").await.unwrap();
        assert!(merged.value.props.contains("Name"), "a merge preserves other properties");
        context.update(handle).unwrap();
        context.save_replace().await.unwrap();
        let replaced = table.get::<Dynamic>("p", "r").await.unwrap();
        assert!(!replaced.value.props.contains("Name"), "a replace removes them");

        context.delete(handle).unwrap();
        assert_eq!(age(&table, "p", "r").await, Some(2));
        context.save().await.unwrap();
        assert_eq!((context.tracked(), age(&table, "p", "r").await), (0, None));
        assert!(context.entity(handle).is_err());
    }

    /// CL-02: an attached entity is changed without being read; a detached one is not sent.
    async fn attach_and_detach(setting: Setting) {
        let table = setting.table().await;
        let etag = table.insert(&person("p", "a", 1)).await.unwrap();
        table.insert(&person("p", "b", 1)).await.unwrap();
        let mut context = Context::new(&setting.service);
        let first = context.attach(&table, person("p", "a", 2), Some(etag)).unwrap();
        let second = context.attach(&table, person("p", "b", 2), None).unwrap();
        assert!(context.attach(&table, person("p", "b", 3), None).is_err(), "already tracked");
        assert_eq!(context.pending(), 0);
        context.update(first).unwrap();
        context.update(second).unwrap();
        let given_back: Dynamic = context.detach(second).unwrap();
        assert_eq!(given_back.row_key, "b");
        assert_eq!(context.save().await.unwrap(), 1);
        assert_eq!((age(&table, "p", "a").await, age(&table, "p", "b").await), (Some(2), Some(1)));
        let never = context.add(&table, person("p", "c", 1)).unwrap();
        context.delete(never).unwrap();
        assert_eq!((context.pending(), context.save().await.unwrap()), (0, 0));
    }

    /// CL-08: a failed change stays pending, is sent again by the next save, and can be detached.
    async fn failures_stay_pending(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "there", 1)).await.unwrap();
        let mut context = Context::new(&setting.service);
        context.add(&table, person("p", "a", 2)).unwrap();
        let twice = context.add(&table, person("p", "there", 2)).unwrap();
        context.add(&table, person("p", "b", 2)).unwrap();
        let error = context.save().await.unwrap_err();
        assert_eq!((error.saved, error.failed.len(), context.pending()), (1, 1, 2));
        assert_eq!(error.failed[0].error.code(), Some(ErrorCode::EntityAlreadyExists));
        assert_eq!(error.failed[0].key.as_ref().map(|key| key.row.as_str()), Some("there"));
        let error = context.save_with(SaveOptions { continue_on_error: true, ..SaveOptions::default() }).await.unwrap_err();
        assert_eq!((error.saved, error.failed.len(), context.pending()), (1, 1, 1));
        table.delete_entity("p", "there").await.unwrap();
        assert_eq!(context.save().await.unwrap(), 1);
        context.delete(twice).unwrap();
        table.delete_entity("p", "there").await.unwrap();
        assert!(context.save().await.is_err());
        context.detach(twice).unwrap();
        assert_eq!(context.save().await.unwrap(), 0);
    }

    /// CL-04: a tracked entity keeps its version when it is read again, so that a save detects the conflict.
    async fn append_only_detects_the_conflict(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 1)).await.unwrap();
        let mut context = Context::new(&setting.service);
        let handle = context.get::<Dynamic>(&table, "p", "r").await.unwrap();
        context.edit(handle).unwrap().set("Age", 2).unwrap();
        table.update(&person("p", "r", 9)).await.unwrap();
        let again = context.get::<Dynamic>(&table, "p", "r").await.unwrap();
        assert_eq!(handle, again);
        assert_eq!(context.entity(handle).unwrap().get::<i32>("Age").unwrap(), Some(2));
        let error = context.save().await.unwrap_err();
        assert!(error.failed[0].error.is_precondition_failed());
        context.detach(handle).unwrap();
    }

    /// CL-05: the entity that was read replaces the changed one.
    async fn overwrite_changes_discards_ours(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 1)).await.unwrap();
        let mut context = Context::new(&setting.service).with_merge_option(MergeOption::OverwriteChanges);
        let handle = context.get::<Dynamic>(&table, "p", "r").await.unwrap();
        context.edit(handle).unwrap().set("Age", 2).unwrap();
        table.update(&person("p", "r", 9)).await.unwrap();
        context.get::<Dynamic>(&table, "p", "r").await.unwrap();
        assert_eq!((context.pending(), context.entity(handle).unwrap().get::<i32>("Age").unwrap()), (0, Some(9)));
        context.edit(handle).unwrap().set("Age", 3).unwrap();
        context.save().await.unwrap();
        assert_eq!(age(&table, "p", "r").await, Some(3));
    }

    /// CL-06: local changes stay and get the new version, which resolves a conflict.
    async fn preserve_changes_recovers(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 1)).await.unwrap();
        let mut context = Context::new(&setting.service);
        let handle = context.get::<Dynamic>(&table, "p", "r").await.unwrap();
        context.edit(handle).unwrap().set("Age", 2).unwrap();
        table.update(&person("p", "r", 9)).await.unwrap();
        assert!(context.save().await.is_err());
        context.set_merge_option(MergeOption::PreserveChanges);
        context.get::<Dynamic>(&table, "p", "r").await.unwrap();
        assert_eq!(context.save().await.unwrap(), 1);
        assert_eq!(age(&table, "p", "r").await, Some(2));
    }

    /// CL-07: an entity read through the table is not tracked; changing it requires an attach.
    async fn reading_without_tracking(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 1)).await.unwrap();
        let mut context = Context::new(&setting.service);
        let read = table.get::<Dynamic>("p", "r").await.unwrap();
        assert_eq!(context.tracked(), 0);
        let handle = context.attach(&table, read.value, Some(read.etag)).unwrap();
        context.edit(handle).unwrap().set("Age", 5).unwrap();
        context.save().await.unwrap();
        assert_eq!(age(&table, "p", "r").await, Some(5));
    }

    /// LA-18: a table created in the context exists before its entities are inserted.
    async fn order_is_preserved(setting: Setting) {
        let name = setting.table_name("made");
        setting.service.table(&name).unwrap().delete_if_exists().await.unwrap();
        for mode in [SaveMode::Each, SaveMode::Batches] {
            let mut context = Context::new(&setting.service);
            let table = context.create_table(&name).unwrap();
            context.add(&table, person("p", "r", 1)).unwrap();
            context.add(&table, person("q", "r", 1)).unwrap();
            context.save_with(SaveOptions { mode, ..SaveOptions::default() }).await.unwrap();
            assert_eq!(age(&table, "q", "r").await, Some(1));
            context.delete_table(&name).unwrap();
            context.close().await.unwrap();
            assert!(!table.exists().await.unwrap());
        }
    }

    /// CL-03, TX-22: one batch for all changes, if possible; a failure leaves everything pending.
    async fn one_batch_for_all(setting: Setting) {
        let table = setting.table().await;
        let mut context = Context::new(&setting.service);
        let first = context.add(&table, person("p", "a", 1)).unwrap();
        context.add(&table, person("p", "b", 1)).unwrap();
        assert_eq!(context.save_batch().await.unwrap(), 2);
        context.edit(first).unwrap().set("Age", 2).unwrap();
        table.insert(&person("p", "c", 1)).await.unwrap();
        let third = context.add(&table, person("p", "c", 2)).unwrap();
        let error = context.save_batch().await.unwrap_err();
        assert_eq!(error.failed[0].key.as_ref().map(|key| key.row.as_str()), Some("c"));
        assert_eq!((error.saved, context.pending(), age(&table, "p", "a").await), (0, 2, Some(1)));
        context.detach(third).unwrap();
        context.add(&table, person("q", "d", 2)).unwrap();
        let error = context.save_batch().await.unwrap_err();
        assert_eq!(error.failed[0].error.kind(), ErrorKind::Input);
        assert_eq!(context.save().await.unwrap(), 2);
        assert_eq!(age(&table, "p", "a").await, Some(2));
    }

    /// FW-05: grouped by table and partition, a hundred at a time; deletes and changes alike.
    async fn batches_by_partition(setting: Setting) {
        let table = setting.table().await;
        let other = setting.table_named("other").await;
        let mut context = Context::new(&setting.service);
        let mut handles = Vec::new();
        for n in 0..150 {
            handles.push(context.add(&table, person("p", &format!("{n:03}"), n)).unwrap());
            if n % 50 == 0 {
                context.add(&table, person("q", &format!("{n:03}"), n)).unwrap();
                context.add(&other, person("p", &format!("{n:03}"), n)).unwrap();
            }
        }
        let grouped = SaveOptions { mode: SaveMode::Batches, ..SaveOptions::default() };
        assert_eq!(context.save_with(grouped).await.unwrap(), 156);
        assert_eq!(age(&table, "p", "149").await, Some(149));
        assert_eq!(age(&other, "p", "100").await, Some(100));
        for handle in handles {
            context.delete(handle).unwrap();
        }
        assert_eq!(context.save_with(grouped).await.unwrap(), 150);
        assert_eq!((age(&table, "p", "000").await, age(&table, "q", "000").await), (None, Some(0)));
    }

    /// The keys of a tracked entity cannot be changed.
    async fn keys_cannot_be_changed(setting: Setting) {
        let table = setting.table().await;
        let mut context = Context::new(&setting.service);
        let handle = context.add(&table, person("p", "r", 1)).unwrap();
        context.edit(handle).unwrap().row_key = "s".into();
        assert_eq!(context.save().await.unwrap_err().failed[0].error.kind(), ErrorKind::Input);
        context.detach(handle).unwrap();
    }

    /// LA-20: a save in the background. The task gives back the context with the outcome, so that no error is lost; what failed
    /// can be corrected and saved again, and closing the context finishes it.
    async fn saving_in_the_background(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "taken", 1)).await.unwrap();
        let mut context = Context::new(&setting.service);
        context.add(&table, person("p", "first", 1)).unwrap();
        let taken = context.add(&table, person("p", "taken", 2)).unwrap();
        let saving = tokio::spawn(async move {
            let outcome = context.save().await;
            (context, outcome)
        });
        let (mut context, outcome) = saving.await.unwrap();
        assert!(outcome.unwrap_err().to_string().contains("EntityAlreadyExists"));
        assert_eq!((context.pending(), age(&table, "p", "first").await), (1, Some(1)));
        context.detach(taken).unwrap();
        context.add(&table, person("p", "second", 2)).unwrap();
        tokio::spawn(context.close()).await.unwrap().unwrap();
        assert_eq!(age(&table, "p", "second").await, Some(2));
    }
}

/// Counts warnings.
struct Warnings(Arc<AtomicUsize>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// LA-20: a context that is dropped with pending changes logs a warning.
#[test]
fn a_context_dropped_with_unsaved_changes_warns() {
    let service = lazuli_embedded::memory();
    let table = service.table("People").unwrap();
    for changes in [0, 1] {
        let mut context = Context::new(&service);
        for _ in 0..changes {
            context.add(&table, person("p", "r", 1)).unwrap();
        }
        let warnings = Arc::default();
        with_default(Warnings(Arc::clone(&warnings)), || drop(context));
        assert_eq!(warnings.load(Ordering::Relaxed), changes);
    }
}

/// CL-09: a context can be sent to another thread, but not shared between two.
#[test]
fn a_context_can_be_sent() {
    fn sent<T: Send>() {}
    sent::<Context>();
}
