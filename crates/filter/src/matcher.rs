//! A filter prepared for many rows: evaluates on the stored bytes, without allocating.
//!
//! Rows of a table are mostly alike, so the positions of the named properties are cached from one row to the
//! next (see [`crate::layout`]), and only those are examined.
//!
//! If rows differ, each row is read at most once, in its own order, and only until the result is known.
//! Properties that are not in the filter are skipped without decoding; the others are compared when they are
//! reached, regardless of the position of the comparison in the filter. The results equal those of
//! [`crate::matches`].

use std::ops::Range;

use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::table::filter::{Expr, Operator};
use lazuli_model::table::row;
use lazuli_model::table::row::{CorruptRow, Iter};
use lazuli_model::{EdmType, Value, ValueRef};

use crate::EntityRow;
use crate::compare::compare;
use crate::layout::Layout;
use crate::normal::normal;

/// A filter prepared for many rows.
#[derive(Clone, Debug)]
pub struct Matcher {
    root: Node,
    /// The properties to look for.
    names: Vec<Name>,
    /// The tests of these properties, grouped by property.
    tests: Vec<Test>,
    /// Results for the current row, while it is read.
    results: Vec<TestResult>,
    /// Positions of the properties in the previous row.
    layout: Layout,
}

#[derive(Clone, Debug)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    /// The test at this index, of the name at this index.
    Property {
        name: usize,
        test: usize,
    },
    System(System, Test),
    Constant(bool),
}

#[derive(Clone, Debug)]
struct Name {
    bytes: Box<[u8]>,
    tests: Range<usize>,
}

/// A test of one property. Its result is unknown if the property has another type.
#[derive(Clone, Debug)]
struct Test {
    operator: Operator,
    literal: Value,
    negated: bool,
}

/// A property that is not part of the packed row.
#[derive(Clone, Copy, Debug)]
enum System {
    Partition,
    Row,
    Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TestResult {
    /// The property has not been reached yet.
    Open,
    Yes,
    No,
}

impl Matcher {
    /// Prepares a filter. Without a filter, every row matches.
    pub fn new(filter: Option<&Expr>) -> Self {
        let expr = filter.map_or(Expr::Constant(true), normal);
        let mut found = Vec::new();
        collect(&expr, &mut found);
        found.sort_by_key(|(name, _)| *name);
        let names = names_of(&found);
        let mut next = vec![0; names.len()];
        let root = compile(&expr, &names, &mut next);
        let tests: Vec<Test> = found.into_iter().map(|(_, test)| test).collect();
        let results = vec![TestResult::Open; tests.len()];
        let layout = Layout::new(names.iter().map(|name| name.bytes.clone()).collect());
        Self { root, names, tests, results, layout }
    }

    /// Does the filter match this row?
    pub fn matches(&mut self, row: &EntityRow<'_>) -> Result<bool, CorruptRow> {
        if self.names.is_empty() {
            return Look { layout: &self.layout, tests: &self.tests, values: &[] }.decide(&self.root, row);
        }
        let parts = row.properties.parts()?;
        if self.layout.fit(&parts)? {
            return Look { layout: &self.layout, tests: &self.tests, values: parts.values }
                .decide(&self.root, row);
        }
        self.results.fill(TestResult::Open);
        let mut walk = Walk {
            names: &self.names,
            tests: &self.tests,
            results: &mut self.results,
            properties: row.properties.iter(),
        };
        walk.decide(&self.root, row)
    }
}

/// A row, or as much of it as is needed.
trait Ask {
    /// Result of a test of a property; `false` for a missing property.
    fn ask(&mut self, name: usize, test: usize) -> Result<bool, CorruptRow>;

    /// Does the filter match the row?
    fn decide(&mut self, node: &Node, row: &EntityRow<'_>) -> Result<bool, CorruptRow> {
        match node {
            Node::All(parts) => {
                for part in parts {
                    if !self.decide(part, row)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Any(parts) => {
                for part in parts {
                    if self.decide(part, row)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Node::Property { name, test } => self.ask(*name, *test),
            Node::System(system, test) => Ok(test.ask(match system {
                System::Partition => ValueRef::String(row.partition),
                System::Row => ValueRef::String(row.row),
                System::Timestamp => ValueRef::DateTime(row.timestamp),
            })),
            Node::Constant(value) => Ok(*value),
        }
    }
}

/// A row whose property positions are known.
struct Look<'m, 'r> {
    layout: &'m Layout,
    tests: &'m [Test],
    values: &'r [u8],
}

impl Ask for Look<'_, '_> {
    #[inline]
    fn ask(&mut self, name: usize, test: usize) -> Result<bool, CorruptRow> {
        match self.layout.find(name, self.values)? {
            Some((kind, value)) => self.tests[test].ask_stored(kind, value),
            None => Ok(false),
        }
    }
}

/// A row that is being read.
struct Walk<'m, 'r> {
    names: &'m [Name],
    tests: &'m [Test],
    results: &'m mut [TestResult],
    properties: Iter<'r>,
}

impl Ask for Walk<'_, '_> {
    /// Continues reading until the test has a result or the row ends.
    fn ask(&mut self, _: usize, test: usize) -> Result<bool, CorruptRow> {
        loop {
            match self.results[test] {
                TestResult::Yes => return Ok(true),
                TestResult::No => return Ok(false),
                TestResult::Open => {}
            }
            let Some(property) = self.properties.next_raw()? else { return Ok(false) };
            if let Some(name) = self.names.iter().find(|name| *name.bytes == *property.name()) {
                let value = property.value()?;
                for index in name.tests.clone() {
                    self.results[index] =
                        if self.tests[index].ask(value) { TestResult::Yes } else { TestResult::No };
                }
            }
        }
    }
}

impl Test {
    /// Is the result known and true?
    fn ask(&self, value: ValueRef<'_>) -> bool {
        compare(value, self.operator, &self.literal).is_some_and(|holds| holds != self.negated)
    }

    /// Like `ask`, for a value that is not decoded. Equality of strings is decided by their bytes.
    #[inline]
    fn ask_stored(&self, kind: u8, value: &[u8]) -> Result<bool, CorruptRow> {
        if let (Operator::Eq | Operator::Ne, Value::String(literal)) = (self.operator, &self.literal) {
            let is_text = kind == EdmType::String as u8;
            let holds = (literal.as_bytes() == value) == (self.operator == Operator::Eq);
            return Ok(is_text && holds != self.negated);
        }
        Ok(self.ask(row::decode(kind, value)?))
    }
}

/// The tests of a filter in normal form that need the packed row, in the order of the filter.
fn collect<'e>(expr: &'e Expr, found: &mut Vec<(&'e str, Test)>) {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().for_each(|part| collect(part, found)),
        Expr::Not(_) | Expr::Compare(_) | Expr::Flag(_) => found.extend(packed_test(expr)),
        Expr::Constant(_) => {}
    }
}

fn packed_test(expr: &Expr) -> Option<(&str, Test)> {
    test_of(expr).filter(|(name, _)| system_of(name).is_none())
}

fn test_of(expr: &Expr) -> Option<(&str, Test)> {
    let (inner, negated) = match expr {
        Expr::Not(inner) => (&**inner, true),
        _ => (expr, false),
    };
    match inner {
        Expr::Compare(comparison) => {
            let (operator, literal) = (comparison.operator, comparison.literal.clone());
            Some((&comparison.property, Test { operator, literal, negated }))
        }
        Expr::Flag(name) => {
            Some((name, Test { operator: Operator::Eq, literal: Value::Boolean(true), negated }))
        }
        _ => None,
    }
}

fn system_of(name: &str) -> Option<System> {
    match name {
        PARTITION_KEY => Some(System::Partition),
        ROW_KEY => Some(System::Row),
        TIMESTAMP => Some(System::Timestamp),
        _ => None,
    }
}

/// The distinct names of a sorted list, each with the range of its tests.
fn names_of(found: &[(&str, Test)]) -> Vec<Name> {
    let mut start = 0;
    let groups = found.chunk_by(|(a, _), (b, _)| a == b);
    groups
        .map(|group| {
            let tests = start..start + group.len();
            start = tests.end;
            Name { bytes: group[0].0.as_bytes().into(), tests }
        })
        .collect()
}

/// `next` counts, for each name, the tests already assigned: the sort is stable, so they are in order.
fn compile(expr: &Expr, names: &[Name], next: &mut [usize]) -> Node {
    match expr {
        Expr::And(parts) => Node::All(compile_parts(parts, names, next)),
        Expr::Or(parts) => Node::Any(compile_parts(parts, names, next)),
        Expr::Constant(value) => Node::Constant(*value),
        Expr::Not(_) | Expr::Compare(_) | Expr::Flag(_) => {
            let Some((name, test)) = test_of(expr) else { return Node::Constant(false) };
            if let Some(system) = system_of(name) {
                return Node::System(system, test);
            }
            match names.iter().position(|known| *known.bytes == *name.as_bytes()) {
                Some(at) => {
                    next[at] += 1;
                    Node::Property { name: at, test: names[at].tests.start + next[at] - 1 }
                }
                None => Node::Constant(false),
            }
        }
    }
}

/// Nodes that need no walk come first.
fn compile_parts(parts: &[Expr], names: &[Name], next: &mut [usize]) -> Vec<Node> {
    let mut nodes: Vec<Node> = parts.iter().map(|part| compile(part, names, next)).collect();
    nodes.sort_by_key(|node| !matches!(node, Node::System(..)));
    nodes
}
