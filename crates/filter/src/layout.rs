//! Positions of the named properties in a row, cached from one row to the next.
//!
//! Rows of a table mostly have the same properties in the same order, and often values of the same lengths. So the
//! directory of a row is compared with that of the previous row: if it is equal, all positions are the same; if only
//! lengths differ, they are summed again; otherwise the names are searched for.

use lazuli_model::table::row::{CorruptRow, ENTRY_BYTES, Entry, RowParts};

/// Number of consecutive rows with a different layout than their predecessor after which caching is suspended.
const MISSES_MAX: u32 = 4;
/// Number of rows for which caching is suspended.
const PAUSE_ROWS: u32 = 60;

/// Layout of the previous row.
#[derive(Clone, Debug)]
pub struct Layout {
    wanted: Vec<Box<[u8]>>,
    /// Position of the value of each required name, if the row has it.
    spots: Vec<Option<Spot>>,
    /// Number of properties that must be examined to find all of them.
    reach: usize,
    directory: Vec<u8>,
    names: Vec<u8>,
    is_known: bool,
    misses: u32,
    pause: u32,
}

/// Position of one property.
#[derive(Clone, Copy, Debug)]
struct Spot {
    index: usize,
    kind: u8,
    /// Offset of its value within all values.
    start: usize,
    end: usize,
}

impl Layout {
    /// Creates a layout for properties with these names.
    pub fn new(wanted: Vec<Box<[u8]>>) -> Self {
        let spots = vec![None; wanted.len()];
        Self {
            wanted,
            spots,
            reach: 0,
            directory: Vec::new(),
            names: Vec::new(),
            is_known: false,
            misses: 0,
            pause: 0,
        }
    }

    /// Finds the properties in a row; `false` if that is not worthwhile because the rows have different
    /// layouts.
    #[inline]
    pub fn fit(&mut self, row: &RowParts<'_>) -> Result<bool, CorruptRow> {
        if self.is_known && row.names == self.names {
            if row.directory == self.directory {
                return Ok(true);
            }
            if self.has_same_properties(row) {
                self.misses = 0;
                self.directory.copy_from_slice(row.directory);
                self.measure();
                return Ok(true);
            }
        }
        self.fit_other(row)
    }

    /// Type and bytes of the value of the required name at this index.
    #[inline]
    pub fn find<'r>(&self, name: usize, values: &'r [u8]) -> Result<Option<(u8, &'r [u8])>, CorruptRow> {
        match self.spots[name] {
            Some(Spot { kind, start, end, .. }) => {
                values.get(start..end).map(|value| Some((kind, value))).ok_or(CorruptRow)
            }
            None => Ok(None),
        }
    }

    fn fit_other(&mut self, row: &RowParts<'_>) -> Result<bool, CorruptRow> {
        if self.pause > 0 {
            self.pause -= 1;
            return Ok(false);
        }
        self.misses += 1;
        if self.misses > MISSES_MAX {
            (self.misses, self.pause) = (0, PAUSE_ROWS);
        }
        self.learn(row)?;
        Ok(true)
    }

    /// Does the row have the same names and types, regardless of the lengths of the values?
    fn has_same_properties(&self, row: &RowParts<'_>) -> bool {
        let head = |entry: &[u8; ENTRY_BYTES]| [entry[0], entry[1], entry[2]];
        row.directory.len() == self.directory.len()
            && entries(row.directory).zip(entries(&self.directory)).all(|(new, old)| head(new) == head(old))
    }

    fn learn(&mut self, row: &RowParts<'_>) -> Result<(), CorruptRow> {
        self.is_known = false;
        self.reach = 0;
        self.spots.fill(None);
        let mut names = row.names;
        for (index, entry) in entries(row.directory).enumerate() {
            let Entry { kind, name_bytes, .. } = Entry::read(*entry);
            let (name, rest) = names.split_at_checked(name_bytes).ok_or(CorruptRow)?;
            names = rest;
            if let Some(at) = self.wanted.iter().position(|wanted| **wanted == *name) {
                self.spots[at] = Some(Spot { index, kind, start: 0, end: 0 });
                self.reach = index + 1;
            }
        }
        self.directory.clear();
        self.directory.extend_from_slice(row.directory);
        self.names.clear();
        self.names.extend_from_slice(row.names);
        self.is_known = true;
        self.measure();
        Ok(())
    }

    /// Computes the offsets of the values.
    fn measure(&mut self) {
        let mut start = 0_usize;
        for (index, entry) in entries(&self.directory).take(self.reach).enumerate() {
            let end = start.saturating_add(Entry::read(*entry).value_bytes);
            for spot in self.spots.iter_mut().flatten().filter(|spot| spot.index == index) {
                (spot.start, spot.end) = (start, end);
            }
            start = end;
        }
    }
}

fn entries(directory: &[u8]) -> impl Iterator<Item = &[u8; ENTRY_BYTES]> {
    directory.as_chunks().0.iter()
}

#[cfg(test)]
mod tests {
    use lazuli_model::table::row::{RowBuilder, RowRef};
    use lazuli_model::{PackedRow, ValueRef};

    use super::*;

    fn row(properties: &[(&str, &str)]) -> PackedRow {
        let mut builder = RowBuilder::default();
        properties.iter().for_each(|(name, value)| builder.push(name, ValueRef::String(value)));
        builder.finish()
    }

    fn find(layout: &mut Layout, row: &PackedRow) -> Option<String> {
        let parts = RowRef::new(row.as_bytes()).unwrap().parts().unwrap();
        assert!(layout.fit(&parts).unwrap());
        let found = layout.find(0, parts.values).unwrap();
        found.map(|(_, value)| String::from_utf8(value.to_vec()).unwrap())
    }

    #[test]
    fn names_of_equal_total_length_are_distinguished() {
        let mut layout = Layout::new(vec![(*b"bc").into()]);
        for (properties, expected) in [
            (&[("a", "1"), ("bc", "2")][..], Some("2")),
            (&[("a", "1"), ("bc", "3")], Some("3")),
            (&[("a", "1234"), ("bc", "56")], Some("56")),
            (&[("ab", "1"), ("c", "2")], None),
            (&[("bc", "1"), ("a", "2")], Some("1")),
            (&[], None),
        ] {
            assert_eq!(find(&mut layout, &row(properties)).as_deref(), expected, "{properties:?}");
        }
    }

    #[test]
    fn irregular_rows_suspend_the_layout() {
        let mut layout = Layout::new(vec![(*b"a").into()]);
        let rows = ["a", "b", "c", "d"].map(|name| row(&[(name, "1")]));
        let fits = (0..200).filter(|n| {
            let parts = RowRef::new(rows[n % 4].as_bytes()).unwrap().parts().unwrap();
            layout.fit(&parts).unwrap()
        });
        let fits = fits.count();
        assert!(fits < 100, "{fits}");
        assert!(
            RowRef::new(rows[0].as_bytes())
                .unwrap()
                .parts()
                .is_ok_and(|parts| { (0..100).filter(|_| layout.fit(&parts).unwrap()).count() > 50 })
        );
    }
}
