//! Conditions on entities, built from typed comparisons: `Guitar::price().lt(10_000) & prop("Bridge").eq("fixed")`.
//!
//! A filter is a value: its constants are evaluated when it is built (LA-22), and it has the same result on the
//! service and in the client.
//!
//! ```
//! use lazuli_client::{Dynamic, prop};
//!
//! let wanted = prop("Price").lt(10_000) & (prop("Color").eq("Black") | prop("Color").eq("Red"));
//! assert_eq!(wanted.to_string(), "Price lt 10000 and (Color eq 'Black' or Color eq 'Red')");
//! let sg = Dynamic::new("Gibson", "SG").with("Price", 9_000).and_then(|sg| sg.with("Color", "Red"));
//! assert!(wanted.holds(&sg.unwrap()));
//! ```

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

use lazuli_filter::{ParseError, Schema};
use lazuli_model::table::entity::PARTITION_KEY;
use lazuli_model::table::filter::{Comparison, Expr, Operator};
use lazuli_model::table::limits::{FILTER_COMPARISONS_MAX, FILTER_DEPTH_MAX};
use lazuli_model::table::row::CorruptRow;
use lazuli_model::{Failure, Value, ValueRef};

use crate::entity::Entity;
use crate::error::Result;

/// A condition. Combine conditions with `&`, `|` and `!`; its `Display` is the `$filter` that is sent.
///
/// ```
/// use lazuli_client::prop;
///
/// let cheap = prop("Price").lt(10_000) & !(prop("Color").eq("Black") | prop("Used").eq(true));
/// assert_eq!(cheap.to_string(), "Price lt 10000 and not (Color eq 'Black' or Used eq true)");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a filter does nothing until it is passed to a query"]
pub struct Filter(Expr);

impl Filter {
    /// Parses a filter in the syntax of `$filter`.
    ///
    /// ```
    /// use lazuli_client::{Filter, prop};
    ///
    /// assert_eq!(Filter::parse("Age gt 30 and Name eq 'Ann'")?, prop("Age").gt(30) & prop("Name").eq("Ann"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let rejected = |error: ParseError| Failure::new(error.code(), format!("invalid filter: {error}"));
        Ok(Self(lazuli_filter::parse(text, Schema::Entity).map_err(rejected)?))
    }

    /// The condition that is always true.
    ///
    /// ```
    /// use lazuli_client::{Filter, prop};
    ///
    /// let wanted = [prop("Used").eq(true), prop("Price").lt(500)];
    /// let filter = wanted.into_iter().fold(Filter::all(), |all, one| all & one);
    /// assert_eq!(filter.to_string(), "Used eq true and Price lt 500");
    /// ```
    pub fn all() -> Self {
        Self(Expr::Constant(true))
    }

    /// The condition that at least one of these is true; it is false for an empty list.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, Filter, prop};
    ///
    /// let [cheap, small] = [prop("Price").lt(500), prop("Strings").eq(4)];
    /// assert_eq!(Filter::any_of([cheap, small]).to_string(), "Price lt 500 or Strings eq 4");
    /// assert!(!Filter::any_of([]).holds(&Dynamic::new("Gibson", "SG")));
    /// ```
    pub fn any_of(filters: impl IntoIterator<Item = Filter>) -> Self {
        // No key is less than the empty string. Unlike a literal `false`, every service supports this.
        let never = || Self::compare(PARTITION_KEY.to_owned(), Operator::Lt, Value::String(String::new()));
        filters.into_iter().reduce(|some, other| some | other).unwrap_or_else(never)
    }

    /// Does an entity meet the condition? A comparison with a property that is missing or has another type is
    /// not met, and neither is its negation.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, prop};
    ///
    /// let cheap = prop("Price").lt(500);
    /// assert!(cheap.holds(&Dynamic::new("Gibson", "SG").with("Price", 450)?));
    /// assert!(!cheap.holds(&Dynamic::new("Gibson", "V").with("Price", "on request")?));
    /// assert!(!(!cheap).holds(&Dynamic::new("Gibson", "V").with("Price", "on request")?));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn holds<T: Entity>(&self, entity: &T) -> bool {
        let mut values = Vec::new();
        collect(&self.0, entity, &mut values);
        lazuli_filter::matches(&self.0, &Seen(values)).unwrap_or(false)
    }

    pub(crate) fn compare(property: String, operator: Operator, literal: Value) -> Self {
        Self(Expr::Compare(Comparison { property, operator, literal }))
    }

    /// The conditions that must all be true.
    pub(crate) fn conjuncts(self) -> Vec<Filter> {
        match self.0 {
            Expr::And(parts) => parts.into_iter().map(Filter).collect(),
            Expr::Constant(true) => Vec::new(),
            other => vec![Filter(other)],
        }
    }

    /// Number of comparisons.
    pub(crate) fn comparisons(&self) -> usize {
        comparisons(&self.0)
    }

    /// Can it be sent to a service?
    pub(crate) fn can_be_sent(&self) -> bool {
        self.comparisons() <= FILTER_COMPARISONS_MAX && depth(&self.0) < FILTER_DEPTH_MAX
    }

    /// Adds the names of the properties it uses.
    pub(crate) fn names(&self, out: &mut Vec<String>) {
        names(&self.0, out);
    }
}

/// A condition that a query accepts: a [`Filter`], or a reference to one.
///
/// ```
/// use lazuli_client::filter::Condition;
/// use lazuli_client::prop;
///
/// let cheap = prop("Price").lt(500);
/// assert_eq!((&cheap).into_filter(), cheap);
/// ```
///
/// Closures are not accepted: [`Query::filter_local`](crate::Query::filter_local) takes closures, and runs them
/// in the client.
///
/// ```compile_fail,E0277
/// # fn check(table: &lazuli_client::Table) {
/// table.query::<lazuli_client::Dynamic>().filter(|entity: &lazuli_client::Dynamic| entity.row_key == "1");
/// # }
/// ```
///
/// Nor can conditions be combined with `&&`, which Rust reserves for `bool`:
///
/// ```compile_fail,E0308
/// use lazuli_client::prop;
///
/// let both = prop("Price").lt(500) && prop("Price").gt(100);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition that a server can evaluate",
    label = "expected a `Filter`",
    note = "build one from a property: `Person::age().gt(30)`, or `prop(\"Age\").gt(30)` without a type",
    note = "combine conditions with `&`, `|` and `!`; `&&` and `||` are for bool only",
    note = "a closure runs in the client: pass it to `filter_local`"
)]
pub trait Condition {
    /// The condition as a filter.
    ///
    /// ```
    /// use lazuli_client::filter::Condition;
    /// use lazuli_client::prop;
    ///
    /// assert_eq!(prop("Price").lt(500).into_filter().to_string(), "Price lt 500");
    /// ```
    fn into_filter(self) -> Filter;
}

impl Condition for Filter {
    fn into_filter(self) -> Filter {
        self
    }
}

impl Condition for &Filter {
    fn into_filter(self) -> Filter {
        self.clone()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lazuli_filter::print(&self.0))
    }
}

impl BitAnd for Filter {
    type Output = Filter;

    fn bitand(self, other: Filter) -> Filter {
        Filter(match (self.0, other.0) {
            (Expr::Constant(true), only) | (only, Expr::Constant(true)) => only,
            (left, right) => Expr::And(joined(left, right, |expr| match expr {
                Expr::And(parts) => Ok(parts),
                other => Err(other),
            })),
        })
    }
}

impl BitOr for Filter {
    type Output = Filter;

    fn bitor(self, other: Filter) -> Filter {
        Filter(match (self.0, other.0) {
            // Not sent to the service, which may not support a literal `true`.
            (Expr::Constant(true), _) | (_, Expr::Constant(true)) => Expr::Constant(true),
            (left, right) => Expr::Or(joined(left, right, |expr| match expr {
                Expr::Or(parts) => Ok(parts),
                other => Err(other),
            })),
        })
    }
}

impl Not for Filter {
    type Output = Filter;

    fn not(self) -> Filter {
        Filter(Expr::Not(Box::new(self.0)))
    }
}

/// Joins two expressions into one flat chain: chains of the same kind are flattened.
fn joined(left: Expr, right: Expr, open: impl Fn(Expr) -> std::result::Result<Vec<Expr>, Expr>) -> Vec<Expr> {
    let mut parts = open(left).unwrap_or_else(|one| vec![one]);
    match open(right) {
        Ok(more) => parts.extend(more),
        Err(one) => parts.push(one),
    }
    parts
}

fn comparisons(expr: &Expr) -> usize {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().map(comparisons).sum(),
        Expr::Not(inner) => comparisons(inner),
        Expr::Compare(_) | Expr::Flag(_) | Expr::Constant(_) => 1,
    }
}

fn depth(expr: &Expr) -> usize {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
        Expr::Not(inner) => 1 + depth(inner),
        Expr::Compare(_) | Expr::Flag(_) | Expr::Constant(_) => 1,
    }
}

fn names(expr: &Expr, out: &mut Vec<String>) {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().for_each(|part| names(part, out)),
        Expr::Not(inner) => names(inner, out),
        Expr::Compare(Comparison { property: name, .. }) | Expr::Flag(name) => {
            if !out.contains(name) {
                out.push(name.clone());
            }
        }
        Expr::Constant(_) => {}
    }
}

/// The values of the properties that a filter uses.
struct Seen<'a>(Vec<(&'a str, Value)>);

impl lazuli_filter::Fields for Seen<'_> {
    fn field(&self, name: &str) -> std::result::Result<Option<ValueRef<'_>>, CorruptRow> {
        Ok(self.0.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_ref()))
    }
}

fn collect<'a, T: Entity>(expr: &'a Expr, entity: &T, out: &mut Vec<(&'a str, Value)>) {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().for_each(|part| collect(part, entity, out)),
        Expr::Not(inner) => collect(inner, entity, out),
        Expr::Compare(Comparison { property: name, .. }) | Expr::Flag(name) => {
            if !out.iter().any(|(given, _)| given == name)
                && let Some(value) = entity.value_of(name)
            {
                out.push((name, value));
            }
        }
        Expr::Constant(_) => {}
    }
}

/// The smallest string that is greater than every string that starts with `prefix`, in the order of UTF-16 code units;
/// `None` if there is none.
pub(crate) fn prefix_end(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = next_in_order(last) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// The next character in the order of UTF-16 code units: characters that need two code units sort below U+E000.
fn next_in_order(c: char) -> Option<char> {
    match c {
        '\u{d7ff}' => Some('\u{10000}'),
        '\u{10ffff}' => Some('\u{e000}'),
        '\u{ffff}' => None,
        c => char::from_u32(u32::from(c) + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use lazuli_model::utf16_cmp;
    use proptest::prelude::*;

    use super::*;
    use crate::dynamic::Dynamic;
    use crate::field::prop;

    /// LA-08, LA-21: a filter is sent as it was built, and parses back to the same filter.
    #[test]
    fn filters_print_in_the_syntax_of_the_service() {
        let (a, b, c) = (prop("A").eq(1), prop("B").ne("it's"), prop("C").ge(2.5));
        for (filter, text) in [
            (a.clone() & b.clone() & c.clone(), "A eq 1 and B ne 'it''s' and C ge 2.5"),
            (a.clone() & (b.clone() | c.clone()), "A eq 1 and (B ne 'it''s' or C ge 2.5)"),
            (!(a.clone() | b.clone()), "not (A eq 1 or B ne 'it''s')"),
            (Filter::all() & a, "A eq 1"),
            (prop("N").eq(5_i64), "N eq 5L"),
            (prop("F").eq(true), "F eq true"),
            (prop("X").eq(vec![1_u8, 255]), "X eq X'01ff'"),
        ] {
            assert_eq!(filter.to_string(), text);
            assert_eq!(Filter::parse(text).unwrap(), filter);
        }
        drop((b, c));
    }

    /// LA-29: a comparison with a wrong type does not match and is not an error; its negation does not match either.
    #[test]
    fn wrong_types_do_not_match() {
        let amplifier = Dynamic::new("Fender", "Twin").with("NoOfSpeakers", 2).unwrap();
        assert!(prop("NoOfSpeakers").eq(2).holds(&amplifier));
        for filter in [prop("NoOfSpeakers").eq("2"), prop("NoOfSpeakers").eq(2.0), prop("Missing").eq(2)] {
            assert!(!filter.holds(&amplifier), "{filter}");
            assert!(!(!filter.clone()).holds(&amplifier), "not {filter}");
        }
    }

    /// Errors of invalid filters have a message and the code that a service would return.
    #[test]
    fn invalid_filters_have_a_message_and_a_code() {
        let error = Filter::parse("Age eq").unwrap_err();
        assert_eq!(error.message(), "invalid filter: Syntax error at position 6 in 'Age eq'.");
        assert_eq!(error.code(), Some(lazuli_model::ErrorCode::InvalidInput));
    }

    proptest! {
        /// `starts_with` as a range finds exactly the strings with that prefix.
        #[test]
        fn prefix_is_a_range(
            prefix in proptest::collection::vec(edge_char(), 0..3),
            text in proptest::collection::vec(edge_char(), 0..4),
        ) {
            let (prefix, text): (String, String) = (prefix.into_iter().collect(), text.into_iter().collect());
            let from_start = utf16_cmp(&text, &prefix) != Ordering::Less;
            let before_end = prefix_end(&prefix).is_none_or(|end| utf16_cmp(&text, &end) == Ordering::Less);
            prop_assert_eq!(from_start && before_end, text.starts_with(&prefix));
        }
    }

    fn edge_char() -> impl Strategy<Value = char> {
        prop_oneof![
            Just('a'),
            Just('b'),
            Just('\u{d7ff}'),
            Just('\u{e000}'),
            Just('\u{ffff}'),
            Just('\u{10000}'),
            Just('\u{10ffff}')
        ]
    }
}
