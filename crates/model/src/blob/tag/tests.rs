//! Tags and their expressions: limits, precedence, comparison, syntax errors.

use super::*;
use crate::blob::limits::{TAG_COMPARISONS_MAX, TAG_EXPRESSION_DEPTH_MAX};

fn tags(pairs: &[(&str, &str)]) -> Tags {
    let mut tags = Tags::default();
    for (name, value) in pairs {
        tags.insert(name, value).unwrap();
    }
    tags
}

#[test]
fn limits() {
    let code = |name: &str, value: &str| {
        let mut tags = tags(&[("a", "1")]);
        tags.insert(name, value).map_err(|failure| failure.code)
    };
    assert_eq!(code("", "x"), Err(ErrorCode::EmptyTagName));
    assert_eq!(code("a", "x"), Err(ErrorCode::DuplicateTagNames));
    assert_eq!(code("A", "x"), Ok(()), "names differ by case");
    assert_eq!(code("b", ""), Ok(()));
    assert_eq!(code("b c", "+-./:=_"), Ok(()));
    for (name, value) in [("b&", "x"), ("b", "é"), (&*"n".repeat(129), "x"), ("b", &*"v".repeat(257))] {
        assert_eq!(code(name, value), Err(ErrorCode::InvalidTag), "{name}");
    }
    let mut full = Tags::default();
    for number in 0..10 {
        full.insert(&format!("t{}", 9 - number), "x").unwrap();
    }
    assert_eq!(full.insert("u", "x").unwrap_err().code, ErrorCode::TagsTooLarge);
    assert!(full.iter().map(|(name, _)| name).is_sorted());
}

#[test]
fn conditions() {
    let own = tags(&[("color", "red"), ("tag1 name", "my tag"), ("n", "3")]);
    for (text, expected) in [
        ("color='red'", true),
        ("color = 'blue'", false),
        ("\"color\" <> 'blue'", true),
        ("\"tag1 name\"='my tag' AND \"color\"='red'", true),
        ("color='blue' or n >= '3' and n < '4'", true),
        ("(color='blue' or n >= '3') and n < '3'", false),
        ("n > '10'", true),
        ("n <= '2'", false),
        ("missing = 'x'", false),
        ("missing < 'x'", false),
        ("missing <> 'x'", true),
        ("((color='red'))", true),
        ("color='blue' OR (color='green' OR color='red')", true),
    ] {
        assert_eq!(
            TagExpression::parse(text).map(|expression| expression.matches(&own)),
            Ok(expected),
            "{text}"
        );
    }
}

#[test]
fn broken_expressions() {
    for text in [
        "",
        " ",
        "color",
        "color=",
        "color=red",
        "color='red",
        "='red'",
        "'red'=color",
        "color='red' AND",
        "color='red' color='red'",
        "(color='red'",
        "color='red')",
        "\"color='red'",
        "NOT color='red'",
        "color=='red'",
        "color='red' ANDcolor='x'",
        "é\u{301}'",
        "@container='c'",
        "key--1='x'",
        "key+1='x'",
        "key='a@b'",
        "\"k@y\"='x'",
        "color==red",
    ] {
        assert!(TagExpression::parse(text).is_err(), "{text}");
    }
    let deep = |depth| format!("{}a='x'{}", "(".repeat(depth), ")".repeat(depth));
    assert!(TagExpression::parse(&deep(TAG_EXPRESSION_DEPTH_MAX)).is_ok());
    assert!(TagExpression::parse(&deep(TAG_EXPRESSION_DEPTH_MAX + 1)).is_err());
    let many = |count| vec!["a='x'"; count].join(" and ");
    assert!(TagExpression::parse(&many(TAG_COMPARISONS_MAX)).is_ok());
    assert!(TagExpression::parse(&many(TAG_COMPARISONS_MAX + 1)).is_err());
}

#[test]
fn searches() {
    let found = TagQuery::parse("@container='c1' AND \"k\" = 'v' AND n >= '3'").unwrap();
    assert_eq!(found.container.as_deref(), Some("c1"));
    assert_eq!(found.comparisons.len(), 2);
    assert!(found.matches(&tags(&[("k", "v"), ("n", "4")])));
    assert!(!found.matches(&tags(&[("k", "v")])));
    assert!(TagQuery::parse("k='v' and k2 > 'a'").is_ok(), "lower case, no quotes");
    for text in ["", "@container='c'", "k<>'v'", "k='v' or k='w'", "(k='v')", "@container>'c' and k='v'"] {
        assert!(TagQuery::parse(text).is_err(), "{text}");
    }
}

/// A search that no tag can fulfil, or that Azure rejects, was executed and found nothing.
#[test]
fn searches_that_cannot_find_anything_are_rejected() {
    let of_names = |count: usize| {
        let all: Vec<String> = (0..count).map(|number| format!("k{number}='v'")).collect();
        all.join(" and ")
    };
    assert!(TagQuery::parse(&of_names(10)).is_ok());
    assert!(TagQuery::parse(&format!("{} and k0>'a'", of_names(10))).is_ok());
    assert!(TagQuery::parse(&of_names(11)).is_err());
    assert!(TagQuery::parse(&format!("@container='c' and {}", of_names(10))).is_ok());
    for (name, value, expected) in [(128, 256, true), (129, 1, false), (1, 257, false)] {
        let text = format!("{}='{}'", "k".repeat(name), "v".repeat(value));
        assert_eq!(TagQuery::parse(&text).is_ok(), expected, "{name} {value}");
    }
    assert!(TagQuery::parse("k>='a' and k<'b'").is_ok());
    assert!(TagQuery::parse("@container='$web' and k='a'").is_ok());
    for text in [
        "@other='c' and k='v'",
        "@container='a' and @container='b' and k='v'",
        "k='v@'",
        "\"\"='v'",
        "k-1='v'",
    ] {
        assert!(TagQuery::parse(text).is_err(), "{text}");
    }
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    const SYMBOLS: [(&str, TagOperator); 6] = [
        ("=", TagOperator::Equal),
        ("<>", TagOperator::NotEqual),
        ("<", TagOperator::Less),
        ("<=", TagOperator::LessOrEqual),
        (">", TagOperator::Greater),
        (">=", TagOperator::GreaterOrEqual),
    ];

    fn comparison() -> impl Strategy<Value = TagComparison> {
        ("[a-c ]{1,2}", 0..SYMBOLS.len(), "[a-c ]{0,2}").prop_map(|(name, at, value)| TagComparison {
            name,
            operator: SYMBOLS[at].1,
            value,
        })
    }

    fn expression() -> impl Strategy<Value = TagExpression> {
        comparison().prop_map(TagExpression::Compare).prop_recursive(4, 24, 3, |inner| {
            let list = prop::collection::vec(inner, 2..4);
            prop_oneof![list.clone().prop_map(TagExpression::And), list.prop_map(TagExpression::Or)]
        })
    }

    fn print(expression: &TagExpression) -> String {
        let join = |all: &[TagExpression], word: &str| {
            let parts: Vec<String> = all.iter().map(|each| format!("({})", print(each))).collect();
            parts.join(word)
        };
        match expression {
            TagExpression::Compare(own) => print_comparison(own),
            TagExpression::And(all) => join(all, " AND "),
            TagExpression::Or(any) => join(any, " or "),
        }
    }

    fn print_comparison(own: &TagComparison) -> String {
        let symbol = SYMBOLS.iter().find(|(_, operator)| *operator == own.operator).unwrap().0;
        format!("\"{}\" {symbol} '{}'", own.name, own.value)
    }

    proptest! {
        #[test]
        fn an_expression_is_read_as_written(expression in expression()) {
            prop_assert_eq!(TagExpression::parse(&print(&expression)), Ok(expression));
        }

        #[test]
        fn a_search_is_read_as_written(all in prop::collection::vec(comparison(), 1..5), has_container: bool) {
            let mut texts: Vec<String> = all.iter().map(print_comparison).collect();
            if has_container {
                texts.push("@container = 'c'".into());
            }
            let parsed = TagQuery::parse(&texts.join(" and "));
            if all.iter().any(|own| own.operator == TagOperator::NotEqual) {
                prop_assert!(parsed.is_err());
            } else {
                let container = has_container.then(|| "c".to_owned());
                prop_assert_eq!(parsed, Ok(TagQuery { container, comparisons: all }));
            }
        }

        #[test]
        fn no_text_breaks_the_parser(text in "[\"'a()<>=@ A-Z]{0,40}") {
            if let Err(error) = TagExpression::parse(&text) {
                prop_assert!(error.at <= text.len());
            }
            let _ = TagQuery::parse(&text);
        }
    }
}
