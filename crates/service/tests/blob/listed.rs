//! Listings of a world as text.

use lazuli_model::blob::Outcome;
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::list::{BlobEntry, BlobItem, Include, ListBlobs, ListedState};
use lazuli_model::blob::operation::Revision;

use crate::world::{CONTAINER, START_TICKS, World};

impl World {
    /// Everything that a listing returns, as text: `name@snapshot`, `name#version`, `*` for the current version, `-` for
    /// deleted, `!` for a blob of which only versions exist.
    pub async fn listed(&self, include: Include) -> Vec<String> {
        self.listed_by(include, 5000).await
    }

    /// The same, on pages of that size.
    pub async fn listed_by(&self, include: Include, max_results: u32) -> Vec<String> {
        self.entries_by(include, max_results).await.iter().map(text_of).collect()
    }

    /// All entries of a listing.
    pub async fn entries(&self, include: Include) -> Vec<BlobEntry> {
        self.entries_by(include, 5000).await
    }

    async fn entries_by(&self, include: Include, max_results: u32) -> Vec<BlobEntry> {
        let (mut entries, mut from) = (Vec::new(), None);
        loop {
            let list = ListBlobs {
                prefix: String::new(),
                delimiter: None,
                from,
                start_from: None,
                end_before: None,
                max_results,
                include,
            };
            let listing = ContainerAction::ListBlobs(Box::new(list));
            let Outcome::Blobs(page) = self.on_container(CONTAINER, listing).await.unwrap() else { panic!() };
            entries.extend(page.entries);
            from = page.next;
            if from.is_none() {
                return entries;
            }
        }
    }
}

fn text_of(entry: &BlobEntry) -> String {
    let BlobEntry::Blob(BlobItem { name, revision, state, has_versions_only, .. }) = entry else {
        return "?".to_owned();
    };
    let ListedState::Committed(found) = state else { return "?".to_owned() };
    let deleted = if found.deleted.is_some() { "-" } else { "" };
    let current = if found.version.is_some_and(|version| version.is_current) { "*" } else { "" };
    let gone = if has_versions_only == &Some(true) { "!" } else { "" };
    match revision {
        Revision::Current => format!("{name}{current}{deleted}{gone}"),
        Revision::Snapshot(time) => format!("{name}@{}{deleted}", time.ticks() - START_TICKS),
        Revision::Version(time) => format!("{name}#{}{deleted}", time.ticks() - START_TICKS),
    }
}
