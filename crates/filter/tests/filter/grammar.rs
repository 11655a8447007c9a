//! Accepted texts, and their parsed filters.

use lazuli_filter::{Schema, parse, parse_optional, print};
use lazuli_model::table::filter::{Comparison, Expr, Operator};
use lazuli_model::table::limits::{FILTER_COMPARISONS_MAX, FILTER_DEPTH_MAX};
use lazuli_model::{DateTime, Guid, Value};

#[track_caller]
fn check(filter: &str, canonical: &str) {
    let read = parse(filter, Schema::Entity).unwrap_or_else(|error| panic!("{filter}: {error}"));
    assert_eq!(print(&read), canonical, "{filter}");
}

#[track_caller]
fn check_literal(literal: &str, value: Value) {
    let read = parse(&format!("A eq {literal}"), Schema::Entity).unwrap();
    let expected = Expr::Compare(Comparison { property: "A".into(), operator: Operator::Eq, literal: value });
    assert_eq!(format!("{read:?}"), format!("{expected:?}"));
}

/// A Boolean property with the name of an operator needs a comparison: alone it is a syntax error.
#[test]
fn a_flag_with_the_name_of_an_operator_prints_as_a_comparison() {
    for name in ["and", "or", "eq", "ne", "gt", "ge", "lt", "le"] {
        assert!(parse(name, Schema::Entity).is_err(), "{name}");
        let printed = print(&Expr::Flag(name.to_owned()));
        check(&printed, &format!("{name} eq true"));
    }
}

/// QY-02.
#[test]
fn operators() {
    for operator in ["eq", "ne", "gt", "ge", "lt", "le"] {
        let filter = format!("Age {operator} 3");
        check(&filter, &filter);
    }
    check("A eq 1 and B eq 2", "A eq 1 and B eq 2");
    check("A eq 1 or B eq 2", "A eq 1 or B eq 2");
    check("not (A eq 1)", "not (A eq 1)");
}

/// QY-02.
#[test]
fn precedence() {
    check("A eq 1 or B eq 2 and C eq 3", "A eq 1 or (B eq 2 and C eq 3)");
    check("A eq 1 and B eq 2 or C eq 3", "(A eq 1 and B eq 2) or C eq 3");
    check("(A eq 1 or B eq 2) and C eq 3", "(A eq 1 or B eq 2) and C eq 3");
    check("not A eq 1 and B eq 2", "not (A eq 1) and B eq 2");
    check("not (A eq 1 and B eq 2)", "not (A eq 1 and B eq 2)");
    check("not not A eq 1", "not (not (A eq 1))");
    check("not(not(A eq 1))or B eq 2", "not (not (A eq 1)) or B eq 2");
    check("A eq 1 and not B eq 2 or C eq 3", "(A eq 1 and not (B eq 2)) or C eq 3");
}

/// QY-02: chains are flat, whatever the parentheses.
#[test]
fn parentheses() {
    check(
        "((((A eq 1) and (B ge 2)) and (C eq false)) and (D gt 60L))",
        "A eq 1 and B ge 2 and C eq false and D gt 60L",
    );
    check("(A eq 1 and (B eq 2 and (C eq 3)))", "A eq 1 and B eq 2 and C eq 3");
    check("(((A)) eq ((1)))", "A eq 1");
    check("(PartitionKey eq '')or(B eq false)", "PartitionKey eq '' or B eq false");
    check("  ( A eq 1 )  ", "A eq 1");
    check("A\teq\n1", "A eq 1");
}

#[test]
fn constants_on_the_left_are_moved_to_the_right() {
    check("5 lt Age", "Age gt 5");
    check("5 le Age", "Age ge 5");
    check("5 gt Age", "Age lt 5");
    check("5 ge Age", "Age le 5");
    check("5 eq Age", "Age eq 5");
    check("5 ne Age", "Age ne 5");
    check("'2022-07-12' eq PartitionKey", "PartitionKey eq '2022-07-12'");
}

#[test]
fn constants_are_evaluated() {
    for (filter, value) in [
        ("1 eq 1", "true"),
        ("1 gt 1L", "false"),
        ("1L lt 1.5", "true"),
        ("2 lt 1.5", "false"),
        ("1.5 gt 1L", "true"),
        ("'a' lt 'b'", "true"),
        ("NaN eq NaN", "false"),
        ("true eq false", "false"),
        ("true", "true"),
        ("(false)", "false"),
        ("not true", "not (true)"),
        ("true and RowKey eq 'x'", "true and RowKey eq 'x'"),
        (
            "(false or PartitionKey eq 'x') or PartitionKey eq 'y'",
            "false or PartitionKey eq 'x' or PartitionKey eq 'y'",
        ),
    ] {
        check(filter, value);
    }
}

#[test]
fn boolean_properties_stand_alone() {
    check("IsActive", "IsActive");
    check("not IsActive", "not (IsActive)");
    check("not(IsActive)and(B)", "not (IsActive) and B");
    check("IsActive eq true", "IsActive eq true");
    check("(IsActive) ne false", "IsActive ne false");
}

/// QY-20.
#[test]
fn literals() {
    check_literal("'text'", Value::String("text".into()));
    check_literal("''", Value::String(String::new()));
    check_literal("'O''Hare'", Value::String("O'Hare".into()));
    check_literal("''''", Value::String("'".into()));
    check_literal("'a (b) and eq'", Value::String("a (b) and eq".into()));
    check_literal("'\u{1f600}'", Value::String("\u{1f600}".into()));
    check_literal("true", Value::Boolean(true));
    check_literal("false", Value::Boolean(false));
    check_literal("123", Value::Int32(123));
    check_literal("-5", Value::Int32(-5));
    check_literal("-2147483648", Value::Int32(i32::MIN));
    check_literal("123L", Value::Int64(123));
    check_literal("-123l", Value::Int64(-123));
    check_literal("9223372036854775807L", Value::Int64(i64::MAX));
    check_literal("1099511627776L", Value::Int64(1_099_511_627_776));
    check_literal("1.5", Value::Double(1.5));
    check_literal("-1.5E3", Value::Double(-1500.0));
    check_literal("1e3", Value::Double(1000.0));
    check_literal("1E+20", Value::Double(1e20));
    check_literal("1e-5", Value::Double(1e-5));
    check_literal("2d", Value::Double(2.0));
    check_literal("2.5D", Value::Double(2.5));
    check_literal("NaN", Value::Double(f64::NAN));
    check_literal("INF", Value::Double(f64::INFINITY));
    check_literal("-INF", Value::Double(f64::NEG_INFINITY));
    check_literal("X'0a0B'", Value::Binary(vec![10, 11]));
    check_literal("X''", Value::Binary(vec![]));
    check_literal("binary'ff'", Value::Binary(vec![255]));
    let time = |text: &str| Value::DateTime(DateTime::parse(text).unwrap());
    check_literal("datetime'2008-07-10T00:00:00Z'", time("2008-07-10T00:00:00Z"));
    check_literal("datetime'2012-11-10T03:04:05.200Z'", time("2012-11-10T03:04:05.2Z"));
    check_literal("datetime'1970-10-04T00:00:00.000000Z'", time("1970-10-04"));
    let guid: Guid = "c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap();
    check_literal("guid'C9DA6455-213d-42c9-9a79-3e9149a57833'", Value::Guid(guid));
}

/// Whether a word is a keyword depends on its position.
#[test]
fn names_that_look_like_keywords() {
    check("and eq 1 and or eq 2", "and eq 1 and or eq 2");
    check("eq eq 1", "eq eq 1");
    check(
        "X eq 1 and datetime eq 2 and guid eq 3 and binary eq 4",
        "X eq 1 and datetime eq 2 and guid eq 3 and binary eq 4",
    );
    check("add eq 1", "add eq 1");
    check("True eq 1", "True eq 1");
    check("_a1 eq 1 and Größe eq 2 and 名前 eq 3", "_a1 eq 1 and Größe eq 2 and 名前 eq 3");
}

/// OP-01: the idiom that clients use to list tables by prefix, and the filter of a common health check.
#[test]
fn table_filters() {
    for filter in ["TableName ge 'abc' and TableName lt 'abc{'", "false"] {
        assert_eq!(print(&parse(filter, Schema::Tables).unwrap()), filter);
    }
}

#[test]
fn blank_filters_are_none() {
    for blank in ["", " ", " \t\n"] {
        assert_eq!(parse_optional(blank, Schema::Entity), Ok(None));
    }
    assert!(parse_optional(" A eq 1", Schema::Entity).unwrap().is_some());
}

/// As many terms as the limit allows, whatever the parentheses.
#[test]
fn long_chains_and_deep_parentheses() {
    let term = |index: usize| format!("(RowKey eq '{index}')");
    let flat: Vec<String> = (0..FILTER_COMPARISONS_MAX).map(term).collect();
    let left = (1..FILTER_COMPARISONS_MAX).fold(term(0), |sum, index| format!("({sum} or {})", term(index)));
    let right = (1..FILTER_COMPARISONS_MAX).fold(term(0), |sum, index| format!("({} or {sum})", term(index)));
    for text in [flat.join(" or "), flat.join(" and "), left, right] {
        match parse(&text, Schema::Entity).unwrap() {
            Expr::Or(parts) | Expr::And(parts) => assert_eq!(parts.len(), FILTER_COMPARISONS_MAX),
            other => panic!("{other:?}"),
        }
    }
    let nots = format!("{}A", "not ".repeat(FILTER_DEPTH_MAX - 1));
    assert!(parse(&nots, Schema::Entity).is_ok());
}
