//! Scans: bounds, ranges, order, and the ends of pages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::EngineFactory;
use super::rng::Rng;
use super::support::{
    TABLE, after, at, beside, done, everything, fill, page, place, put, range, row_texts, scan_of, upsert,
};
use crate::types::{Bound, Condition, KeyPosition, KeyRange, Scan, TableId, Verdict};
use crate::{Clock, Error};

/// All pairs of bounds before and after rows, partitions, gaps and prefixes.
pub async fn bounds_of_every_kind(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "a/1 a/2 a/3 ab/1 b/1 b/2 b/ c/9").await;
    fill(engine, TableId(6), "z/z").await;
    fill(engine, TableId(8), "0/0").await;
    for (start, end, expected) in [
        (Bound::Open, Bound::Open, "a/1 a/2 a/3 ab/1 b/ b/1 b/2 c/9"),
        (at("a", "2"), Bound::Open, "a/2 a/3 ab/1 b/ b/1 b/2 c/9"),
        (beside("a", "2"), Bound::Open, "a/3 ab/1 b/ b/1 b/2 c/9"),
        (after("a"), Bound::Open, "ab/1 b/ b/1 b/2 c/9"),
        (after("c"), Bound::Open, ""),
        (after(""), Bound::Open, "a/1 a/2 a/3 ab/1 b/ b/1 b/2 c/9"),
        (Bound::Open, at("a", "2"), "a/1 a/2"),
        (Bound::Open, beside("a", "2"), "a/1"),
        (Bound::Open, after("a"), "a/1 a/2 a/3"),
        (Bound::Open, after(""), ""),
        (Bound::Open, at("", ""), ""),
        (at("a", "1"), at("a", "1"), "a/1"),
        (at("b", ""), at("b", ""), "b/"),
        (at("a", "0"), at("a", "0"), ""),
        (beside("a", "1"), at("a", "2"), "a/2"),
        (beside("a", "1"), beside("a", "2"), ""),
        (at("a", "1"), beside("a", "1"), ""),
        (beside("a", "1"), at("a", "1"), ""),
        (at("a", ""), after("a"), "a/1 a/2 a/3"),
        (beside("b", ""), after("b"), "b/1 b/2"),
        (after("a"), after("b"), "ab/1 b/ b/1 b/2"),
        (after("a"), after("a"), ""),
        (after("a"), at("a", "9"), ""),
        (after("b"), at("a", "1"), ""),
        (at("b", "2"), at("a", "1"), ""),
        (at("b", "2"), beside("b", "1"), ""),
        (at("aa", ""), after("aa"), ""),
        (at("a", "10"), at("a", "25"), "a/2"),
        (at("", ""), at("zzz", "zzz"), "a/1 a/2 a/3 ab/1 b/ b/1 b/2 c/9"),
    ] {
        let context = format!("{start:?} to {end:?}");
        let page = page(engine, scan_of(TABLE, vec![range(start, end)])).await;
        assert_eq!(row_texts(&page.rows), expected, "{context}");
        assert_eq!(page.rows_read, page.rows.len() as u64, "{context}");
        assert_eq!(page.next, None, "{context}");
    }
    assert_eq!(
        row_texts(&page(engine, scan_of(TABLE, vec![KeyRange::partition("a")])).await.rows),
        "a/1 a/2 a/3"
    );
    assert_eq!(page(engine, scan_of(TableId(5), vec![KeyRange::ALL])).await.rows, []);
    assert_eq!(page(engine, scan_of(TABLE, vec![])).await.rows, []);
}

/// Several ranges: points, gaps and whole partitions in one scan, even if a page ends between two.
pub async fn ranges_are_read_in_turn(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "a/1 a/2 a/3 b/1 b/2 c/1 c/2 c/3 d/1").await;
    let ranges = || {
        vec![
            range(at("a", "1"), at("a", "1")),
            range(at("a", "15"), at("a", "15")),
            range(beside("a", "2"), after("a")),
            range(at("b", "9"), beside("b", "0")),
            range(at("c", "2"), at("c", "2")),
            range(at("c", "3"), at("c", "3")),
            range(after("c"), Bound::Open),
        ]
    };
    let expected = "a/1 a/3 c/2 c/3 d/1";
    assert_eq!(row_texts(&page(engine, scan_of(TABLE, ranges())).await.rows), expected);
    for rows_max in 1..6 {
        let mut found = vec![];
        let mut rest = ranges();
        loop {
            let page = page(engine, Scan { rows_max, ..scan_of(TABLE, rest.clone()) }).await;
            assert!(page.rows.len() <= rows_max);
            found.extend(page.rows);
            let Some(next) = page.next else { break };
            rest = resume(&rest, &next);
        }
        assert_eq!(row_texts(&found), expected, "pages of {rows_max}");
    }
    let many = ["a/1", "b/1", "b/2", "c/1", "d/1"];
    let points =
        many.iter().map(|key| key.split_once('/').expect("a slash")).map(|(p, r)| range(at(p, r), at(p, r)));
    assert_eq!(row_texts(&page(engine, scan_of(TABLE, points.collect())).await.rows), many.join(" "));
}

/// The rest of `ranges` from `next` on.
fn resume(ranges: &[KeyRange], next: &KeyPosition) -> Vec<KeyRange> {
    let key = |place: &KeyPosition| (units(&place.partition), units(&place.row));
    let is_over = |range: &KeyRange| match &range.end {
        Bound::Open => false,
        Bound::Included(end) => key(end) < key(next),
        Bound::Excluded(end) => key(end) <= key(next),
        Bound::AfterPartition(partition) => units(partition) < units(&next.partition),
    };
    let mut rest: Vec<KeyRange> = ranges.iter().filter(|range| !is_over(range)).cloned().collect();
    rest[0].start = Bound::Included(next.clone());
    rest
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// Partitions and rows come in the order of their UTF-16 code units.
pub async fn rows_come_in_order_of_utf16(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let pieces = [
        "",
        "\0",
        "\u{1}",
        "A",
        "a",
        "a\0",
        "aa",
        "é",
        "\u{d7ff}",
        "\u{e000}",
        "\u{fffd}",
        "\u{ffff}",
        "\u{10000}",
        "\u{1f600}",
        "\u{10ffff}",
    ];
    let mut expected = BTreeMap::new();
    for partition in pieces {
        let rows: Vec<String> = pieces
            .iter()
            .flat_map(|a| [(*a).to_owned(), format!("{a}\u{10000}"), format!("{a}\u{e000}")])
            .collect();
        for row in &rows {
            expected.insert((units(partition), units(row)), (partition.to_owned(), row.clone()));
        }
        done(engine, TABLE, partition, rows.iter().map(|row| upsert(row, "v")).collect()).await;
    }
    let found: Vec<_> = everything(engine, TABLE)
        .await
        .into_iter()
        .map(|row| (row.partition.into_string(), row.row.into_string()))
        .collect();
    assert_eq!(found, expected.into_values().collect::<Vec<_>>());
}

/// A page has at most `rows_max` rows; its `next` is the row after the last, or `None` at the end.
pub async fn pages_end_by_rows(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "a/1 a/2 b/1").await;
    for (rows_max, expected, next, rows_read) in [
        (0, "", Some(place("a", "1")), 0),
        (1, "a/1", Some(place("a", "2")), 1),
        (2, "a/1 a/2", Some(place("b", "1")), 2),
        (3, "a/1 a/2 b/1", None, 3),
        (4, "a/1 a/2 b/1", None, 3),
    ] {
        let page = page(engine, Scan { rows_max, ..scan_of(TABLE, vec![KeyRange::ALL]) }).await;
        assert_eq!(row_texts(&page.rows), expected);
        assert_eq!((page.next, page.rows_read), (next, rows_read), "{rows_max}");
    }
    // Rows that are not kept do not count, but are read.
    let scan = Scan {
        rows_max: 1,
        judge: Box::new(|row| Ok(if row.row == "2" { Verdict::Keep } else { Verdict::Skip })),
        ..scan_of(TABLE, vec![KeyRange::ALL])
    };
    let page = page(engine, scan).await;
    assert_eq!((&*row_texts(&page.rows), page.next, page.rows_read), ("a/2", Some(place("b", "1")), 2));
}

/// A page ends before its values exceed the limit, but holds at least one row.
pub async fn pages_end_by_bytes(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let writes = [("1", 10), ("2", 10), ("3", 50), ("4", 1)];
    done(engine, TABLE, "p", writes.map(|(row, size)| put(row, Condition::Absent, &"x".repeat(size))).into())
        .await;
    for (bytes_max, start, expected, next) in [
        (0, "", "p/1", Some("2")),
        (19, "", "p/1", Some("2")),
        (20, "", "p/1 p/2", Some("3")),
        (21, "", "p/1 p/2", Some("3")),
        (70, "", "p/1 p/2 p/3", Some("4")),
        (71, "", "p/1 p/2 p/3 p/4", None),
        (20, "3", "p/3", Some("4")),
        (1, "4", "p/4", None),
    ] {
        let scan = Scan { bytes_max, ..scan_of(TABLE, vec![range(at("p", start), after("p"))]) };
        let page = page(engine, scan).await;
        assert_eq!(row_texts(&page.rows), expected, "{bytes_max}");
        assert_eq!(page.next, next.map(|row| place("p", row)), "{bytes_max}");
    }
    // Only returned rows count.
    let scan = Scan {
        bytes_max: 11,
        judge: Box::new(|row| Ok(if row.value.len() == 50 { Verdict::Skip } else { Verdict::Keep })),
        ..scan_of(TABLE, vec![range(at("p", "2"), after("p"))])
    };
    let page = page(engine, scan).await;
    assert_eq!((&*row_texts(&page.rows), page.next), ("p/2 p/4", None));
}

/// The judge sees each row in order, with its key, version and value, and can end the page before any.
pub async fn pages_end_where_the_judge_stops(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "a/1 a/2 a/3").await;
    let rows = everything(engine, TABLE).await;
    let seen = Arc::new(Mutex::new(vec![]));
    let judge = {
        let seen = Arc::clone(&seen);
        move |row: crate::RowView<'_>| {
            let text = (format!("{}/{}", row.partition, row.row), row.version, row.value.to_vec());
            seen.lock().expect("no other thread panicked").push(text);
            Ok(if row.row == "3" { Verdict::Stop } else { Verdict::Keep })
        }
    };
    let page = page(engine, Scan { judge: Box::new(judge), ..scan_of(TABLE, vec![KeyRange::ALL]) }).await;
    assert_eq!((&*row_texts(&page.rows), page.next), ("a/1 a/2", Some(place("a", "3"))));
    assert_eq!(page.rows, rows[..2]);
    let expected: Vec<_> = rows
        .iter()
        .map(|row| (format!("{}/{}", row.partition, row.row), row.version, row.value.to_vec()))
        .collect();
    assert_eq!(*seen.lock().expect("no other thread panicked"), expected);
}

/// A judge may skip to a later partition. An engine that does not support this ends the page there, and the
/// next page skips again. A skip beyond the range ends the page, too.
pub async fn a_judge_may_leap(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    for partition in ["a", "b", "c", "d"] {
        let rows: Vec<_> = (0..50).map(|row| upsert(&format!("{row:02}"), "x")).collect();
        done(engine, TABLE, partition, rows).await;
    }
    let later = || range(at("c", "10"), Bound::Open);
    for (ranges, expected) in [
        (vec![KeyRange::ALL], "a/00 c/00"),
        (vec![range(Bound::Open, after("b"))], "a/00"),
        (vec![range(Bound::Open, at("b", "10")), later()], "a/00 c/10"),
    ] {
        // Twice, since the first scan leaves traces in caches.
        for _ in 0..2 {
            let mut ranges = ranges.clone();
            let mut kept = vec![];
            loop {
                let judge = Box::new(|row: crate::RowView<'_>| {
                    Ok(match (row.partition, row.row) {
                        ("a" | "c", "00") | ("c", "10") => Verdict::Keep,
                        ("a" | "b", _) => Verdict::Leap("c".into()),
                        _ => Verdict::Leap("e".into()),
                    })
                });
                let page = page(engine, Scan { judge, ..scan_of(TABLE, ranges.clone()) }).await;
                kept.extend(page.rows);
                // The engine ended the page instead of skipping, so continue at the target.
                match page.next.as_ref().map(|next| &*next.partition) {
                    None => break,
                    Some("a" | "b") if ranges.len() == 2 => ranges = vec![later()],
                    Some("a" | "b") => ranges[0].start = at("c", ""),
                    Some(_) => ranges = vec![range(at("e", ""), Bound::Open)],
                }
            }
            assert_eq!(row_texts(&kept), expected);
        }
    }
    let judge = Box::new(|row: crate::RowView<'_>| {
        Ok(if row.partition == "a" { Verdict::Keep } else { Verdict::Leap("b".into()) })
    });
    let page = page(engine, Scan { judge, ..scan_of(TABLE, vec![KeyRange::ALL]) }).await;
    assert_eq!((page.rows.len(), page.next), (50, Some(place("b", "00"))));
}

/// An error of a judge becomes the error of the scan.
pub async fn a_judge_may_fail(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "a/1 a/2").await;
    for ranges in [vec![KeyRange::ALL], vec![range(at("a", "2"), at("a", "2"))]] {
        let judge = Box::new(|_: crate::RowView<'_>| Err(Error::Corrupt("not a row".into())));
        let failed = engine.scan(Scan { judge, ..scan_of(TABLE, ranges) }).await;
        assert_eq!(failed, Err(Error::Corrupt("not a row".into())));
    }
}

/// The concatenated pages equal the whole scan, whether rows, bytes, random stops or all of these end a page.
pub async fn paging_misses_and_repeats_nothing(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let mut rng = Rng::new(5);
    for partition in ["", "\0", "a", "aa", "\u{10000}", "\u{ffff}"] {
        let writes =
            (0..40).map(|n| upsert(&format!("{:02}", n * 7 % 40), &"x".repeat(rng.below(30)))).collect();
        done(engine, TABLE, partition, writes).await;
    }
    let all = everything(engine, TABLE).await;
    assert_eq!(all.len(), 240);
    for round in 0..30 {
        let (rows_max, bytes_max) = (1 + rng.below(20), rng.below(200));
        let mut found = vec![];
        let mut start = Bound::Open;
        loop {
            let mut left = 1 + rng.below(20);
            let judge = Box::new(move |_: crate::RowView<'_>| {
                left -= usize::from(left > 0);
                Ok(if left == 0 { Verdict::Stop } else { Verdict::Keep })
            });
            let judge = if round % 2 == 0 { scan_of(TABLE, vec![]).judge } else { judge };
            let ranges = vec![range(start, Bound::Open)];
            let page = page(engine, Scan { table: TABLE, ranges, rows_max, bytes_max, judge }).await;
            found.extend(page.rows);
            match page.next {
                Some(next) => start = Bound::Included(next),
                None => break,
            }
        }
        assert!(found == all, "round {round}: pages of {rows_max} rows and {bytes_max} bytes");
    }
}
