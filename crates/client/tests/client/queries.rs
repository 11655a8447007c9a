//! Typed entities and queries against services, as the unit tests show them with a fake.

use lazuli_client::{
    BulkOptions, DateTime, Dynamic, Entity, Guid, Props, Ref, Table, Versioned, constant, keys, prop, props,
    timestamp,
};

use crate::support::{cases, person};

/// One property of each type.
#[derive(Clone, Debug, PartialEq, Entity)]
#[table(kind = "Sample.All", rename_all = "PascalCase")]
struct All {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: i32,
    text: String,
    flag: bool,
    small: i32,
    big: i64,
    real: f64,
    when: DateTime,
    id: Guid,
    bytes: Vec<u8>,
    absent: Option<i32>,
    #[table(indexed)]
    tags: Vec<String>,
    #[table(json)]
    numbers: Vec<u8>,
    #[table(flatten, prefix = "Next_")]
    next: Option<Ref<All>>,
    #[table(extra)]
    extra: Props,
}

fn all(row: i32) -> All {
    All {
        partition: "it's a \u{1F600} partition".into(),
        row,
        text: "O'Neil & \u{fc}ber %41+ \"quoted\"".into(),
        flag: true,
        small: i32::MIN,
        big: i64::MAX,
        real: 0.1 + 0.2,
        when: DateTime::parse("2008-10-01T10:00:00.1234567Z").unwrap(),
        id: Guid([0xAB; 16]),
        bytes: vec![0, 1, 255],
        absent: None,
        tags: vec!["x".into(), "y".into()],
        numbers: vec![1, 2, 3],
        next: Some(Ref::new("it's a \u{1F600} partition", "")),
        extra: props! { Free: 5 }.unwrap(),
    }
}

async fn fill(table: &Table, rows: i32) {
    let entities = (0..rows).map(|n| person("p", &format!("{n:05}"), n));
    table.write_all(entities, BulkOptions::default(), |_| {}).await.unwrap();
}

cases! {
    /// LA-02, LA-10, LA-21, LA-08: every type is stored, returned, and found by a filter.
    async fn every_type_is_stored_and_found(setting: Setting) {
        let table = setting.table().await;
        for row in [-1, 0, 1] {
            table.insert(&all(row)).await.unwrap();
        }
        let entity = all(0);
        assert_eq!(table.query::<All>().collect().await.unwrap(), [all(-1), all(0), all(1)]);
        for filter in [
            All::text().eq(&entity.text),
            All::flag().eq(true),
            All::small().le(i32::MIN),
            All::big().ge(i64::MAX),
            All::real().eq(0.1 + 0.2),
            All::when().eq(entity.when),
            All::id().eq(entity.id),
            All::bytes().eq(&entity.bytes),
            prop("Tags_1").eq("y"),
            prop("Free").eq(5),
            timestamp().gt(DateTime::STORABLE_MIN),
            constant(true).eq(All::flag()),
            constant(i32::MIN).ge(All::small()),
            constant(4).lt(prop("Free")),
        ] {
            let query = table.query::<All>().filter(All::partition().eq(&entity.partition) & All::row().le(0) & filter);
            let told = query.explain().to_string();
            assert_eq!(query.count().await.unwrap(), 2, "{told}");
        }
    }

    /// PG-18, LA-28: of 1500 rows, the first 1000 take one request, and the next row takes the second.
    async fn pages_are_lazy(setting: Setting) {
        let table = setting.table().await;
        fill(&table, 1500).await;
        let mut rows = table.query::<Dynamic>().stream();
        let requests = |rows: &lazuli_client::Rows<Dynamic>| rows.explain().ran.unwrap().requests;
        assert_eq!(requests(&rows), 0);
        for _ in 0..1000 {
            rows.try_next().await.unwrap().unwrap();
        }
        assert_eq!(requests(&rows), 1);
        rows.try_next().await.unwrap().unwrap();
        assert_eq!(requests(&rows), 2);
        assert_eq!(rows.collect().await.unwrap().len(), 499);
        let last = table.query::<Dynamic>().order_by_desc("Age").take(3).map(|row| row.row_key).collect().await;
        assert_eq!(last.unwrap(), ["01499", "01498", "01497"]);
    }

    /// LA-29: comparing a property with another type finds nothing, and is not an error.
    async fn other_types_find_nothing(setting: Setting) {
        let table = setting.table().await;
        table.insert(&Dynamic::new("Fender", "Twin").with("NoOfSpeakers", 2).unwrap()).await.unwrap();
        let speakers = || prop("NoOfSpeakers");
        for (filter, found) in
            [(speakers().eq(2), 1), (speakers().eq(2.0), 0), (speakers().eq("2"), 0), (speakers().eq(true), 0)]
        {
            let told = filter.to_string();
            assert_eq!(table.query::<Dynamic>().filter(filter).count().await.unwrap(), found, "{told}");
        }
    }

    /// A type with only keys and a timestamp selects exactly these.
    async fn projections_without_properties(setting: Setting) {
        #[derive(Entity)]
        struct Keys {
            #[table(partition_key)]
            _partition: String,
            #[table(row_key)]
            row: String,
        }
        #[derive(Entity)]
        struct Changed {
            #[table(flatten)]
            keys: Keys,
            #[table(timestamp)]
            at: Option<DateTime>,
        }
        let table = setting.table().await;
        fill(&table, 1).await;
        let keys = table.query::<Dynamic>().project::<Keys>();
        assert_eq!(keys.explain().select, ["PartitionKey", "RowKey"]);
        assert_eq!(keys.first().await.unwrap().unwrap().row, "00000");
        let changed = table.query::<Dynamic>().project::<Changed>();
        assert_eq!(changed.explain().select, ["PartitionKey", "RowKey", "Timestamp"]);
        let changed = changed.first().await.unwrap().unwrap();
        assert_eq!(changed.keys.row, "00000");
        assert!(changed.at.is_some());
    }

    /// CC-09: entities are returned with their versions on request.
    async fn versions_are_returned_on_request(setting: Setting) {
        let table = setting.table().await;
        fill(&table, 3).await;
        for found in table.query::<Versioned<Dynamic>>().filter(prop("Age").ge(1)).collect().await.unwrap() {
            let changed = found.value.with("Age", 100).unwrap();
            table.update_if(&changed, &found.etag).await.unwrap();
            assert!(table.update_if(&changed, &found.etag).await.unwrap_err().is_precondition_failed());
        }
        assert_eq!(table.query::<Dynamic>().filter(prop("Age").eq(100)).count().await.unwrap(), 2);
    }

    /// FW-02, FW-03: references are read on demand; a long chain and a cycle are errors.
    async fn references(setting: Setting) {
        let table = setting.table().await;
        let linked = |from: i32, to: Option<i32>| {
            let next = to.map(|to| Ref::new("c", keys::KeyText::to_key(&to)));
            All { partition: "c".into(), next, ..all(from) }
        };
        for (from, to) in [(1, Some(2)), (2, Some(3)), (3, None)] {
            table.insert(&linked(from, to)).await.unwrap();
        }
        let start = || Ref::to(&linked(1, None));
        let next = |entity: &All| entity.next.clone();
        assert_eq!(start().get(&table).await.unwrap().value.next, linked(1, Some(2)).next);
        assert_eq!(start().follow(&table, 3, next).await.unwrap().len(), 3);
        assert!(start().follow(&table, 2, next).await.unwrap_err().message().contains("more than 2"));
        table.update(&linked(3, Some(1))).await.unwrap();
        assert!(start().follow(&table, 9, next).await.unwrap_err().message().contains("cycle"));
    }
}
