//! The rows of the tag index: `<tag name> U+0001 <tag value> U+0001 <blob name>`, all in one partition.
//!
//! The separator sorts before every character of a tag, so rows sort by tag name, then by value, then by blob name. The
//! value of a row is its format; everything else is in the key.

use bytes::Bytes;
use lazuli_engine::{Bound, KeyPosition, KeyRange};
use lazuli_model::blob::tag::{TagComparison, TagOperator, TagQuery};

use crate::blob::order::compare;

/// The partition of the index.
pub const PARTITION: &str = "tags";
/// The value of every row.
pub const VALUE: Bytes = Bytes::from_static(&[1]);

const SEPARATOR: char = '\u{1}';
const AFTER_SEPARATOR: char = '\u{2}';

/// The row of a tag of a blob.
pub fn row(name: &str, value: &str, blob: &str) -> String {
    format!("{name}{SEPARATOR}{value}{SEPARATOR}{blob}")
}

/// The tag name, the tag value and the blob name of a row.
pub fn parse(row: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = row.split_once(SEPARATOR)?;
    let (value, blob) = rest.split_once(SEPARATOR)?;
    Some((name, value, blob))
}

/// The rows of one tag name that a search reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The tag name.
    pub name: String,
    /// The first row.
    start: String,
    /// The exclusive end of the rows.
    end: String,
    /// The value, if the comparisons allow only one. If so, the rows are in the order of the blobs.
    value: Option<String>,
    /// How far the comparisons narrow down the values: 0 for one value, 1 for both bounds, 2 for one bound.
    width: u8,
}

impl Span {
    /// The rows of each tag of which a query allows only one value: a blob that matches is in all of these
    /// spans. Without such a tag, the rows of the tag whose values the query narrows most. Empty if the query
    /// has no comparison.
    pub fn of(query: &TagQuery) -> Vec<Self> {
        let mut spans: Vec<Self> = Vec::new();
        for comparison in &query.comparisons {
            if spans.iter().all(|span| span.name != comparison.name) {
                spans.push(Self::of_name(query, &comparison.name));
            }
        }
        let Some(least) = spans.iter().map(|span| span.width).min() else { return spans };
        spans.retain(|span| span.width == least);
        if least > 0 {
            spans.truncate(1);
        }
        spans
    }

    fn of_name(query: &TagQuery, name: &str) -> Self {
        let (mut start, mut end) = (format!("{name}{SEPARATOR}"), format!("{name}{AFTER_SEPARATOR}"));
        let (mut has_low, mut has_high, mut point) = (false, false, None);
        for TagComparison { operator, value, .. } in query.comparisons.iter().filter(|own| own.name == name) {
            let before = format!("{name}{SEPARATOR}{value}{SEPARATOR}");
            let after = format!("{name}{SEPARATOR}{value}{AFTER_SEPARATOR}");
            let (low, high) = match operator {
                TagOperator::Equal => (Some(before), Some(after)),
                TagOperator::Less => (None, Some(before)),
                TagOperator::LessOrEqual => (None, Some(after)),
                TagOperator::Greater => (Some(after), None),
                TagOperator::GreaterOrEqual => (Some(before), None),
                TagOperator::NotEqual => (None, None),
            };
            point = Some(value).filter(|_| *operator == TagOperator::Equal).or(point);
            has_low |= low.is_some();
            has_high |= high.is_some();
            start = low.filter(|low| compare(low, &start).is_gt()).unwrap_or(start);
            end = high.filter(|high| compare(high, &end).is_lt()).unwrap_or(end);
        }
        let width = if point.is_some() { 0 } else { 2 - u8::from(has_low && has_high) };
        Self { name: name.to_owned(), start, end, value: point.cloned(), width }
    }

    /// The rows from a value and a blob onwards. The value is ignored if the span has only one: it can be that
    /// of another span.
    pub fn from(&self, position: Option<(&str, &str)>) -> KeyRange {
        let from =
            position.map(|(value, blob)| row(&self.name, self.value.as_deref().unwrap_or(value), blob));
        let start =
            from.filter(|from| compare(from, &self.start).is_gt()).unwrap_or_else(|| self.start.clone());
        let place = |row: String| KeyPosition { partition: PARTITION.into(), row };
        KeyRange { start: Bound::Included(place(start)), end: Bound::Excluded(place(self.end.clone())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(text: &str) -> Vec<Span> {
        Span::of(&TagQuery::parse(text).unwrap())
    }

    fn span(text: &str) -> Span {
        spans(text).remove(0)
    }

    fn holds(range: &KeyRange, row: &str) -> bool {
        let (Bound::Included(start), Bound::Excluded(end)) = (&range.start, &range.end) else { panic!() };
        compare(row, &start.row).is_ge() && compare(row, &end.row).is_lt()
    }

    /// The stored form. Lines may be added here, but never changed.
    #[test]
    fn keys_stay() {
        assert_eq!(row("a", "1", "b"), "a\u{1}1\u{1}b");
        assert_eq!(parse(&row("a b", "", "x\u{1}y")), Some(("a b", "", "x\u{1}y")));
        assert_eq!(parse("a\u{1}b"), None);
    }

    #[test]
    fn a_span_has_exactly_the_values_that_the_operators_allow() {
        let values = ["", " ", "a", "a ", "aa", "b", "ba", "z"];
        for text in [
            "k='a'",
            "k>'a'",
            "k>='a'",
            "k<'b'",
            "k<='b'",
            "k>'a' AND k<'ba'",
            "k>='a' AND k<='a'",
            "k>'b' AND k<'a'",
            "k>'a' AND k>'b'",
            "k='a' AND k='b'",
        ] {
            let query = TagQuery::parse(text).unwrap();
            let range = span(text).from(None);
            for value in values {
                let mut tags = lazuli_model::blob::Tags::default();
                tags.insert("k", value).unwrap();
                assert_eq!(holds(&range, &row("k", value, "b")), query.matches(&tags), "{text} {value:?}");
            }
            for other in ["", "j", "k ", "kk", "l"] {
                assert!(!holds(&range, &row(other, "a", "b")), "{text} {other}");
            }
        }
    }

    #[test]
    fn the_narrowest_tag_is_read() {
        assert_eq!(span("a>'1' AND b='2'").name, "b");
        assert_eq!(span("a>'1' AND b>'2' AND b<'3'").name, "b");
        assert_eq!(span("a>'1' AND b<'2'").name, "a");
        let names = |text| spans(text).into_iter().map(|span| span.name).collect::<Vec<_>>();
        assert_eq!(names("a='1' AND b>'2' AND c='3' AND a>'0'"), ["a", "c"]);
        assert_eq!(names("a>'1' AND b<'2'"), ["a"]);
    }

    #[test]
    fn a_search_resumes_within_its_span() {
        let range = span("k='a'").from(Some(("a", "m")));
        assert!(holds(&range, &row("k", "a", "m")) && !holds(&range, &row("k", "a", "l")));
        let foreign = span("k='b'").from(Some(("a", "m")));
        assert!(holds(&foreign, &row("k", "b", "m")) && !holds(&foreign, &row("k", "b", "l")));
        let foreign = span("k>='b'").from(Some(("a", "m")));
        assert_eq!(foreign, span("k>='b'").from(None));
    }
}
