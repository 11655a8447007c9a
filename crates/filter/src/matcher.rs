//! A filter made ready for many rows: evaluates on the stored bytes, without allocating.
//!
//! A row is walked at most once, in its own order, and only until the answer is known. Properties that the filter does
//! not name are stepped over undecoded; those it names are compared when they come by, wherever in the filter the
//! comparison stands. Gives the answers of [`crate::matches`].

use std::ops::Range;

use lazuli_model::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::filter::{Expr, Operator};
use lazuli_model::row::{CorruptRow, Iter};
use lazuli_model::{Value, ValueRef};

use crate::Row;
use crate::compare::compare;
use crate::normal::normal;

/// A filter made ready for many rows.
#[derive(Clone, Debug)]
pub struct Matcher {
    root: Node,
    /// The properties to look for.
    names: Vec<Name>,
    /// What is asked of them, those of one property together.
    tests: Vec<Test>,
    /// The answers for the row at hand.
    answers: Vec<Answer>,
}

#[derive(Clone, Debug)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    /// The test with that index.
    Property(usize),
    System(System, Test),
    Constant(bool),
}

#[derive(Clone, Debug)]
struct Name {
    bytes: Box<[u8]>,
    tests: Range<usize>,
}

/// A question about one property; it has no answer where the type is another.
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
enum Answer {
    /// The property has not come by.
    Open,
    Yes,
    No,
}

impl Matcher {
    /// Prepares a filter; no filter wants every row.
    pub fn new(filter: Option<&Expr>) -> Self {
        let expr = filter.map_or(Expr::Constant(true), normal);
        let mut found = Vec::new();
        collect(&expr, &mut found);
        found.sort_by_key(|(name, _)| *name);
        let names = names_of(&found);
        let mut next = vec![0; names.len()];
        let root = compile(&expr, &names, &mut next);
        let tests: Vec<Test> = found.into_iter().map(|(_, test)| test).collect();
        let answers = vec![Answer::Open; tests.len()];
        Self { root, names, tests, answers }
    }

    /// Does the filter want this row?
    pub fn matches(&mut self, row: &Row<'_>) -> Result<bool, CorruptRow> {
        self.answers.fill(Answer::Open);
        let mut walk = Walk {
            names: &self.names,
            tests: &self.tests,
            answers: &mut self.answers,
            properties: row.properties.iter(),
        };
        walk.decide(&self.root, row)
    }
}

/// One row being looked at.
struct Walk<'m, 'r> {
    names: &'m [Name],
    tests: &'m [Test],
    answers: &'m mut [Answer],
    properties: Iter<'r>,
}

impl Walk<'_, '_> {
    fn decide(&mut self, node: &Node, row: &Row<'_>) -> Result<bool, CorruptRow> {
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
            Node::Property(test) => self.answer(*test),
            Node::System(system, test) => Ok(test.ask(match system {
                System::Partition => ValueRef::String(row.partition),
                System::Row => ValueRef::String(row.row),
                System::Timestamp => ValueRef::DateTime(row.timestamp),
            })),
            Node::Constant(value) => Ok(*value),
        }
    }

    /// Walks on until the test has an answer or the row is over, which is one too: a missing property has no answer.
    fn answer(&mut self, test: usize) -> Result<bool, CorruptRow> {
        loop {
            match self.answers[test] {
                Answer::Yes => return Ok(true),
                Answer::No => return Ok(false),
                Answer::Open => {}
            }
            let Some(property) = self.properties.next_raw()? else { return Ok(false) };
            if let Some(name) = self.names.iter().find(|name| *name.bytes == *property.name()) {
                let value = property.value()?;
                for index in name.tests.clone() {
                    self.answers[index] = if self.tests[index].ask(value) { Answer::Yes } else { Answer::No };
                }
            }
        }
    }
}

impl Test {
    /// Is the answer known, and is it yes?
    fn ask(&self, value: ValueRef<'_>) -> bool {
        compare(value, self.operator, &self.literal).is_some_and(|holds| holds != self.negated)
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

/// The different names of a sorted list, each with where its tests are.
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

/// `next` counts, for each name, the tests already given a place: the sort was stable, so they come in order.
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
                    Node::Property(names[at].tests.start + next[at] - 1)
                }
                None => Node::Constant(false),
            }
        }
    }
}

/// What needs no walk is asked first.
fn compile_parts(parts: &[Expr], names: &[Name], next: &mut [usize]) -> Vec<Node> {
    let mut nodes: Vec<Node> = parts.iter().map(|part| compile(part, names, next)).collect();
    nodes.sort_by_key(|node| !matches!(node, Node::System(..)));
    nodes
}
