//! Rejected texts and their messages.

use lazuli_filter::{PARENTHESES_MAX, ParseError, Schema, parse};
use lazuli_model::table::limits::{FILTER_COMPARISONS_MAX, FILTER_DEPTH_MAX};
use lazuli_model::{ErrorCode, Failure};

#[track_caller]
fn check(filter: &str, message: &str) {
    check_in(Schema::Entity, filter, ErrorCode::InvalidInput, message);
}

#[track_caller]
fn check_in(schema: Schema, filter: &str, code: ErrorCode, message: &str) {
    let error = parse(filter, schema).expect_err(filter);
    let failure: Failure = error.into();
    assert_eq!((failure.code, &*failure.message), (code, message), "{filter}");
}

#[track_caller]
fn check_syntax(filter: &str, position: usize) {
    check(filter, &format!("Syntax error at position {position} in '{filter}'."));
}

const NOT_VALID: &str = "One of the request inputs is not valid.";

/// The position is the end of the unexpected token, in UTF-16 code units.
#[test]
fn syntax() {
    check_syntax("aaa bbb ccc", 7);
    check_syntax("", 0);
    check_syntax("PartitionKey eq", 15);
    check_syntax("PartitionKey eq 'a' RowKey", 26);
    check_syntax("eq 'a'", 6);
    check_syntax("A eq 1 and", 10);
    check_syntax("A eq 1 and and B eq 2", 16);
    check_syntax("A eq 1 Or B eq 2", 9);
    check_syntax("A EQ 1", 4);
    check_syntax("(A eq 1", 7);
    check_syntax("A eq 1)", 7);
    check_syntax("()", 2);
    check_syntax("A eq (1", 7);
    check_syntax("A eq not B", 8);
    check_syntax("A eq 'text", 10);
    check_syntax("A eq 'it''s", 11);
    check_syntax("A == 1", 3);
    check_syntax("A eq 5abc", 9);
    check_syntax("A eq 5.", 7);
    check_syntax("A eq 5e", 7);
    check_syntax("A eq 1.5L", 9);
    check_syntax("A eq 5m", 7);
    check_syntax("A eq time'10:00'", 16);
    check_syntax("A eq DateTime'2020-01-01'", 25);
    check_syntax("A eq 'x' , B", 10);
    check_syntax("1a eq 1", 2);
    check_syntax("'\u{1f600}' bbb", 8);
    check_syntax("not", 3);
    check_syntax("A eq 1 not B eq 2", 10);
}

#[test]
fn literals() {
    check(
        "Age eq 5454161346626",
        "Unrecognized 'Edm.Int32' literal '5454161346626' at '7' in 'Age eq 5454161346626'.",
    );
    check("A eq 2147483648", "Unrecognized 'Edm.Int32' literal '2147483648' at '5' in 'A eq 2147483648'.");
    check(
        "A eq 9223372036854775808L",
        "Unrecognized 'Edm.Int64' literal '9223372036854775808L' at '5' in 'A eq 9223372036854775808L'.",
    );
    check("A eq 1e999", "Unrecognized 'Edm.Double' literal '1e999' at '5' in 'A eq 1e999'.");
    check(
        "A eq datetime'yesterday'",
        "Unrecognized 'Edm.DateTime' literal 'datetime'yesterday'' at '5' in 'A eq datetime'yesterday''.",
    );
    check("A eq guid'1'", "Unrecognized 'Edm.Guid' literal 'guid'1'' at '5' in 'A eq guid'1''.");
    check("A eq X'0'", "Unrecognized 'Edm.Binary' literal 'X'0'' at '5' in 'A eq X'0''.");
    check("A eq X'0g'", "Unrecognized 'Edm.Binary' literal 'X'0g'' at '5' in 'A eq X'0g''.");
}

#[track_caller]
fn check_types(filter: &str, left: &str, right: &str, operator: &str) {
    check(
        filter,
        &format!(
            "A binary operator with incompatible types was detected. \
             Found operand types '{left}' and '{right}' for operator kind '{operator}'."
        ),
    );
}

/// Keys, timestamp and the operands of `and`, `or` and `not` have a type; QY-08 and QY-09 cover all others.
#[test]
fn types() {
    check_types("PartitionKey eq 5", "Edm.String", "Edm.Int32", "Equal");
    check_types("5 lt RowKey", "Edm.Int32", "Edm.String", "LessThan");
    check_types("RowKey ge 5L", "Edm.String", "Edm.Int64", "GreaterThanOrEqual");
    check_types("Timestamp gt '2020-01-01'", "Edm.DateTime", "Edm.String", "GreaterThan");
    check_types("PartitionKey ne true", "Edm.String", "Edm.Boolean", "NotEqual");
    check_types("1 eq 'a'", "Edm.Int32", "Edm.String", "Equal");
    check_types("'a' and A eq 1", "Edm.String", "Edm.Boolean", "And");
    check_types("A eq 1 or 5", "Edm.Boolean", "Edm.Int32", "Or");
    check_types("A eq 1 and B eq 2 and PartitionKey", "Edm.Boolean", "Edm.String", "And");
    check_types("A or (Timestamp and B)", "Edm.DateTime", "<null>", "And");
    check(
        "not 'a'",
        "A unary operator with an incompatible type was detected. \
         Found operand type 'Edm.String' for operator kind 'Not'.",
    );
    for value in ["PartitionKey", "5", "('text')"] {
        check(value, "The $filter expression must evaluate to a single boolean value.");
    }
    check_types("(PartitionKey eq 5) and (RowKey eq 6L)", "Edm.String", "Edm.Int32", "Equal");
    check_syntax("PartitionKey eq 5 and", 21);
}

#[test]
fn unsupported_comparisons() {
    for filter in [
        "A eq null",
        "null ne A",
        "null",
        "not null",
        "A eq B",
        "PartitionKey eq abc",
        "(A eq 1) eq true",
        "A eq 1 eq 2",
    ] {
        check(filter, NOT_VALID);
    }
}

/// QY-01, QY-21.
#[test]
fn unsupported_syntax() {
    let message = "The requested operation is not implemented on the specified resource.";
    for filter in [
        "startswith(Name, 'a')",
        "substringof('a', Name) eq true",
        "length (Name) gt 3",
        "A eq 1 and not startswith(Name, 'a')",
        "A add 1 eq 2",
        "A mod 2 eq 0",
        "A in (1, 2)",
        "-A eq 5",
        "$it eq 'x'",
        "Address/City eq 'x'",
    ] {
        check_in(Schema::Entity, filter, ErrorCode::NotImplemented, message);
    }
    assert_eq!(ErrorCode::NotImplemented.status(), 501);
}

/// OP-01.
#[test]
fn table_lists_have_one_property() {
    let reject = |filter, message| check_in(Schema::Tables, filter, ErrorCode::InvalidInput, message);
    reject("Name eq 'x'", NOT_VALID);
    reject("PartitionKey eq 'x'", NOT_VALID);
    reject("Flag", NOT_VALID);
    reject(
        "TableName eq 5",
        "A binary operator with incompatible types was detected. \
         Found operand types 'Edm.String' and 'Edm.Int32' for operator kind 'Equal'.",
    );
    assert!(parse("TableName eq 5", Schema::Entity).is_ok());
}

/// Bounded work for hostile texts.
#[test]
fn limits() {
    let rejected = |text: String| assert_eq!(parse(&text, Schema::Entity), Err(ParseError::TooComplex));
    rejected(vec!["A eq 1"; FILTER_COMPARISONS_MAX + 1].join(" or "));
    rejected(vec!["A"; FILTER_COMPARISONS_MAX + 1].join(" and "));
    rejected(vec!["true"; FILTER_COMPARISONS_MAX + 1].join(" and "));
    rejected(format!("{}A", "not ".repeat(FILTER_DEPTH_MAX)));
    rejected(format!("{}A", "not ".repeat(1_000_000)));
    rejected(format!("{}A", "(".repeat(PARENTHESES_MAX + 1)));
    rejected("(".repeat(4_000_000));
    let zigzag = |depth: usize| {
        (0..depth).fold("A".to_owned(), |inner, level| {
            format!("({inner} {} B)", if level % 2 == 0 { "and" } else { "or" })
        })
    };
    assert!(parse(&zigzag(FILTER_DEPTH_MAX - 1), Schema::Entity).is_ok());
    rejected(zigzag(FILTER_DEPTH_MAX));
}
