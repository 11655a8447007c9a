//! Queries against a table in memory that records requests.

mod brute_force;
mod fake;

use lazuli_model::DateTime;

use super::*;
use crate::dynamic::Dynamic;
use crate::error::{ErrorKind, Result};
use crate::field::{Field, prop, row_key};
use crate::value::class;
use fake::{Fake, now, numbers};

fn values(rows: &[Dynamic]) -> Vec<i32> {
    rows.iter().map(|row| row.get("N").unwrap().unwrap()).collect()
}

/// LA-26, LA-28, PG-18: nothing is sent before the first row is read, and page 2 not before row 1001.
#[test]
fn pages_are_fetched_when_needed() {
    let table = numbers(1500);
    let mut rows = table.query::<Dynamic>().stream();
    assert_eq!(table.requests(), 0);
    for _ in 0..1000 {
        now(rows.try_next()).unwrap().unwrap();
    }
    assert_eq!(table.requests(), 1);
    now(rows.try_next()).unwrap().unwrap();
    assert_eq!(table.requests(), 2);
    assert_eq!(now(rows.collect()).unwrap().len(), 499);
    assert_eq!(table.requests(), 2);
}

/// LA-21, LA-23, LA-24, LA-25: the division between server and client.
#[test]
fn plans() {
    #[track_caller]
    fn check(query: Query<Dynamic>, expected: &str) {
        let plan = query.explain();
        let take = plan.take.map_or(String::new(), |n| format!(" top {n}"));
        let select =
            if plan.select.is_empty() { String::new() } else { format!(" select {}", plan.select.join(",")) };
        let told = format!("{}{take}{select} | {}", plan.filter.unwrap_or_default(), plan.local.join(" | "));
        assert_eq!(told, expected);
    }
    let query = || numbers(0).query::<Dynamic>();
    let (a, b) = (|| prop("A").eq(1), || prop("B").lt(2));
    check(query().filter(a()).filter(b()).take(5), "A eq 1 and B lt 2 top 5 | ");
    check(query().take(5).take(3), " top 3 | ");
    check(query().take(5).filter(a()), " top 5 | filter A eq 1");
    check(query().filter_local(|_| true).take(5), " | filter by a function | take 5");
    check(query().order_by("A").filter(b()).take(5), "B lt 2 | order by A | take 5");
    check(query().order_by("A").take(5).filter(b()), " | order by A | take 5 | filter B lt 2");
    check(query().order_by("A").then_by_desc("B"), " | order by A, then by B descending");
    check(query().distinct_by("A").filter(b()), " | distinct by A | filter B lt 2");
    check(query().select(["A"]).order_by("B"), " select PartitionKey,RowKey,A,B,_Type | order by B");
    check(query().skip(3).take(5), " | skip 3 | take 5");
    let long = (0..600).map(|n| prop("A").eq(n)).reduce(|all, one| all | one).unwrap();
    let told = query().filter(long & b()).explain();
    assert_eq!((told.filter.as_deref(), told.local.len()), (Some("B lt 2"), 1), "too long for the service");
}

/// The description for people.
#[test]
fn explain_prints_a_description() {
    let table = numbers(50);
    let query = table.query::<Dynamic>().filter(prop("Rest").eq(3)).explained().order_by_desc("N").take(2);
    let mut rows = query.stream();
    while now(rows.try_next()).unwrap().is_some() {}
    assert_eq!(
        rows.explain().to_string(),
        "table Fake\non the server:\n  filter Rest eq 3\nin the client, holding at most 100000 rows:\n  order by N descending\n  \
         take 2\n  (every row that matches is read before the first one is returned)\n1 request, 7 rows received; the server read 50 rows (table)\n"
    );
}

/// With one request, one row and one row read, the description uses the singular.
#[test]
fn a_cost_of_one_is_singular() {
    let one = Ran { requests: 1, rows_received: 1, rows_read: Some(1), reading: Some("point".to_owned()) };
    assert_eq!(one.to_string(), "1 request, 1 row received; the server read 1 row (point)");
    assert_eq!(Ran::default().to_string(), "0 requests, 0 rows received");
}

/// LA-23, PG-17: `$top` is as large as needed, and pages have the requested size.
#[test]
fn tops() {
    #[track_caller]
    fn check(query: impl FnOnce(Query<Dynamic>) -> Query<Dynamic>, rows: usize, tops: &[Option<u32>]) {
        let table = numbers(2500);
        assert_eq!(now(query(table.query()).collect()).unwrap().len(), rows);
        let asked: Vec<_> = table.asked.lock().unwrap().iter().map(|request| request.top).collect();
        assert_eq!(asked, tops);
    }
    check(|q| q.take(10), 10, &[Some(10)]);
    check(|q| q.take(1000), 1000, &[None]);
    check(|q| q.take(1200), 1200, &[None, Some(200)]);
    check(|q| q.take(120).page_size(50), 120, &[Some(50), Some(50), Some(20)]);
    check(|q| q.take(0), 0, &[]);
    check(|q| q.skip(1).take(3), 3, &[None]);
    check(|q| q.page_size(1000), 2500, &[Some(1000); 3]);
    check(|q| q, 2500, &[None; 3]);
}

/// PG-15, PG-16: pages with tokens that are strings, resumed by another process.
#[test]
fn pages_are_resumed() {
    let table = numbers(25);
    let query = || table.query::<Dynamic>().filter(prop("Rest").ne(0)).take(17).page_size(6);
    let mut seen = Vec::new();
    let mut stored: Option<String> = None;
    loop {
        let query = match &stored {
            Some(text) => query().resume(&text.parse().unwrap()),
            None => query(),
        };
        let page = now(query.pages().try_next()).unwrap().unwrap();
        seen.extend(values(&page.rows));
        match page.next {
            Some(token) => stored = Some(token.to_string()),
            None => break,
        }
    }
    assert_eq!(seen, (0..25).filter(|n| n % 7 != 0).take(17).collect::<Vec<_>>());
    let token: PageToken = stored.unwrap().parse().unwrap();
    let other = table.query::<Dynamic>().resume(&token);
    assert_eq!(now(other.collect()).unwrap_err().kind(), ErrorKind::Input);
    assert!("1.0.-".parse::<PageToken>().is_err());
    assert!(now(table.query::<Dynamic>().order_by("N").pages().try_next()).is_err());
}

/// A token contains the position at which to continue, not a limit: `take` and sums start counting there.
#[test]
fn take_and_sums_count_after_a_resume() {
    let table = numbers(25);
    let page =
        |query: Query<Dynamic>| now(query.page_size(6).pages().try_next()).unwrap().unwrap().next.unwrap();
    let token = page(table.query());
    let rest = || table.query::<Dynamic>().resume(&token);
    assert_eq!(values(&now(rest().collect()).unwrap()), (6..25).collect::<Vec<_>>());
    assert_eq!(values(&now(rest().take(5).collect()).unwrap()), [6, 7, 8, 9, 10]);
    assert_eq!(now(rest().count()).unwrap(), 19);
    assert_eq!(now(rest().take(5).count()).unwrap(), 5);
    assert_eq!(now(rest().take(3).sum(Field::<class::Int32>::new("N"))).unwrap(), 6 + 7 + 8);
    let token = page(table.query().take(10));
    assert_eq!(values(&now(table.query().take(10).resume(&token).collect()).unwrap()), [6, 7, 8, 9]);
    assert_eq!(values(&now(table.query().take(2).resume(&token).collect()).unwrap()), [6, 7]);
}

/// Stages in the client see only what the type stores: using another property is an error, instead of treating it as
/// absent from every row.
#[test]
fn the_client_cannot_evaluate_properties_without_a_field() {
    #[derive(Debug, crate::Entity)]
    struct Narrow {
        #[table(partition_key)]
        _partition: String,
        #[table(row_key)]
        _row: String,
        #[table(rename = "N")]
        _n: i32,
    }
    let table = numbers(25);
    let query = || table.query::<Narrow>();
    let rest = || prop("Rest").eq(3);
    let rejected =
        |query: Query<Narrow>| assert_eq!(now(query.collect()).unwrap_err().kind(), ErrorKind::Input);
    assert_eq!(now(query().filter(rest()).collect()).unwrap().len(), 4, "the server sees all properties");
    rejected(query().take(9).filter(rest()));
    rejected(query().order_by("Rest"));
    rejected(query().order_by("N").then_by("Rest"));
    rejected(query().distinct_by("Rest"));
    rejected(query().order_by(crate::timestamp()));
    let number = |name| Field::<class::Int32>::new(name);
    let sum = now(query().filter_local(|_| true).sum(number("Rest")));
    assert_eq!(sum.unwrap_err().kind(), ErrorKind::Input);
    assert_eq!(table.requests(), 1);
    let selected = table.query::<Dynamic>().select(["Rest"]).filter_local(|_| true);
    assert_eq!(now(selected.max(number("N"))).unwrap(), Some(24), "the needed property is selected");
    for seen in ["N", "PartitionKey", "RowKey"] {
        assert_eq!(now(query().order_by(seen).collect()).unwrap().len(), 25, "{seen}");
    }
    assert_eq!(now(table.query::<Dynamic>().take(9).filter(rest()).collect()).unwrap().len(), 1);
    let versioned = table.query::<crate::Versioned<Narrow>>();
    assert!(versioned.order_by(crate::timestamp()).rejected.is_none(), "a version includes its timestamp");
}

/// LA-30: exceeding the limit is an error with its own kind.
#[test]
fn local_limit() {
    let table = numbers(50);
    let limited = || table.query::<Dynamic>().local_limit(20);
    let kind = |result: Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(now(limited().order_by("N").collect()).map(drop)), ErrorKind::LocalLimit);
    assert_eq!(kind(now(limited().distinct_by("N").collect()).map(drop)), ErrorKind::LocalLimit);
    assert_eq!(kind(now(limited().group_by(|_| 0)).map(drop)), ErrorKind::LocalLimit);
    assert_eq!(
        kind(now(limited().map(|row| row.row_key).distinct().collect()).map(drop)),
        ErrorKind::LocalLimit
    );
    assert_eq!(now(limited().distinct_by("Rest").collect()).unwrap().len(), 7);
    assert_eq!(
        now(limited().take(20).order_by_desc("N").first()).unwrap().unwrap().get("N").unwrap(),
        Some(19)
    );
}

/// LA-24, LA-27: single results request only what they need.
#[test]
fn aggregates() {
    let table = numbers(50);
    let n = || Field::<class::Int32>::new("N");
    let query = || table.query::<Dynamic>().filter(prop("Rest").eq(3));
    assert_eq!(now(query().count()).unwrap(), 7);
    assert_eq!(now(query().sum(n())).unwrap(), 3 + 10 + 17 + 24 + 31 + 38 + 45);
    assert_eq!(now(query().avg(n())).unwrap(), Some(24.0));
    assert_eq!(now(query().min(n())).unwrap(), Some(3));
    assert_eq!(now(query().max(n())).unwrap(), Some(45));
    assert_eq!(now(query().max(Field::<class::Text>::new("N"))).unwrap(), None, "no row has it as a string");
    let none = || query().filter(prop("N").lt(0));
    assert_eq!((now(none().sum(n())).unwrap(), now(none().avg(n())).unwrap()), (0, None), "no rows");
    assert_eq!((now(none().min(n())).unwrap(), now(none().max(n())).unwrap()), (None, None));
    assert_eq!(now(query().filter_local(|row| row.row_key.ends_with('0')).sum(n())).unwrap(), 10);
    assert!(table.asked.lock().unwrap().iter().take(6).all(|request| !request.select.is_empty()));
    let most = Fake::new(vec![Dynamic::new("p", "1").with("I", i64::MAX).unwrap(); 2]);
    let sum = now(most.query::<Dynamic>().sum(Field::<class::Int64>::new("I")));
    assert_eq!(sum.unwrap_err().kind(), ErrorKind::Input, "an overflow does not wrap around");
    let groups = now(query().group_by(|row| row.get::<i32>("N").unwrap().unwrap() % 2)).unwrap();
    assert_eq!(groups.iter().map(|(key, rows)| (*key, rows.len())).collect::<Vec<_>>(), [(1, 4), (0, 3)]);
    let rests = table.query::<Dynamic>().map(|row| row.get::<i32>("Rest").unwrap()).distinct();
    assert_eq!(now(rests.order_by_key(|rest| *rest).collect()).unwrap().len(), 7);
}

/// An invalid name is an error of the query, not a panic.
#[test]
fn invalid_names_are_errors_when_run() {
    let table = numbers(1);
    for name in ["a-b", "not", ""] {
        let error = now(table.query::<Dynamic>().filter(prop(name).eq(1)).collect()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
    }
    // As one name these would be two, or none.
    for name in ["N,Rest", "a b", ""] {
        for query in [table.query::<Dynamic>().select([name]), table.query::<Dynamic>().distinct_by(name)] {
            assert_eq!(now(query.collect()).unwrap_err().kind(), ErrorKind::Input, "{name}");
        }
    }
    assert_eq!(table.requests(), 0);
}

/// A condition that is always true is dropped, even inside another one: no service supports `true or A eq 1`.
#[test]
fn conditions_that_always_hold_are_not_sent() {
    let filter = |filter: Filter| numbers(0).query::<Dynamic>().filter(filter).explain().filter;
    assert_eq!(filter(Filter::all()), None);
    assert_eq!(filter(Filter::all() | prop("A").eq(1)), None);
    assert_eq!(filter(prop("A").eq(1) | Filter::all()), None);
    assert_eq!(filter((Filter::all() | prop("A").eq(1)) & prop("B").eq(2)).as_deref(), Some("B eq 2"));
}

/// LA-22: the constants of a filter are evaluated when it is built.
#[test]
fn captured_values_are_evaluated_once() {
    let mut limit = 10;
    let query = numbers(50).query::<Dynamic>().filter(prop("N").lt(limit));
    limit += 5;
    assert_eq!(now(query.count()).unwrap(), 10);
    assert_eq!(limit, 15);
}

/// A stream can be sent to another task.
#[test]
fn streams_are_send() {
    fn is_send<T: Send>(_: &T) {}
    let query = numbers(1).query::<Dynamic>().order_by("N").map(|row| row.row_key);
    is_send(&query);
    is_send(&query.stream());
}

/// The kind of a type is a condition of its queries, and `any_kind` removes it (LA-14, LA-15).
#[test]
fn kinds_are_ranges() {
    #[derive(Debug, crate::Entity)]
    #[table(kind = "Product")]
    struct Product {
        #[table(partition_key)]
        brand: String,
        #[table(row_key)]
        number: String,
        price: i32,
    }
    let row = |number: &str, kind: Option<&str>| {
        Dynamic::new("b", number)
            .with("price", 5)
            .unwrap()
            .with("_Type", kind.map(ToOwned::to_owned))
            .unwrap()
    };
    let table = Fake::new(vec![
        row("1", Some("Entity/Product/")),
        row("2", Some("Entity/Product/Guitar/")),
        row("3", Some("Entity/Productive/")),
        row("4", None),
    ]);
    let numbers = |rows: Vec<Product>| rows.into_iter().map(|row| row.number).collect::<String>();
    assert_eq!(numbers(now(table.query().collect()).unwrap()), "12");
    assert_eq!(numbers(now(table.query().any_kind().collect()).unwrap()), "1234");
    let one =
        now(table.query::<Product>().filter(Product::price().eq(5) & row_key().gt("1")).first()).unwrap();
    assert_eq!(one.map(|row| (row.brand, row.price)), Some(("b".to_owned(), 5)));
    assert_eq!(DateTime::MIN.ticks(), 0);
}
