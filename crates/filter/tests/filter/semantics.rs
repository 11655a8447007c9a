//! Which entities a filter matches.

use lazuli_filter::{Matcher, Schema, TableRow, matches, parse};
use lazuli_model::{DateTime, Guid, Value};

use crate::entity::Entity;

#[track_caller]
fn check(filter: &str, entity: &Entity, wanted: bool) {
    let filter_read = parse(filter, Schema::Entity).unwrap();
    let packed = entity.pack();
    let row = entity.view(&packed);
    assert_eq!(matches(&filter_read, &row), Ok(wanted), "{filter}");
    assert_eq!(Matcher::new(Some(&filter_read)).matches(&row), Ok(wanted), "{filter}");
}

/// Checks `A eq literal`, its negation, and every other operator against one stored value.
#[track_caller]
fn check_order(stored: &Value, literal: &str, holding: &[&str]) {
    let entity = Entity::with(&[("Before", Value::Int32(0)), ("A", stored.clone())]);
    for operator in ["eq", "ne", "gt", "ge", "lt", "le"] {
        let wanted = holding.contains(&operator);
        check(&format!("A {operator} {literal}"), &entity, wanted);
        check(&format!("not (A {operator} {literal})"), &entity, !wanted && !holding.is_empty());
    }
}

const LESS: &[&str] = &["ne", "lt", "le"];
const EQUAL: &[&str] = &["eq", "ge", "le"];
const GREATER: &[&str] = &["ne", "gt", "ge"];
/// A mismatch is neither true nor false, and neither is its negation.
const MISMATCH: &[&str] = &[];

fn text(text: &str) -> Value {
    Value::String(text.into())
}

/// QY-20.
#[test]
fn orders_of_the_types() {
    check_order(&text("b"), "'a'", GREATER);
    check_order(&text("b"), "'b'", EQUAL);
    check_order(&text("B"), "'b'", LESS);
    check_order(&text("b"), "'b '", LESS);
    check_order(&text("\u{10000}"), "'\u{e000}'", LESS);
    check_order(&Value::Int32(5), "4", GREATER);
    check_order(&Value::Int32(5), "5", EQUAL);
    check_order(&Value::Int64(5), "6L", LESS);
    check_order(&Value::Double(5.5), "5.5", EQUAL);
    check_order(&Value::Double(-0.0), "0.0", EQUAL);
    check_order(&Value::Double(1e300), "INF", LESS);
    check_order(&Value::Boolean(false), "true", LESS);
    check_order(&Value::Boolean(true), "true", EQUAL);
    let time = Value::DateTime(DateTime::parse("2012-11-10T03:04:05.2Z").unwrap());
    check_order(&time, "datetime'2012-11-10T03:04:05.200Z'", EQUAL);
    check_order(&time, "datetime'2012-11-10T03:04:05.2000001Z'", LESS);
    let guid = |byte| Value::Guid(Guid([byte; 16]));
    check_order(&guid(0x80), "guid'7f7f7f7f-7f7f-7f7f-7f7f-7f7f7f7f7f7f'", GREATER);
    check_order(&guid(0x80), "guid'80808080-8080-8080-8080-808080808080'", EQUAL);
    check_order(&Value::Binary(vec![1, 2]), "X'0102'", EQUAL);
    check_order(&Value::Binary(vec![1]), "X'0100'", LESS);
    check_order(&Value::Binary(vec![2]), "binary'0100'", GREATER);
}

/// QY-20: NaN is unequal to everything, itself included.
#[test]
fn not_a_number() {
    check_order(&Value::Double(f64::NAN), "NaN", &["ne"]);
    check_order(&Value::Double(f64::NAN), "5", &["ne"]);
    check_order(&Value::Double(5.0), "NaN", &["ne"]);
}

/// QY-08, QY-09: a constant is widened to the stored type; nothing else is converted.
#[test]
fn incompatible_types() {
    check_order(&Value::Int64(64), "64", EQUAL);
    check_order(&Value::Int64(5_000_000_000), "64", GREATER);
    check_order(&Value::Double(63.5), "64", LESS);
    check_order(&Value::Int32(64), "64L", MISMATCH);
    check_order(&Value::Int32(2), "2.0", MISMATCH);
    check_order(&Value::Int32(2), "'2'", MISMATCH);
    check_order(&Value::Int64(2), "2.0", MISMATCH);
    check_order(&Value::Double(2.0), "2L", MISMATCH);
    check_order(&text("2"), "2", MISMATCH);
    check_order(&text("true"), "true", MISMATCH);
    check_order(
        &text("c9da6455-213d-42c9-9a79-3e9149a57833"),
        "guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
        MISMATCH,
    );
    check_order(&Value::Binary(vec![1]), "'1'", MISMATCH);
    let rating = |value| Entity::with(&[("Rating", value)]);
    check("Rating gt 1.2", &rating(Value::Double(3.0)), true);
    check("Rating gt 1.2", &rating(Value::Int32(3)), false);
}

/// QY-10.
#[test]
fn missing_properties() {
    let entity = Entity::with(&[("B", Value::Int32(1))]);
    for operator in ["eq", "ne", "gt", "ge", "lt", "le"] {
        check(&format!("A {operator} 1"), &entity, false);
        check(&format!("not (A {operator} 1)"), &entity, false);
    }
    check("A", &entity, false);
    check("not A", &entity, false);
    check("A eq 1 or B eq 1", &entity, true);
    check("not (A eq 1) or B eq 1", &entity, true);
    check("not (A eq 1 or B eq 1)", &entity, false);
    check("not (A eq 1 and B eq 2)", &entity, true);
    check("not (A eq 1 and B eq 1)", &entity, false);
    check("b eq 1", &entity, false);
}

/// QY-03.
#[test]
fn conditions_are_joined() {
    let entity = |int, text: &str, flag| {
        Entity::with(&[
            ("IntValue", Value::Int32(int)),
            ("StringValue", Value::String(text.into())),
            ("BoolValue", Value::Boolean(flag)),
        ])
    };
    let filter = "IntValue ge 51 and StringValue eq 'text' and BoolValue eq true";
    check(filter, &entity(51, "text", true), true);
    check(filter, &entity(50, "text", true), false);
    check(filter, &entity(51, "other", true), false);
    check(filter, &entity(51, "text", false), false);
    check("IntValue lt 0 or IntValue gt 50 and BoolValue", &entity(51, "", true), true);
    check("(IntValue lt 0 or IntValue gt 50) and not BoolValue", &entity(51, "", true), false);
    check("not (IntValue gt 50 and IntValue lt 60)", &entity(55, "", true), false);
    check("IntValue gt 50 and IntValue lt 60 and IntValue ne 55", &entity(55, "", true), false);
}

/// A Boolean property alone is true or false; any other property alone is neither.
#[test]
fn flags() {
    let entity = Entity::with(&[
        ("Yes", Value::Boolean(true)),
        ("No", Value::Boolean(false)),
        ("One", Value::Int32(1)),
    ]);
    check("Yes", &entity, true);
    check("not Yes", &entity, false);
    check("No", &entity, false);
    check("not No", &entity, true);
    check("One", &entity, false);
    check("not One", &entity, false);
    check("true", &entity, true);
    check("not true", &entity, false);
}

/// QY-12: a prefix is a range.
#[test]
fn prefixes() {
    for (name, wanted) in [("PDC", true), ("PDC2008", true), ("PDD", false), ("PD", false), ("pdc", false)] {
        check("Name ge 'PDC' and Name lt 'PDD'", &Entity::with(&[("Name", text(name))]), wanted);
    }
}

/// QY-19; the timestamp is a property like others.
#[test]
fn system_properties() {
    let entity = Entity::with(&[("A", Value::Int32(1))]);
    check("PartitionKey eq 'p' and RowKey eq 'r'", &entity, true);
    check("PartitionKey eq 'p' and RowKey eq 's'", &entity, false);
    check("not (PartitionKey lt 'p') and A eq 1", &entity, true);
    check("Timestamp ge datetime'2020-01-01T00:00:00Z'", &entity, true);
    check("Timestamp lt datetime'2020-01-01T00:00:00Z'", &entity, false);
}

#[test]
fn no_filter_matches_everything() {
    let entity = Entity::with(&[]);
    assert_eq!(Matcher::new(None).matches(&entity.view(&entity.pack())), Ok(true));
}

/// One matcher serves many rows: nothing carries over from one to the next.
#[test]
fn matchers_keep_no_state_between_rows() {
    let filter = parse("A eq 1 and B eq 2", Schema::Entity).unwrap();
    let mut matcher = Matcher::new(Some(&filter));
    let both = Entity::with(&[("B", Value::Int32(2)), ("A", Value::Int32(1))]);
    let half = Entity::with(&[("A", Value::Int32(1))]);
    for (entity, wanted) in [(&both, true), (&half, false), (&both, true)] {
        assert_eq!(matcher.matches(&entity.view(&entity.pack())), Ok(wanted));
    }
}

/// A name is compared as given, with its case.
#[test]
fn table_names() {
    let filter = parse("TableName ge 'abc' and TableName lt 'abc{'", Schema::Tables).unwrap();
    for (name, wanted) in [("abc", true), ("abcz", true), ("abd", false), ("ab", false), ("Abcd", false)] {
        assert_eq!(matches(&filter, &TableRow(name)), Ok(wanted), "{name}");
    }
}
