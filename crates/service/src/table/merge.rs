//! Merging: given properties replace stored ones, all others stay.

use bytes::Bytes;
use lazuli_engine::{Next, Rejected, Update, Version};
use lazuli_model::table::entity::check_size;
use lazuli_model::table::limits::PROPERTIES_MAX;
use lazuli_model::table::row::{CorruptRow, RowBuilder};
use lazuli_model::utf16_cmp;
use lazuli_model::{EntityKey, ErrorCode, PackedRow, Properties};

use crate::Error;

/// Merges properties into the current row, inside the commit.
pub struct Merge {
    key: EntityKey,
    /// In ordinal order of their names.
    incoming: PackedRow,
}

/// The reason why a merge is rejected, as a number: the engine passes it on without interpreting it.
const TOO_LARGE: Rejected = Rejected(1);
const TOO_MANY: Rejected = Rejected(2);
const CORRUPT: Rejected = Rejected(3);

/// The error for a rejected merge.
pub fn rejection(rejected: Rejected) -> Error {
    match rejected {
        TOO_LARGE => ErrorCode::EntityTooLarge.into(),
        TOO_MANY => ErrorCode::TooManyProperties.into(),
        _ => CorruptRow.into(),
    }
}

impl Merge {
    /// A merge of properties that are in ordinal order of their names.
    pub fn new(key: EntityKey, properties: &Properties) -> Self {
        Self { key, incoming: PackedRow::pack(properties) }
    }

    fn merged(&self, current: &PackedRow) -> Result<PackedRow, CorruptRow> {
        let mut kept = Vec::with_capacity(current.count());
        for item in current.iter() {
            let (name, value) = item?;
            if self.incoming.find(name)?.is_none() {
                kept.push((name, value));
            }
        }
        for item in self.incoming.iter() {
            kept.push(item?);
        }
        kept.sort_by(|(a, _), (b, _)| utf16_cmp(a, b));
        let mut builder = RowBuilder::default();
        for (name, value) in kept {
            builder.push(name, value);
        }
        Ok(builder.finish())
    }
}

impl Update for Merge {
    fn next(&self, current: Option<&Bytes>, _: Version) -> Result<Next, Rejected> {
        let row = match current {
            None => self.incoming.clone(),
            Some(bytes) => {
                let current = PackedRow::from_bytes(bytes.clone()).map_err(|_| CORRUPT)?;
                self.merged(&current).map_err(|_| CORRUPT)?
            }
        };
        if row.count() > PROPERTIES_MAX {
            return Err(TOO_MANY);
        }
        check_size(&self.key, &row).map_err(|_| TOO_LARGE)?;
        Ok(Next::Put(row.as_bytes().clone()))
    }
}

#[cfg(test)]
mod tests {
    use lazuli_model::{Key, ValueRef};

    use super::*;

    fn properties(list: &[(&str, i32)]) -> Properties {
        Properties::sorted(list.iter().map(|(name, value)| (*name, ValueRef::Int32(*value))).collect())
            .unwrap()
    }

    fn merge(current: Option<&[(&str, i32)]>, incoming: &[(&str, i32)]) -> String {
        let key = EntityKey { partition: Key::new("p").unwrap(), row: Key::new("r").unwrap() };
        let current = current.map(|list| PackedRow::pack(&properties(list)).as_bytes().clone());
        let next = Merge::new(key, &properties(incoming)).next(current.as_ref(), Version(1));
        let Ok(Next::Put(bytes)) = next else { panic!("not merged: {next:?}") };
        let row = PackedRow::from_bytes(bytes).unwrap();
        row.iter().map(|item| item.map(|(name, value)| format!("{name}={value:?} ")).unwrap()).collect()
    }

    /// OP-11, OP-14: properties that are not given stay; the result is in ordinal order.
    #[test]
    fn merges() {
        assert_eq!(merge(None, &[("b", 1), ("A", 2)]), "A=Int32(2) b=Int32(1) ");
        assert_eq!(
            merge(Some(&[("z", 1), ("b", 2)]), &[("b", 3), ("C", 4)]),
            "C=Int32(4) b=Int32(3) z=Int32(1) "
        );
        assert_eq!(merge(Some(&[("a", 1)]), &[]), "a=Int32(1) ");
    }

    #[test]
    fn the_union_obeys_the_limit() {
        let names: Vec<String> = (0..252).map(|i| format!("p{i}")).collect();
        let full: Vec<(&str, i32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let key = EntityKey { partition: Key::new("p").unwrap(), row: Key::new("r").unwrap() };
        let current = PackedRow::pack(&properties(&full)).as_bytes().clone();
        let over = Merge::new(key.clone(), &properties(&[("one", 1)]));
        assert_eq!(over.next(Some(&current), Version(1)), Err(TOO_MANY));
        let within = Merge::new(key, &properties(&[("p0", 2)]));
        assert!(within.next(Some(&current), Version(1)).is_ok());
    }
}
