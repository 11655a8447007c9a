//! The rows of the catalog that a filter of a listing can match.
//!
//! The catalog is ordered by lower-case names, but filters compare names as they were created: for a filter,
//! `Zebra` comes before `apple`; in the catalog, after it. So a filter's range is converted carefully: the
//! window may be too wide, but never too narrow.

use lazuli_filter::{PlanBound, PlanRange, plan};
use lazuli_model::table::entity::PARTITION_KEY;
use lazuli_model::table::filter::{Comparison, Expr};

/// Sorts after every character of a name.
const LAST: char = '\u{7f}';

/// Lower-case names from one up to, but not including, another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// The first name that can match.
    pub from: String,
    /// The first name after the range.
    pub before: Option<String>,
}

impl Window {
    /// The names that a filter can match; `None` if there are none.
    pub fn of(filter: &Expr) -> Option<Self> {
        // The planner treats a name like any other key.
        let ranges = plan(&with_names_as_keys(filter)).ranges;
        ranges.iter().map(Self::of_range).reduce(Self::hull)
    }

    fn of_range(range: &PlanRange) -> Self {
        let first = match &range.start {
            PlanBound::Open => "",
            PlanBound::Included(place) | PlanBound::Excluded(place) => &place.partition,
            PlanBound::AfterPartition(name) => name,
        };
        let (last, is_wanted) = match &range.end {
            PlanBound::Open => return Self { from: first.to_owned(), before: None },
            PlanBound::Included(place) => (&place.partition, true),
            PlanBound::Excluded(place) => (&place.partition, !place.row.is_empty()),
            PlanBound::AfterPartition(name) => (name, true),
        };
        // All names between the two share their common prefix. A lower-case name is never before the name itself.
        let shared = common_start(first, last);
        let start = shared.to_ascii_lowercase();
        let before = before(&start, &first[shared.len()..], &last[shared.len()..], is_wanted);
        Self { from: start.max(first.to_owned()), before: Some(before) }
    }

    fn hull(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            before: self.before.zip(other.before).map(|(one, other)| one.max(other)),
        }
    }
}

/// The exclusive upper bound of the names that begin with `start` and continue with a string from `first` to `last`.
fn before(start: &str, first: &str, last: &str, is_wanted: bool) -> String {
    let Some(end) = last.chars().next() else { return format!("{start}\0") };
    // There is no capital letter between the two that would sort after the end in lower case.
    let keeps_order = end < 'A' || first.chars().next().is_some_and(|c| c > 'Z');
    if !keeps_order {
        format!("{start}{LAST}")
    } else if is_wanted || last.len() > end.len_utf8() {
        format!("{start}{end}{LAST}")
    } else {
        format!("{start}{end}")
    }
}

fn common_start<'a>(one: &'a str, other: &str) -> &'a str {
    let end = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    &one[..end.unwrap_or_else(|| one.len().min(other.len()))]
}

fn with_names_as_keys(filter: &Expr) -> Expr {
    let all = |parts: &[Expr]| parts.iter().map(with_names_as_keys).collect();
    match filter {
        Expr::And(parts) => Expr::And(all(parts)),
        Expr::Or(parts) => Expr::Or(all(parts)),
        Expr::Not(inner) => Expr::Not(Box::new(with_names_as_keys(inner))),
        Expr::Compare(comparison) => {
            Expr::Compare(Comparison { property: PARTITION_KEY.to_owned(), ..comparison.clone() })
        }
        Expr::Flag(_) | Expr::Constant(_) => filter.clone(),
    }
}

#[cfg(test)]
mod tests {
    use lazuli_filter::{Schema, TableRow, matches, parse};

    use super::*;

    fn window(filter: &str) -> Option<Window> {
        Window::of(&parse(filter, Schema::Tables).unwrap())
    }

    fn texts(letters: &[char], longest: usize) -> Vec<String> {
        let mut found = vec![String::new()];
        let mut from = 0;
        for _ in 0..longest {
            let shorter = found[from..].to_vec();
            from = found.len();
            found.extend(shorter.iter().flat_map(|text| letters.iter().map(move |c| format!("{text}{c}"))));
        }
        found
    }

    #[test]
    fn windows() {
        for (filter, from, before) in [
            ("TableName eq 'Abc'", "abc", Some("abc\0")),
            ("TableName ge 'zzza' and TableName lt 'zzzb'", "zzza", Some("zzzb")),
            ("TableName ge 'zzza' and TableName le 'zzzb'", "zzza", Some("zzzb\u{7f}")),
            ("TableName ge 'log1' and TableName lt 'log2'", "log1", Some("log2")),
            // `logZ` is between these two, and sorts after `logb`.
            ("TableName ge 'logA' and TableName lt 'logb'", "logA", Some("log\u{7f}")),
            ("TableName gt 'b'", "b", None),
            ("TableName lt 'b'", "", Some("\u{7f}")),
            ("TableName eq 'b' or TableName eq 'd'", "b", Some("d\0")),
            ("TableName ne 'b'", "", None),
        ] {
            let expected = Window { from: from.into(), before: before.map(str::to_owned) };
            assert_eq!(window(filter), Some(expected), "{filter}");
        }
        assert_eq!(window("TableName gt 'b' and TableName lt 'a'"), None);
    }

    /// Every filter of two comparisons with short strings, against every short name.
    #[test]
    fn no_wanted_name_is_outside() {
        let names = texts(&['A', 'Z', 'a', 'z', '5'], 3);
        let literals = texts(&['A', 'a', 'z', '5'], 2);
        let comparisons: Vec<String> = ["eq", "ne", "gt", "ge", "lt", "le"]
            .iter()
            .flat_map(|operator| literals.iter().map(move |text| format!("TableName {operator} '{text}'")))
            .collect();
        for (index, one) in comparisons.iter().enumerate() {
            for other in comparisons.iter().skip(index % 7).step_by(7) {
                for filter in [format!("{one} and {other}"), format!("not ({one}) or {other}")] {
                    let expr = parse(&filter, Schema::Tables).unwrap();
                    let window = Window::of(&expr);
                    for name in names.iter().filter(|name| matches(&expr, &TableRow(name)).unwrap()) {
                        let row = name.to_ascii_lowercase();
                        let inside = window.as_ref().is_some_and(|window| {
                            row >= window.from && window.before.as_ref().is_none_or(|before| row < *before)
                        });
                        assert!(inside, "{filter}: {name} is not in {window:?}");
                    }
                }
            }
        }
    }
}
