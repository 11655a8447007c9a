//! Entity group transactions and bulk writes.

use lazuli_client::{Applied, BulkOptions, Dynamic, ErrorCode, ErrorKind, WriteMode};

use crate::support::{age, cases, person};

cases! {
    /// TX-14, TX-26, CC-07: all kinds of changes in one batch; versions are returned in order.
    async fn a_batch_of_all_kinds(setting: Setting) {
        let table = setting.table().await;
        let mut tags = Vec::new();
        for row in ["a", "b", "c", "d", "e", "f"] {
            tags.push(table.insert(&person("p", row, 1)).await.unwrap());
        }
        let mut batch = table.partition("p").unwrap().batch();
        batch.insert(&person("p", "new", 2)).unwrap();
        batch.update(&person("p", "a", 2)).unwrap();
        batch.update_if(&person("p", "b", 2), &tags[1]).unwrap();
        batch.merge(&person("p", "c", 2)).unwrap();
        batch.merge_if(&person("p", "d", 2), &tags[3]).unwrap();
        batch.delete("e").unwrap();
        batch.delete_if("f", &tags[5]).unwrap();
        batch.upsert(&person("p", "g", 2)).unwrap();
        batch.upsert_merge(&person("p", "h", 2)).unwrap();
        assert_eq!((batch.len(), batch.is_empty()), (9, false));
        let etags = batch.execute().await.unwrap();
        let kept: Vec<bool> = etags.iter().map(Option::is_some).collect();
        assert_eq!(kept, [true, true, true, true, true, false, false, true, true]);
        for row in ["new", "a", "b", "c", "d", "g", "h"] {
            assert_eq!(age(&table, "p", row).await, Some(2), "{row}");
        }
        assert_eq!(age(&table, "p", "e").await, None);
        let found = table.get::<Dynamic>("p", "new").await.unwrap();
        assert_eq!(Some(&found.etag), etags[0].as_ref());
    }

    /// TX-09, TX-15, TX-23, TX-25, ER-08: one failure fails the batch, and the error names the operation.
    async fn a_failed_batch_changes_nothing(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "there", 1)).await.unwrap();
        let mut batch = table.partition("p").unwrap().batch();
        batch.insert(&person("p", "a", 2)).unwrap();
        batch.insert(&person("p", "there", 2)).unwrap();
        batch.insert(&person("p", "b", 2)).unwrap();
        let error = batch.execute().await.unwrap_err();
        assert_eq!((error.kind(), error.batch_index()), (ErrorKind::BatchOperation, Some(1)));
        assert!(error.to_string().contains("PartitionKey='p',RowKey='there'"), "{error}");
        assert_eq!((error.code(), error.status()), (Some(ErrorCode::EntityAlreadyExists), Some(409)));
        assert_eq!(error.applied(), Applied::No);
        assert!(!error.message().starts_with(|c: char| c.is_ascii_digit()), "{error}");
        assert_eq!(age(&table, "p", "a").await, None);
        assert_eq!(age(&table, "p", "there").await, Some(1));
    }

    /// TX-25: the failure of a whole batch has another kind than that of an operation.
    async fn a_batch_rejected_as_a_whole(setting: Setting) {
        let table = setting.table().await;
        let wrong = lazuli_client::Credential::shared_key("d3Jvbmc=").unwrap();
        let stranger = setting.service.with_account(setting.service.account().clone().with_credential(wrong));
        let mut batch = stranger.table(table.name()).unwrap().partition("p").unwrap().batch();
        batch.insert(&person("p", "a", 2)).unwrap();
        let error = batch.execute().await.unwrap_err();
        assert_eq!((error.kind(), error.batch_index(), error.status()), (ErrorKind::Service, None, Some(403)));
    }

    /// TX-12: one version that does not match fails the batch.
    async fn versions_in_a_batch(setting: Setting) {
        let table = setting.table().await;
        let old = table.insert(&person("p", "a", 1)).await.unwrap();
        table.update(&person("p", "a", 2)).await.unwrap();
        let mut batch = table.partition("p").unwrap().batch();
        batch.insert(&person("p", "b", 3)).unwrap();
        batch.update_if(&person("p", "a", 3), &old).unwrap();
        let error = batch.execute().await.unwrap_err();
        assert!(error.is_precondition_failed(), "{error}");
        assert_eq!(error.batch_index(), Some(1));
        assert_eq!(age(&table, "p", "b").await, None);
    }

    /// TX-01 to TX-05: limits are checked when a change is added, and a rejected change leaves the batch unchanged.
    async fn limits_are_checked_immediately(setting: Setting) {
        let table = setting.table().await;
        let partition = table.partition("p").unwrap();
        let mut batch = partition.batch();
        for n in 0..100 {
            batch.upsert(&person("p", &format!("{n:03}"), n)).unwrap();
        }
        let full = batch.upsert(&person("p", "100", 1)).map(|_| ()).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::Input);
        let mut small = partition.batch();
        small.upsert(&person("p", "a", 1)).unwrap();
        let twice = small.delete("a").map(|_| ()).unwrap_err();
        assert_eq!(twice.code(), Some(ErrorCode::InvalidDuplicateRow));
        let strange = small.upsert(&person("q", "a", 1)).map(|_| ()).unwrap_err();
        assert_eq!(strange.code(), Some(ErrorCode::CommandsInBatchActOnDifferentPartitions));
        assert_eq!(small.len(), 1);
        assert_eq!(batch.execute().await.unwrap().len(), 100);
        assert_eq!(partition.batch().execute().await.unwrap().len(), 0);
    }

    /// TX-02: four megabytes at most, counted before anything is sent; a batch within the limit is accepted.
    async fn the_largest_batch(setting: Setting) {
        let table = setting.table().await;
        let mut batch = table.partition("p").unwrap().batch();
        let mut rows = 0;
        loop {
            let mut entity = Dynamic::new("p", format!("{rows}"));
            for n in 0..10 {
                entity.set(format!("P{n}"), "x".repeat(30_000)).unwrap();
            }
            if let Err(error) = batch.upsert(&entity) {
                assert_eq!(error.code(), Some(ErrorCode::RequestBodyTooLarge));
                break;
            }
            rows += 1;
        }
        assert_eq!(rows, 13);
        assert_eq!(batch.execute().await.unwrap().len(), 13);
    }

    /// TX-24: twenty inserts with keys of nineteen digits.
    async fn twenty_inserts(setting: Setting) {
        let table = setting.table().await;
        let mut batch = table.partition("p").unwrap().batch();
        for n in 0..20 {
            batch.insert(&person("p", &format!("{n:019}"), n)).unwrap();
        }
        batch.execute().await.unwrap();
        assert_eq!(age(&table, "p", "0000000000000000019").await, Some(19));
    }

    /// TX-21, CL-12, FW-06: long keys, read with a batch of one query. (Azurite allows at most 512 characters.)
    async fn a_query_in_a_batch(setting: Setting) {
        let table = setting.table().await;
        let (partition, row) = ("p".repeat(500), "r'".repeat(250));
        table.insert(&person(&partition, &row, 5)).await.unwrap();
        let found = table.get_in_batch::<Dynamic>(partition.as_str(), row.as_str()).await.unwrap();
        assert_eq!(found.value.get::<i32>("Age").unwrap(), Some(5));
        let missing = table.get_in_batch::<Dynamic>("p", "x").await.unwrap_err();
        assert!(missing.is_not_found(), "{missing}");
    }

    /// ER-07: batches of adjacent entities, with checkpoints; resumes after the last one.
    async fn many_entities_with_checkpoints(setting: Setting) {
        let table = setting.table().await;
        let all = |from: usize| {
            (from..330).map(|n| person(if n < 120 { "a" } else { "b" }, &format!("{n:04}"), i32::try_from(n).unwrap()))
        };
        let mut kept = Vec::new();
        let done = table.write_all(all(0), BulkOptions::default(), |done| kept.push(done)).await.unwrap();
        assert_eq!((done, kept), (330, vec![100, 120, 220, 320, 330]));
        table.delete_entity("b", "0250").await.unwrap();
        table.delete_entity("b", "0300").await.unwrap();
        let insert = BulkOptions { mode: WriteMode::Insert, batch_entities_max: 50 };
        let mut last = 0;
        let stopped = table.write_all(all(250), insert, |done| last = done).await.unwrap_err();
        assert_eq!((stopped.done, last, stopped.error.batch_index()), (0, 0, Some(1)));
        table.write_all(all(250), BulkOptions::default(), |_| {}).await.unwrap();
        assert_eq!(age(&table, "b", "0300").await, Some(300));

        // Stopped midway: the error says how many entities are written, and the rest are written from there. Inserts prove
        // that nothing is sent twice.
        let table = setting.table_named("again").await;
        table.insert(&person("b", "0300", 0)).await.unwrap();
        let stopped = table.write_all(all(0), insert, |done| last = done).await.unwrap_err();
        assert_eq!((stopped.done, last, stopped.error.batch_index()), (270, 270, Some(30)));
        table.delete_entity("b", "0300").await.unwrap();
        let rest = table.write_all(all(usize::try_from(stopped.done).unwrap()), insert, |_| {}).await.unwrap();
        assert_eq!((rest, table.query::<Dynamic>().count().await.unwrap()), (60, 330));
    }
}
