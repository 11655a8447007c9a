//! Versions of blobs: each acknowledged one is listed and readable until it is deleted, and again once it is restored.

use std::collections::BTreeMap;

use super::Checked;
use crate::network::Fate;

/// A version, identified by the number of the write that created it.
#[derive(Clone, Debug)]
struct KeptVersion {
    id: Option<String>,
    written: Option<Fate>,
    /// Whether it exists after each of its changes, and the outcome of the change. The first change is the
    /// write.
    changes: Vec<(bool, Option<Fate>)>,
}

/// The versions of all blobs, by the name of the blob and the number of the write.
#[derive(Default)]
pub struct KeptLedger(BTreeMap<(String, u64), KeptVersion>);

/// A version, as seen by a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionAccess {
    /// The number of the write.
    pub number: u64,
    /// Its id.
    pub id: String,
    /// The last acknowledged change of it.
    floor: usize,
}

impl KeptLedger {
    /// Records that a write is about to create a version.
    pub fn writing(&mut self, blob: &str, number: u64) {
        let version = KeptVersion { id: None, written: None, changes: vec![(true, None)] };
        self.0.insert((blob.into(), number), version);
    }

    /// Records the outcome of the write.
    pub fn written(&mut self, blob: &str, number: u64, fate: Fate, id: Option<&str>) -> Checked {
        let Some(version) = self.0.get_mut(&(blob.to_owned(), number)) else { return Ok(()) };
        version.written = Some(fate);
        version.id = id.map(str::to_owned);
        version.changes[0].1 = Some(fate);
        match (fate, id) {
            (Fate::Applied, None) => Err(format!("write {number} of {blob} has made no version")),
            _ => Ok(()),
        }
    }

    /// The versions that certainly exist or are deleted: those whose write was acknowledged.
    pub fn versions(&self, blob: &str) -> Vec<VersionAccess> {
        let of = self.0.range((blob.to_owned(), 0)..=(blob.to_owned(), u64::MAX));
        let access = of.filter_map(|((_, number), version)| {
            let id = version.id.clone().filter(|_| version.written == Some(Fate::Applied))?;
            Some(VersionAccess { number: *number, id, floor: floor(version) })
        });
        access.collect()
    }

    /// Does this version certainly exist, as long as only the caller changes it?
    pub fn is_live(&self, blob: &str, number: u64) -> bool {
        let version = self.0.get(&(blob.to_owned(), number));
        version.is_some_and(|version| {
            let since = &version.changes[floor(version)..];
            since.iter().all(|(is_live, fate)| *is_live || *fate == Some(Fate::Rejected))
        })
    }

    /// Records that a version is about to be deleted or restored.
    pub fn changing(&mut self, blob: &str, number: u64, is_live: bool) {
        if let Some(version) = self.0.get_mut(&(blob.to_owned(), number)) {
            version.changes.push((is_live, None));
        }
    }

    /// Records the outcome of that change.
    pub fn changed(&mut self, blob: &str, number: u64, fate: Fate) {
        let version = self.0.get_mut(&(blob.to_owned(), number));
        if let Some(change) = version.and_then(|version| version.changes.last_mut()) {
            change.1 = Some(fate);
        }
    }

    /// Checks whether a request that started with this access was right to find the version or not.
    pub fn check(&self, blob: &str, access: &VersionAccess, is_found: bool) -> Checked {
        let Some(version) = self.0.get(&(blob.to_owned(), access.number)) else { return Ok(()) };
        let since = &version.changes[access.floor..];
        if since.iter().any(|(is_live, fate)| *is_live == is_found && *fate != Some(Fate::Rejected)) {
            return Ok(());
        }
        let (number, what) = (access.number, if is_found { "exists" } else { "is gone" });
        Err(format!("version {number} of {blob} {what}: {version:?} since change {}", access.floor))
    }

    /// Checks that a write that a listing shows was made.
    pub fn check_listed(&self, blob: &str, number: u64) -> Checked {
        match self.0.get(&(blob.to_owned(), number)) {
            None => Err(format!("{blob} shows version {number}, which nobody wrote")),
            Some(version) if version.written == Some(Fate::Rejected) => {
                Err(format!("{blob} shows version {number}, whose write was rejected"))
            }
            Some(_) => Ok(()),
        }
    }
}

/// The last acknowledged change.
fn floor(version: &KeptVersion) -> usize {
    version.changes.iter().rposition(|(_, fate)| *fate == Some(Fate::Applied)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> KeptLedger {
        let mut ledger = KeptLedger::default();
        ledger.writing("b", 1);
        assert_eq!(ledger.written("b", 1, Fate::Applied, Some("id")), Ok(()));
        ledger
    }

    #[test]
    fn a_version_is_lost_if_nothing_has_deleted_it() {
        let mut ledger = written();
        let access = ledger.versions("b").remove(0);
        assert!(ledger.is_live("b", 1));
        assert_eq!(ledger.check("b", &access, true), Ok(()));
        assert!(ledger.check("b", &access, false).is_err());
        ledger.changing("b", 1, false);
        assert_eq!(ledger.check("b", &access, false), Ok(()), "the deletion is under way");
        ledger.changed("b", 1, Fate::Rejected);
        assert!(ledger.check("b", &access, false).is_err());
    }

    #[test]
    fn a_deleted_version_comes_back_only_by_a_restoration() {
        let mut ledger = written();
        ledger.changing("b", 1, false);
        ledger.changed("b", 1, Fate::Applied);
        let access = ledger.versions("b").remove(0);
        assert!(!ledger.is_live("b", 1));
        assert_eq!(ledger.check("b", &access, false), Ok(()));
        assert!(ledger.check("b", &access, true).is_err());
        ledger.changing("b", 1, true);
        ledger.changed("b", 1, Fate::Unknown);
        for is_found in [false, true] {
            assert_eq!(ledger.check("b", &access, is_found), Ok(()), "{is_found}");
        }
        ledger.changing("b", 1, true);
        ledger.changed("b", 1, Fate::Applied);
        let access = ledger.versions("b").remove(0);
        assert!(ledger.check("b", &access, false).is_err());
    }

    #[test]
    fn versions_of_rejected_writes_are_found() {
        let mut ledger = written();
        assert_eq!(ledger.check_listed("b", 1), Ok(()));
        assert!(ledger.check_listed("b", 2).is_err());
        ledger.writing("b", 2);
        assert_eq!(ledger.check_listed("b", 2), Ok(()));
        assert_eq!(ledger.written("b", 2, Fate::Rejected, None), Ok(()));
        assert!(ledger.check_listed("b", 2).is_err());
        assert_eq!(ledger.versions("b").len(), 1);
    }
}
