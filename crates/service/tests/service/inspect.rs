//! Checks of every row: they find damage, and accept everything that the service itself has written.

use bytes::Bytes;
use lazuli_engine::{Marks, RowView, TableId, Version};
use lazuli_service::inspect::{Findings, Inspector};

const MARKS: Marks = Marks { last_version: Version(100), last_table: TableId(9) };

/// A row: table id, partition, row, version, value.
type Line<'a> = (u64, &'a str, &'a str, u64, Bytes);

fn look(rows: &[Line<'_>]) -> Findings {
    let mut inspector = Inspector::new(MARKS);
    for (table, partition, row, version, value) in rows {
        let version = Version(*version);
        inspector.see(TableId(*table), RowView { partition, row, version, value });
    }
    inspector.finish()
}

#[track_caller]
fn check(rows: &[Line<'_>], wanted: &str) {
    let found = look(rows);
    assert!(found.examples.iter().any(|example| example.contains(wanted)), "{wanted}: {found:?}");
}

/// A live table's record: format, id, length of the name, name.
fn table(id: u64, name: &str) -> Bytes {
    let length = u16::try_from(name.len()).unwrap();
    [&[1][..], &id.to_le_bytes(), &length.to_le_bytes(), name.as_bytes()].concat().into()
}

fn dropped(id: u64) -> Bytes {
    [&[1][..], &id.to_le_bytes(), &5_u64.to_le_bytes()].concat().into()
}

/// An entity without properties.
fn entity() -> Bytes {
    Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0])
}

#[test]
fn intact_rows_have_no_findings() {
    let row = "d/00000000000000000002";
    let found = look(&[
        (0, "tables/dev", "b/old", 1, dropped(2)),
        (0, "tables/dev", row, 1, dropped(2)),
        (0, "tables/dev", "n/people", 2, table(3, "People")),
        (2, "left", "over", 1, Bytes::from_static(b"whatever")),
        (3, "", "", 100, entity()),
    ]);
    let wanted = Findings { tables: 1, entities: 1, pending: 1, ..Findings::default() };
    assert_eq!(found, wanted);
}

/// Once the metrics were switched on, every store and every backup was reported as damaged.
#[test]
fn tables_of_the_metrics_are_tables() {
    let found = look(&[
        (
            0,
            "tables/dev",
            "n/$metricshourprimarytransactionstable",
            2,
            table(3, "$MetricsHourPrimaryTransactionsTable"),
        ),
        (3, "20260101T0000", "user;All", 3, entity()),
    ]);
    assert_eq!(found, Findings { tables: 1, entities: 1, ..Findings::default() });
    check(&[(0, "tables/dev", "n/$other", 2, table(3, "$Other"))], "does not match its key");
}

/// A problem with a table's record is not reported again for its rows.
#[test]
fn a_wrong_record_does_not_make_its_rows_unreachable() {
    let found = look(&[(0, "tables/dev", "n/people", 2, table(3, "Others")), (3, "p", "r", 3, entity())]);
    assert_eq!((found.findings, found.entities), (1, 1), "{found:?}");
}

#[test]
fn damaged_rows_are_found() {
    let people = || (0, "tables/dev", "n/people", 2, table(3, "People"));
    check(&[(0, "tables/dev", "n/people", 2, table(3, "Others"))], "does not match its key");
    check(&[(0, "tables/dev", "n/people", 2, table(10, "People"))], "never assigned");
    check(&[people(), (0, "tables/dev", "n/other", 2, table(3, "Other"))], "two tables have one id");
    check(&[(0, "tables/dev", "d/00000000000000000003", 1, dropped(3)), people()], "both live and deleted");
    check(&[(0, "tables/dev", "d/00000000000000000004", 1, dropped(3))], "does not match its key");
    check(&[(0, "tables/dev", "x/people", 1, dropped(3))], "unknown kind");
    check(&[(0, "tables/dev", "n/people", 2, Bytes::from_static(b"\x09"))], "catalog record");
    check(&[(0, "accounts", "dev", 2, Bytes::from_static(b"\x09"))], "catalog record");
    check(&[(0, "properties", "dev/table", 2, Bytes::from_static(b"\x09"))], "catalog record");
    check(&[(0, "elsewhere", "", 2, Bytes::new())], "unknown kind");
    check(&[(4, "p", "r", 1, entity())], "unreachable");
    check(&[people(), (3, "p", "r", 101, entity())], "higher than the last one assigned");
    check(&[people(), (3, "p/q", "r", 1, entity())], "not valid for clients");
    check(&[people(), (3, "p", &"x".repeat(1025), 1, entity())], "not valid for clients");
    check(&[people(), (3, "p", "r", 1, Bytes::from_static(b"\x02"))], "stored row");
    check(&[people(), (3, "p", "r", 1, Bytes::from_static(&[1, 1, 0, 0, 0, 0, 0]))], "stored row");
}

#[test]
fn a_stray_table_is_reported_once() {
    let rows: Vec<Line<'_>> = (0..50).map(|_| (4, "p", "r", 1, entity())).collect();
    assert_eq!(look(&rows).findings, 1);
}

/// A live queue's record is that of a table.
#[test]
fn rows_of_queues() {
    let jobs = || (0, "queues/dev", "n/jobs", 2, table(3, "jobs"));
    let message = |text: &str| Bytes::from([&[1_u8][..], &[9; 44], text.as_bytes()].concat());
    let key = format!("v/{:020}/{:020}", 5, 5);
    let count = Bytes::copy_from_slice(&1_i64.to_le_bytes());
    let found = look(&[
        jobs(),
        (3, "m", "c/05", 3, count.clone()),
        (3, "m", "t", 3, count.clone()),
        (3, "m", &key, 3, message("hello")),
    ]);
    assert_eq!(found, Findings { queues: 1, messages: 1, ..Findings::default() });
    for (partition, row, value, wanted) in [
        ("n", key.as_str(), message(""), "unknown kind"),
        ("m", "v/5/5/5", message(""), "unknown kind"),
        ("m", "z", message(""), "unknown kind"),
        ("m", "c/16", count, "unknown kind"),
        ("m", "c/05", Bytes::new(), "in a format that this version cannot read"),
        ("m", &key, Bytes::from_static(b"\x09"), "in a format that this version cannot read"),
        ("m", &key, message(&"x".repeat(65_537)), "too long"),
        ("m", "x/1/2", Bytes::new(), "catalog record"),
        ("m", "y/1/2", Bytes::from_static(b"1"), "unknown kind"),
    ] {
        check(&[jobs(), (3, partition, row, 1, value)], wanted);
    }
}
