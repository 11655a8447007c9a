//! Every permission against every operation, by tokens of accounts and of tables; ranges of keys; batches.

use lazuli_model::error::Origin;
use lazuli_model::table::operation::{Match, TableQuery};
use lazuli_model::{Failure, Permissions};
use lazuli_service::access::table::{AnnouncedOperation, authorize, authorize_announced, authorize_batch};
use lazuli_service::{RangeEnds, Scope, SignedPart};

use super::*;

fn change(kind: &str) -> EntityChange {
    let some = || properties(&[("Age", 1)]);
    match kind {
        "insert" => EntityChange::Insert(some()),
        "replace" => EntityChange::Replace(some(), Match::Any),
        "merge" => EntityChange::Merge(some(), Match::Any),
        "insert or replace" => EntityChange::InsertOrReplace(some()),
        "insert or merge" => EntityChange::InsertOrMerge(some()),
        "delete" => EntityChange::Delete(Match::Any),
        other => panic!("{other}"),
    }
}

fn write(kind: &str, keys: (&str, &str)) -> EntityWrite {
    EntityWrite { key: key(keys), change: change(kind) }
}

fn operation(kind: &str, name: &str) -> Operation {
    match kind {
        "query tables" => Operation::QueryTables(TableQuery::default()),
        "get table" => Operation::GetTable(table(name)),
        "create table" => Operation::CreateTable(table(name)),
        "delete table" => Operation::DeleteTable(table(name)),
        "get" => Operation::GetEntity { table: table(name), key: key(("p", "r")) },
        "query" => Operation::QueryEntities { table: table(name), query: EntityQuery::default() },
        "get acl" => Operation::GetAcl(table(name)),
        "set acl" => Operation::SetAcl(table(name), Vec::new()),
        "get properties" => Operation::GetProperties,
        "set properties" => Operation::SetProperties(Box::default()),
        "get stats" => Operation::GetStats,
        write_kind => Operation::Write { table: table(name), write: write(write_kind, ("p", "r")) },
    }
}

/// Operation, kind of resource, and sets of permission letters, one of which is needed. No resource: only with a key.
const OPERATIONS: [(&str, &str, &[&str]); 17] = [
    ("query tables", "c", &["l"]),
    ("get table", "c", &["l"]),
    ("create table", "c", &["c", "w"]),
    ("delete table", "c", &["d"]),
    ("get", "o", &["r"]),
    ("query", "o", &["r"]),
    ("insert", "o", &["a"]),
    ("replace", "o", &["u"]),
    ("merge", "o", &["u"]),
    ("insert or replace", "o", &["au"]),
    ("insert or merge", "o", &["au"]),
    ("delete", "o", &["d"]),
    ("get properties", "s", &["r"]),
    ("get stats", "s", &["r"]),
    ("set properties", "s", &["w"]),
    ("get acl", "", &[]),
    ("set acl", "", &[]),
];

fn subsets(letters: &str) -> Vec<String> {
    let letters: Vec<char> = letters.chars().collect();
    (0..1_u32 << letters.len())
        .map(|set| letters.iter().enumerate().filter(|(at, _)| set & 1 << at != 0).map(|(_, c)| *c).collect())
        .collect()
}

fn has(set: &str, letters: &str) -> bool {
    letters.chars().all(|letter| set.contains(letter))
}

fn with_scope(scope: Scope) -> Grant {
    Grant { scope, ..Grant::everything("acct") }
}

fn of_account(resources: &str, permissions: &str) -> Grant {
    with_scope(Scope::Account {
        resources: Permissions::of(resources),
        permissions: Permissions::of(permissions),
    })
}

fn of_table(name: &str, permissions: &str, ends: RangeEnds<'_>) -> Grant {
    with_scope(Scope::Resource {
        service: lazuli_model::Service::Table,
        name: name.to_lowercase(),
        permissions: Permissions::of(permissions),
        part: SignedPart::Entities(ends.window()),
    })
}

/// The result of authorising an operation. The check of its head alone gives the same result. Without the key, the check
/// of the head is never stricter, and the check of the body gives that result.
fn verdict(grant: &Grant, operation: &Operation) -> Result<(), ErrorCode> {
    let verdict = authorize(grant, operation).map_err(|failure| failure.code);
    let (table, key) = match operation {
        Operation::Write { table, write } => (Some(table), Some(&write.key)),
        Operation::GetEntity { table, .. } | Operation::QueryEntities { table, .. } => (Some(table), None),
        _ => (None, None),
    };
    let announced = AnnouncedOperation { kind: operation.kind(), table, key };
    let early = authorize_announced(grant, &announced).map(drop).map_err(|failure| failure.code);
    assert_eq!(early, verdict, "{announced:?}");
    let keyless = authorize_announced(grant, &AnnouncedOperation { key: None, ..announced });
    assert!(keyless.is_ok() || verdict.is_err(), "{announced:?}");
    let late = keyless.and_then(|head| head.with_body(operation.clone()).map(drop));
    assert_eq!(late.map_err(|failure| failure.code), verdict, "{announced:?}");
    verdict
}

/// Every set of letters and every set of kinds against every operation.
#[test]
fn tokens_of_accounts() {
    let mut cases = 0;
    for (kind, resource, needed) in OPERATIONS {
        for resources in subsets("sco") {
            for permissions in subsets("rwdlacup") {
                let expected = if resource.is_empty() {
                    Err(ErrorCode::AuthorizationFailure)
                } else if !resources.contains(resource) {
                    Err(ErrorCode::AuthorizationResourceTypeMismatch)
                } else if needed.iter().any(|letters| has(&permissions, letters)) {
                    Ok(())
                } else {
                    Err(ErrorCode::AuthorizationPermissionMismatch)
                };
                let found = verdict(&of_account(&resources, &permissions), &operation(kind, "Data"));
                assert_eq!(found, expected, "{kind} srt={resources} sp={permissions}");
                cases += 1;
            }
        }
    }
    assert!(cases > 30_000, "{cases}");
}

/// A batch is read only if the grant permits at least one possible operation.
#[test]
fn batches_are_announced() {
    let code = |grant: &Grant| authorize_batch(grant).map_err(|failure| failure.code);
    let in_batches: Vec<_> = OPERATIONS.into_iter().filter(|(_, resource, _)| *resource == "o").collect();
    for permissions in subsets("rwdlacup") {
        let table = of_table("Data", &permissions, RangeEnds::default());
        let accounts = subsets("sco").into_iter().map(|resources| of_account(&resources, &permissions));
        for grant in accounts.chain([table]) {
            let allowed =
                in_batches.iter().any(|(kind, ..)| verdict(&grant, &operation(kind, "Data")).is_ok());
            assert_eq!((code(&grant).is_ok(), grant.reaches_entities()), (allowed, allowed), "{grant:?}");
        }
    }
    assert_eq!(code(&of_account("s", "raud")), Err(ErrorCode::AuthorizationResourceTypeMismatch));
    assert_eq!(code(&of_account("o", "l")), Err(ErrorCode::AuthorizationPermissionMismatch));
    assert_eq!(code(&Grant::everything("acct")), Ok(()));
}

/// SA-02, SA-03, SA-06. A token of a table is valid only for the entities of that table.
#[test]
fn tokens_of_tables() {
    for (kind, resource, needed) in OPERATIONS {
        for permissions in subsets("raud") {
            let expected = match resource {
                "o" if needed.iter().any(|letters| has(&permissions, letters)) => Ok(()),
                "o" => Err(ErrorCode::AuthorizationPermissionMismatch),
                _ => Err(ErrorCode::AuthorizationFailure),
            };
            let grant = of_table("dATA", &permissions, RangeEnds::default());
            assert_eq!(verdict(&grant, &operation(kind, "Data")), expected, "{kind} sp={permissions}");
            let other = verdict(&grant, &operation(kind, "Other"));
            assert_eq!(other, Err(ErrorCode::AuthorizationFailure), "{kind} sp={permissions}");
        }
        assert_eq!(verdict(&Grant::everything("acct"), &operation(kind, "Data")), Ok(()), "{kind}");
    }
    let grant = of_table("data", "raud", RangeEnds::default());
    assert!(grant.covers(&table("DATA")) && !grant.covers(&table("Data2")));
}

/// Before 2015-04-05 missing permissions are reported as a missing resource.
#[test]
fn old_versions_hide_rejections() {
    let hiding = |grant: Grant| Grant { hides_rejections: true, ..grant };
    let missing = Err(ErrorCode::ResourceNotFound);
    let reader = hiding(of_table("Data", "r", RangeEnds { first: ("q", ""), last: ("", "") }));
    assert_eq!(verdict(&reader, &operation("query", "Data")), Ok(()));
    assert_eq!(verdict(&reader, &operation("insert", "Data")), missing);
    assert_eq!(verdict(&reader, &operation("query", "Other")), missing);
    let writer = hiding(of_table("Data", "a", RangeEnds { first: ("q", ""), last: ("", "") }));
    assert_eq!(verdict(&writer, &operation("insert", "Data")), missing);
}

/// SA-04: the entities in the key range of a signature.
#[test]
fn ranges() {
    let ends = |spk, srk, epk, erk| RangeEnds { first: (spk, srk), last: (epk, erk) };
    for (ends, inside, outside) in [
        (ends("", "", "", ""), "a/1 b/2 c/3", ""),
        (ends("b", "", "", ""), "b/ b/1 b/2 c/1", "a/1 a/9 B/1"),
        (ends("", "", "b", ""), "a/1 b/ b/9 B/1", "b0/1 c/1"),
        (ends("b", "", "b", ""), "b/ b/1 b/9", "a/9 b0/ c/1"),
        (ends("b", "2", "", ""), "b/2 b/3 c/1 b0/1", "b/1 b/ a/9"),
        (ends("", "", "b", "2"), "b/1 b/2 b/ a/9", "b/3 c/1 b0/1 b/20"),
        (ends("a", "2", "b", "2"), "a/2 a/9 aa/1 b/1 b/2", "a/1 b/3 c/1"),
        (ends("b", "2", "b", "2"), "b/2", "b/1 b/3 b/20 a/2"),
        (ends("b", "", "a", ""), "", "a/1 b/1 aa/1"),
        (ends("b", "", "c", "5"), "b/1 bb/9 c/5 c/1", "c/6 a/1"),
        (ends("\u{e000}", "", "", ""), "\u{e000}/1 \u{ffff}/1", "\u{10000}/1 z/1"),
    ] {
        let grant = of_table("Data", "raud", ends);
        for (keys, allowed) in [(inside, true), (outside, false)] {
            for keys in keys.split_whitespace() {
                let keys = keys.split_once('/').unwrap();
                for kind in ["insert", "replace", "merge", "insert or replace", "insert or merge", "delete"] {
                    let operation = Operation::Write { table: table("Data"), write: write(kind, keys) };
                    let expected = if allowed { Ok(()) } else { Err(ErrorCode::AuthorizationFailure) };
                    assert_eq!(verdict(&grant, &operation), expected, "{ends:?} {keys:?} {kind}");
                }
            }
        }
    }
}

fn batch(writes: &[(&str, (&str, &str))]) -> Operation {
    let writes = writes.iter().map(|(kind, keys)| write(kind, *keys)).collect();
    Operation::Batch { table: table("Data"), writes }
}

/// Each operation of a batch is checked, and the first that is not allowed is named.
#[test]
fn batches() {
    let rejected = |grant: &Grant, operation: &Operation| {
        authorize(grant, operation).map_err(|Failure { code, index, .. }| (code, index))
    };
    let adder = of_table("Data", "a", RangeEnds { first: ("p", "2"), last: ("p", "5") });
    let mismatch = ErrorCode::AuthorizationPermissionMismatch;
    for (writes, expected) in [
        (&[("insert", ("p", "2")), ("insert", ("p", "5"))][..], Ok(())),
        (&[("insert", ("p", "2")), ("delete", ("p", "3"))], Err((mismatch, Some(1)))),
        (&[("merge", ("p", "2"))], Err((mismatch, Some(0)))),
        (
            &[("insert", ("p", "2")), ("insert", ("p", "3")), ("insert", ("p", "6"))],
            Err((ErrorCode::AuthorizationFailure, Some(2))),
        ),
    ] {
        assert_eq!(rejected(&adder, &batch(writes)), expected, "{writes:?}");
    }
    let both = batch(&[("insert", ("p", "1")), ("insert or merge", ("p", "2"))]);
    assert_eq!(rejected(&of_account("o", "au"), &both), Ok(()));
    assert_eq!(rejected(&of_account("o", "a"), &both), Err((mismatch, Some(1))));
    let kind = ErrorCode::AuthorizationResourceTypeMismatch;
    assert_eq!(rejected(&of_account("sc", "au"), &both), Err((kind, Some(0))));
}

/// Recorded: missing permissions are reported by the front end, a wrong range by the operation.
#[test]
fn where_rejections_come_from() {
    let grant = of_table("Data", "a", RangeEnds { first: ("q", ""), last: ("", "") });
    let origin = |kind| authorize(&grant, &operation(kind, "Data")).unwrap_err().origin;
    let secondary = Grant { read_only: true, ..Grant::everything("acct") };
    assert_eq!(verdict(&secondary, &operation("query", "Data")), Ok(()));
    for kind in ["insert", "set properties", "set acl", "delete table"] {
        let rejected = Err(ErrorCode::InsufficientAccountPermissions);
        assert_eq!(verdict(&secondary, &operation(kind, "Data")), rejected, "{kind}");
    }
    assert_eq!(origin("delete"), Origin::FrontEnd);
    assert_eq!(origin("insert"), Origin::Operation);
}

/// SA-04: a query returns only entities in the range, also page by page; others cannot be read.
#[tokio::test]
async fn reads_are_narrowed() {
    let world = World::new();
    world.create("Data").await.unwrap();
    for partition in ["a", "b", "c"] {
        for row in ["1", "2", "3"] {
            world.insert("Data", (partition, row), 1).await.unwrap();
        }
    }
    let page = async |ends: RangeEnds<'_>, filter: &str, top| {
        let filter = lazuli_filter::parse_optional(filter, Schema::Entity).unwrap();
        let mut query = EntityQuery { filter, top, ..EntityQuery::default() };
        let mut found = String::new();
        loop {
            let operation = Operation::QueryEntities { table: table("Data"), query: query.clone() };
            let outcome = world.service.execute_table(&of_table("Data", "r", ends), operation).await.unwrap();
            let Outcome::Page(page) = outcome else { panic!("{outcome:?}") };
            found.push_str(&keys(&page));
            match page.next {
                Some(next) => query.from = Some(next),
                None => return found,
            }
        }
    };
    let from_a3_to_b1 = RangeEnds { first: ("a", "3"), last: ("b", "1") };
    let only_b = RangeEnds { first: ("b", ""), last: ("b", "") };
    for top in [None, Some(1)] {
        assert_eq!(page(from_a3_to_b1, "", top).await, "a/3 b/1 ");
        assert_eq!(page(only_b, "", top).await, "b/1 b/2 b/3 ");
        assert_eq!(page(only_b, "RowKey eq '2'", top).await, "b/2 ");
        assert_eq!(
            page(only_b, "PartitionKey eq 'a' or PartitionKey eq 'b' and RowKey lt '2'", top).await,
            "b/1 "
        );
        assert_eq!(page(only_b, "PartitionKey eq 'a'", top).await, "");
        assert_eq!(page(only_b, "not (PartitionKey eq 'b')", top).await, "");
    }
    let get = async |keys| {
        let operation = Operation::GetEntity { table: table("Data"), key: key(keys) };
        let grant = of_table("Data", "r", from_a3_to_b1);
        world.service.execute_table(&grant, operation).await.map_err(|error| error.failure().code)
    };
    assert!(get(("a", "3")).await.is_ok());
    assert_eq!(get(("a", "2")).await, Err(ErrorCode::ResourceNotFound));
    assert_eq!(get(("b", "2")).await, Err(ErrorCode::ResourceNotFound));
}
