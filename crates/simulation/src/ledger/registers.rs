//! Registers: rows and blobs with one writer each. A write has a number; a reader may see an interval of numbers.

use std::collections::BTreeMap;

use super::Checked;
use crate::network::Fate;

/// The known state of a write.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// Does the register have a value afterwards?
    is_present: bool,
    fate: Option<Fate>,
}

/// All registers by name.
#[derive(Default)]
pub struct Registers(BTreeMap<String, Vec<Written>>);

impl Registers {
    /// The names of all registers.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// Starts a write of a value or a deletion; returns its number. Numbers start at 1: 0 stands for a register
    /// that was never written.
    pub fn begin(&mut self, name: &str, is_present: bool) -> u64 {
        let never = || vec![Written { is_present: false, fate: Some(Fate::Applied) }];
        let writes = self.0.entry(name.into()).or_insert_with(never);
        writes.push(Written { is_present, fate: None });
        writes.len() as u64 - 1
    }

    /// Records the outcome of a write after its response.
    pub fn settle(&mut self, name: &str, number: u64, fate: Fate) {
        let writes = self.0.get_mut(name).and_then(|writes| writes.get_mut(number as usize));
        if let Some(write) = writes {
            write.fate = Some(fate);
        }
    }

    /// The number of the last acknowledged write: a read that starts now sees it or a later one.
    pub fn floor(&self, name: &str) -> u64 {
        let writes = self.0.get(name).map(Vec::as_slice).unwrap_or_default();
        writes.iter().rposition(|write| write.fate == Some(Fate::Applied)).unwrap_or(0) as u64
    }

    /// The number of the last write that was started.
    pub fn last(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |writes| writes.len() as u64 - 1)
    }

    /// Was a deletion started after write `floor`, or is it that write?
    pub fn may_be_deleted_since(&self, name: &str, floor: u64) -> bool {
        let writes = self.0.get(name).map(Vec::as_slice).unwrap_or_default();
        writes.iter().skip(floor as usize).any(|write| !write.is_present)
    }

    /// Checks a response that only shows whether there is a value. Its request started at `floor`.
    pub fn check_presence(&self, name: &str, floor: u64, is_present: bool) -> Checked {
        let Some(writes) = self.0.get(name) else {
            return if is_present { Err(format!("{name} was never written")) } else { Ok(()) };
        };
        let mut since = writes.iter().skip(floor as usize);
        if since.any(|write| write.is_present == is_present && write.fate != Some(Fate::Rejected)) {
            return Ok(());
        }
        let what = if is_present { "has a value" } else { "has no value" };
        Err(format!("{name} {what}, but write {floor} was acknowledged: {writes:?}"))
    }

    /// Checks the result of a read that started at `floor`: the number of a write, or no value.
    pub fn check(&self, name: &str, floor: u64, seen: Option<u64>) -> Checked {
        let Some(writes) = self.0.get(name) else { return Ok(()) };
        let may_show = |number: usize, is_present: bool| {
            number as u64 >= floor
                && writes
                    .get(number)
                    .is_some_and(|write| write.is_present == is_present && write.fate != Some(Fate::Rejected))
        };
        let is_possible = match seen {
            Some(number) => may_show(number as usize, true),
            None => (0..writes.len()).any(|number| may_show(number, false)),
        };
        if is_possible {
            return Ok(());
        }
        let last = writes.len() - 1;
        Err(format!("{name} shows {seen:?}, but write {floor} was acknowledged and {last} is the last one"))
    }
}
