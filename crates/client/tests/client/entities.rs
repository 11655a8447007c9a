//! Single entities: written and read, with versions that guard changes.

use lazuli_client::{
    Applied, DateTime, Dynamic, ErrorCode, ErrorKind, GetOptions, Guid, ModifyOptions, Value, Versioned,
    WriteMode, WriteOptions, prop,
};

use crate::support::{age, cases, person};

cases! {
    /// DM-20, LA-10: every type is preserved.
    async fn all_types_round_trip(setting: Setting) {
        let table = setting.table().await;
        let sent = Dynamic::new("p", "r")
            .with("Text", "a \"b\" \\ \u{1F600}\n").unwrap()
            .with("Empty", "").unwrap()
            .with("Flag", true).unwrap()
            .with("Small", i32::MIN).unwrap()
            .with("Big", i64::MAX).unwrap()
            .with("Whole", 5.0).unwrap()
            .with("Real", -1.5e-7).unwrap()
            .with("Id", Guid([0xC3; 16])).unwrap()
            .with("Time", DateTime::parse("2022-05-06T00:31:05.1234567Z").unwrap()).unwrap()
            .with("Bytes", Value::Binary(vec![0, 1, 254, 255])).unwrap();
        let etag = table.insert(&sent).await.unwrap();
        let found: Versioned<Dynamic> = table.get("p", "r").await.unwrap();
        assert_eq!(found.value.props, sent.props);
        assert_eq!(found.etag, etag);
        assert_eq!(found.value.timestamp, Some(found.timestamp));
        if let Some(time) = etag.timestamp() {
            assert_eq!(time, found.timestamp);
        }
    }

    /// OP-08: keys with quotes, spaces, percent signs, and all characters with a meaning in URLs.
    async fn keys_of_all_kinds(setting: Setting) {
        let table = setting.table().await;
        let keys = ["", " ", "O'Hare", "''", "a b", "50%", "%20", "a+b", "a&b=c", "\u{e9}\u{1F600}", "(x)", "a,b", ";:@$!*", "~-_.", "\"q\"", "[{|}]", "<>"];
        for (n, key) in keys.iter().enumerate() {
            let n = i32::try_from(n).unwrap();
            table.insert(&person(key, key, n)).await.unwrap_or_else(|error| panic!("{key}: {error}"));
            assert_eq!(age(&table, key, key).await, Some(n), "{key}");
            table.merge(&person(key, key, n + 1)).await.unwrap_or_else(|error| panic!("{key}: {error}"));
            assert_eq!(age(&table, key, key).await, Some(n + 1), "{key}");
            table.delete_entity(*key, *key).await.unwrap_or_else(|error| panic!("{key}: {error}"));
            assert_eq!(age(&table, key, key).await, None, "{key}");
        }
    }

    /// HT-06, LA-06: invalid keys are rejected before anything is sent.
    async fn keys_are_checked_immediately(setting: Setting) {
        let table = setting.table().await;
        for key in ["a/b", "a\\b", "a#b", "a?b", "a\u{1}b", &"x".repeat(1025)] {
            let error = table.insert(&person(key, "r", 1)).await.unwrap_err();
            assert_eq!((error.kind(), error.applied()), (ErrorKind::Input, Applied::No), "{key}");
            assert_eq!(table.get::<Dynamic>("p", key).await.unwrap_err().kind(), ErrorKind::Input, "{key}");
        }
    }

    /// ER-01, ER-03: errors have code, status, message and request id, and say that nothing was applied.
    async fn errors_say_what_happened(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 1)).await.unwrap();
        let error = table.insert(&person("p", "r", 2)).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::EntityAlreadyExists));
        assert_eq!((error.kind(), error.status(), error.applied()), (ErrorKind::Service, Some(409), Applied::No));
        assert!(error.is_conflict() && !error.is_transient() && error.batch_index().is_none());
        assert!(error.request_id().is_some_and(|id| !id.is_empty()));
        assert!(!error.message().is_empty() && !error.message().contains("RequestId"), "{error}");
        assert_eq!(age(&table, "p", "r").await, Some(1));
        let missing = table.get::<Dynamic>("p", "x").await.unwrap_err();
        assert_eq!(missing.code(), Some(ErrorCode::ResourceNotFound));
        assert!(table.try_get::<Dynamic>("p", "x").await.unwrap().is_none());
        assert_eq!(table.update(&person("p", "x", 1)).await.unwrap_err().code(), Some(ErrorCode::ResourceNotFound));
        assert_eq!(table.merge(&person("p", "x", 1)).await.unwrap_err().code(), Some(ErrorCode::ResourceNotFound));
        assert_eq!(table.delete_entity("p", "x").await.unwrap_err().code(), Some(ErrorCode::ResourceNotFound));
    }

    /// OP-17: a missing table is distinguished from a missing entity.
    async fn a_missing_table_is_an_error(setting: Setting) {
        let table = setting.service.table(&setting.table_name("missing")).unwrap();
        let error = table.insert(&person("p", "r", 1)).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::TableNotFound));
        let error = table.try_get::<Dynamic>("p", "r").await.unwrap_err();
        assert!(error.is_not_found(), "{error}");
    }

    /// OP-10 to OP-14, LA-19: replace removes properties that are not sent; merge preserves them.
    async fn replace_removes_and_merge_preserves(setting: Setting) {
        let table = setting.table().await;
        let only = |name: &'static str| Dynamic::new("p", "r").with(name, 1).unwrap();
        let names = async || {
            let found = table.get::<Dynamic>("p", "r").await.unwrap();
            let mut names: Vec<String> = found.value.props.iter().map(|(name, _)| name.to_owned()).collect();
            names.sort();
            names.join(",")
        };
        table.upsert(&only("A")).await.unwrap();
        table.merge(&only("B")).await.unwrap();
        assert_eq!(names().await, "A,B");
        table.upsert_merge(&only("C")).await.unwrap();
        assert_eq!(names().await, "A,B,C");
        table.update(&only("D")).await.unwrap();
        assert_eq!(names().await, "D");
        table.upsert(&only("E")).await.unwrap();
        assert_eq!(names().await, "E");
        table.delete_entity("p", "r").await.unwrap();
        table.upsert_merge(&only("F")).await.unwrap();
        assert_eq!(names().await, "F");
    }

    /// CC-03 to CC-05: the version that was read guards the change.
    async fn versions_guard_changes(setting: Setting) {
        let table = setting.table().await;
        let first = table.insert(&person("p", "r", 1)).await.unwrap();
        let second = table.update_if(&person("p", "r", 2), &first).await.unwrap();
        assert_ne!(first, second);
        for error in [
            table.update_if(&person("p", "r", 3), &first).await.unwrap_err(),
            table.merge_if(&person("p", "r", 3), &first).await.unwrap_err(),
            table.delete_entity_if("p", "r", &first).await.unwrap_err(),
        ] {
            assert!(error.is_precondition_failed(), "{error}");
            assert_eq!((error.code(), error.applied()), (Some(ErrorCode::UpdateConditionNotSatisfied), Applied::No));
        }
        assert_eq!(age(&table, "p", "r").await, Some(2));
        let third = table.merge_if(&person("p", "r", 3), &second).await.unwrap();
        table.delete_entity_if("p", "r", &third).await.unwrap();
        assert_eq!(age(&table, "p", "r").await, None);
    }

    /// A condition on an upsert is rejected immediately.
    async fn upserts_have_no_condition(setting: Setting) {
        let table = setting.table().await;
        let etag = table.insert(&person("p", "r", 1)).await.unwrap();
        for mode in [WriteMode::Insert, WriteMode::UpsertMerge, WriteMode::UpsertReplace] {
            let options = WriteOptions { mode, if_match: Some(etag.clone()) };
            assert_eq!(table.write(&person("p", "r", 2), options).await.unwrap_err().kind(), ErrorKind::Input);
        }
    }

    /// CC-06, CC-09: no concurrent increment is lost; each reads again if another was faster.
    async fn modify_loses_nothing(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 0)).await.unwrap();
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let table = table.clone();
                tokio::spawn(async move {
                    let options = ModifyOptions { attempts_max: 1000, ..ModifyOptions::default() };
                    for _ in 0..5 {
                        let add = |entity: &mut Dynamic| {
                            let age: i32 = entity.get("Age")?.unwrap_or(0);
                            entity.set("Age", age + 1).map(|_| ())
                        };
                        table.modify_with("p", "r", options, add).await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(age(&table, "p", "r").await, Some(20));
    }

    /// CC-09: contention is bounded, and an error of the closure aborts.
    async fn modify_is_bounded(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 0)).await.unwrap();
        let stop = |_: &mut Dynamic| Err(lazuli_client::Error::input("enough"));
        assert_eq!(table.modify("p", "r", stop).await.unwrap_err().message(), "enough");
        assert_eq!(age(&table, "p", "r").await, Some(0));
        let missing = table.modify("p", "x", |_: &mut Dynamic| Ok(())).await.unwrap_err();
        assert!(missing.is_not_found());
    }

    /// CC-09: a change of the keys would change another entity, with this one's version.
    async fn modify_cannot_change_the_keys(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "a", 1)).await.unwrap();
        table.insert(&person("p", "b", 2)).await.unwrap();
        let mut calls = 0;
        let moved = table.modify("p", "a", |entity: &mut Dynamic| {
            calls += 1;
            entity.row_key = "b".into();
            Ok(())
        });
        assert_eq!(moved.await.unwrap_err().kind(), ErrorKind::Input);
        assert_eq!((calls, age(&table, "p", "b").await), (1, Some(2)));
    }

    /// QY-06, QY-07: only selected properties are read; the version is known nevertheless.
    async fn select_in_a_get(setting: Setting) {
        let table = setting.table().await;
        let etag = table.insert(&person("p", "r", 7)).await.unwrap();
        let options = GetOptions { select: vec!["Age".into(), "PartitionKey".into(), "RowKey".into()], ..GetOptions::default() };
        let found: Versioned<Dynamic> = table.get_with("p", "r", &options).await.unwrap();
        assert_eq!(found.etag, etag);
        assert_eq!(found.value.get::<i32>("Age").unwrap(), Some(7));
        assert_eq!(found.value.get::<String>("Name").unwrap(), None);
    }

    /// The secondary returns the data of the primary, and rejects writes.
    async fn reads_of_the_secondary(setting: Setting) {
        let table = setting.table().await;
        table.insert(&person("p", "r", 7)).await.unwrap();
        let options = GetOptions { secondary: true, ..GetOptions::default() };
        let found: Versioned<Dynamic> = table.get_with("p", "r", &options).await.unwrap();
        assert_eq!(found.value.get::<i32>("Age").unwrap(), Some(7));
    }
}

/// An entity that inspects its raw properties when it is decoded.
struct Watched {
    seen: Vec<String>,
}

impl lazuli_client::Entity for Watched {
    fn partition_key(&self) -> std::borrow::Cow<'_, str> {
        "p".into()
    }

    fn row_key(&self) -> std::borrow::Cow<'_, str> {
        "r".into()
    }

    fn write(&self, _: &mut lazuli_client::entity::Writer) -> lazuli_client::Result<()> {
        Ok(())
    }

    fn decode(
        raw: &lazuli_client::decode::RawEntity<'_>,
    ) -> Result<Self, lazuli_client::decode::DecodeError> {
        Ok(Self { seen: raw.members().map(|(name, value)| format!("{name}={value:?}")).collect() })
    }

    fn value_of(&self, _: &str) -> Option<Value> {
        None
    }
}

/// CL-11: a hand-written `decode` sees the properties as received, with their types.
#[test]
fn decoding_sees_the_raw_properties() {
    crate::support::embedded("decoding_sees_the_raw_properties", async |setting: crate::support::Setting| {
        let table = setting.table().await;
        table.insert(&Dynamic::new("p", "r").with("Big", 5_i64).unwrap()).await.unwrap();
        let found: Versioned<Watched> = table.get("p", "r").await.unwrap();
        assert_eq!(found.value.seen, ["Big=Int64(5)"]);
    });
}

/// Extreme numbers and names of all scripts are stored, returned bit for bit, and found by a filter.
#[test]
fn extreme_numbers_and_names() {
    crate::support::on_http("numbers_and_names_at_the_edge", async |setting: crate::support::Setting| {
        let table = setting.table().await;
        let doubles =
            [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0, 1e22, 0.1, 1.0];
        for (row, number) in doubles.into_iter().enumerate() {
            table.insert(&Dynamic::new("d", row.to_string()).with("N", number).unwrap()).await.unwrap();
            let found = table.get::<Dynamic>("d", row.to_string()).await.unwrap().value;
            assert_eq!(
                found.get::<f64>("N").unwrap().map(f64::to_bits),
                Some(number.to_bits()),
                "{number:e}"
            );
            let rows = table.query::<Dynamic>().filter(prop("N").eq(number)).collect().await.unwrap();
            assert!(rows.iter().any(|found| found.row_key == row.to_string()), "{number:e}");
        }
        table.insert(&Dynamic::new("d", "nan").with("N", f64::NAN).unwrap()).await.unwrap();
        let nan = table.get::<Dynamic>("d", "nan").await.unwrap().value.get::<f64>("N").unwrap();
        assert!(nan.is_some_and(f64::is_nan));
        for number in [i64::MIN, i64::MAX, 0, -1, 1 << 53, (1 << 53) + 1] {
            table.upsert(&Dynamic::new("i", "r").with("I", number).unwrap()).await.unwrap();
            let rows = table.query::<Dynamic>().filter(prop("I").eq(number)).collect().await.unwrap();
            assert_eq!(rows[0].get::<i64>("I").unwrap(), Some(number));
        }
        let longest = "n".repeat(255);
        for name in ["_", "é", "名前", "ß_1", "value", "odata", "PartitionKey1", longest.as_str()] {
            let entity = Dynamic::new("n", "r").with(name.to_owned(), 5).unwrap();
            table.upsert(&entity).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            let query = table.query::<Dynamic>().filter(prop(name.to_owned()).eq(5)).select([name]);
            assert_eq!(query.collect().await.unwrap()[0].get::<i32>(name).unwrap(), Some(5), "{name}");
        }
    });
}
