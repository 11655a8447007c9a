//! The bounds of `bounds.txt`, and how a cost is compared with them.

use std::collections::BTreeMap;

/// The cost of one rejection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Zero if the connection ends without a response.
    pub status: u16,
    /// The error code of the response, or a dash.
    pub code: String,
    /// Bytes of the response.
    pub response: usize,
    /// Allocations, which stand for the work.
    pub allocations: usize,
    /// Bytes that were allocated, freed or not.
    pub bytes: usize,
}

impl Cost {
    /// As a line of the file.
    pub fn line(&self, name: &str) -> String {
        let Self { status, code, response, allocations, bytes } = self;
        format!("{name}: {status} {code} {response} {allocations} {bytes}")
    }
}

/// The bounds by the name of the rejection.
pub struct Bounds(BTreeMap<String, Cost>);

impl Bounds {
    /// Reads lines as [`Cost::line`] writes them. Lines that start with `#` are comments.
    pub fn read(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.map(|line| parse(line).unwrap_or_else(|| panic!("not a bound: {line}"))).collect())
    }

    /// Describes how a cost exceeds its bounds; `None` if it does not.
    pub fn exceeded(&self, name: &str, cost: &Cost) -> Option<String> {
        let line = cost.line(name);
        let Some(bound) = self.0.get(name) else { return Some(format!("{line}: there is no bound")) };
        let is_same = (cost.status, &cost.code) == (bound.status, &bound.code);
        // The lengths of dates and numbers vary, as do the sizes to which buffers grow.
        let is_within = cost.response <= bound.response + 16
            && cost.allocations <= bound.allocations + bound.allocations / 10 + 3
            && cost.bytes <= bound.bytes + bound.bytes / 4 + 2048;
        (!is_same || !is_within).then(|| format!("{line}: the bound is {}", bound.line(name)))
    }

    /// Bounds of which none of the lines is a measurement.
    pub fn unused(&self, lines: &[String]) -> Vec<String> {
        let is_used = |name: &str| lines.iter().any(|line| line.starts_with(&format!("{name}: ")));
        self.0
            .keys()
            .filter(|name| !is_used(name))
            .map(|name| format!("{name}: there is no such rejection"))
            .collect()
    }
}

fn parse(line: &str) -> Option<(String, Cost)> {
    let (name, numbers) = line.split_once(": ")?;
    let mut numbers = numbers.split(' ');
    let cost = Cost {
        status: numbers.next()?.parse().ok()?,
        code: numbers.next()?.to_owned(),
        response: numbers.next()?.parse().ok()?,
        allocations: numbers.next()?.parse().ok()?,
        bytes: numbers.next()?.parse().ok()?,
    };
    Some((name.to_owned(), cost))
}
