//! Put Blob of a page blob, and the rows that the generation of a page blob has.

use lazuli_engine::Write;
use lazuli_model::OperationKind;
use lazuli_model::blob::operation::BlobRequest;
use lazuli_model::blob::write::WriteSettings;
use lazuli_model::blob::{BlobKind, Outcome};

use crate::blob::commit::insert;
use crate::blob::core::{At, Core};
use crate::blob::guard::Guard;
use crate::blob::keyspace::{self, Generation, KeySlot};
use crate::blob::put::{Replacement, settled};
use crate::blob::record::{Marks, Pages, Revision, Stored};
use crate::blob::segment::Segment;
use crate::{Grant, Result};

/// The pages that a change concerns.
#[derive(Clone, Debug)]
pub struct Target {
    /// The pages as they were read.
    pub pages: Pages,
    /// The blob has no pages yet: the commit adds these.
    pub is_new: bool,
}

impl Core {
    /// Put Blob of a page blob: all pages are zeros, so only one row is written, which represents them.
    pub async fn create_page(
        &self,
        grant: &Grant,
        request: BlobRequest,
        (size, sequence): (u64, u64),
        settings: WriteSettings,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let kind = OperationKind::PutBlob;
        let guard = Guard::creating(grant, &request, kind, self.clock());
        let generation = self.fresh_generation();
        let pin = self.pins.generation(at.tables.blobs, &at.name, generation);
        let revision = Revision {
            size,
            sequence_number: sequence,
            content: Stored::Pages(Pages::new(generation)),
            ..settled(BlobKind::Page, settings, &request)
        };
        let written = self.replace(&at, guard, Replacement { kind, revision }, vec![root(generation)]).await;
        drop(pin);
        Ok(Outcome::Created(Box::new(written?)))
    }

    /// The pages of the current blob. A blob whose copy has failed has none.
    pub(super) async fn page_target(&self, at: &At) -> Result<Target> {
        let blob = self.head(at).await?.and_then(|head| head.blob);
        Ok(self.target_in(blob.map(|blob| blob.content).unwrap_or_default()))
    }

    /// The pages in the content of a blob.
    pub(super) fn target_in(&self, content: Stored) -> Target {
        match content {
            Stored::Pages(pages) => Target { pages, is_new: false },
            _ => Target { pages: Pages::new(self.fresh_generation()), is_new: true },
        }
    }
}

impl Target {
    /// The rows that the commit writes in addition to those of pages.
    pub fn writes(&self) -> Vec<Write> {
        if self.is_new { vec![root(self.pages.generation)] } else { Vec::new() }
    }

    /// The pages of the blob in the commit `version`. Rejects it with `Conflict` if the blob has other rows by now.
    pub fn pages_of<'a>(
        &self,
        blob: &'a mut Revision,
        marks: &mut Marks,
        version: u64,
    ) -> Result<&'a mut Pages> {
        if self.is_new && blob.content.generation().is_none() {
            blob.content = Stored::Pages(self.pages.clone());
            marks.shape = version;
        }
        match &mut blob.content {
            Stored::Pages(pages)
                if (pages.generation, pages.epoch) == (self.pages.generation, self.pages.epoch) =>
            {
                Ok(pages)
            }
            _ => Err(lazuli_engine::Error::Conflict.into()),
        }
    }
}

/// The row that represents a generation of pages.
pub fn root_row(generation: Generation) -> String {
    keyspace::named(generation, KeySlot::Segment(0))
}

/// Writes the row that represents a generation of pages.
pub fn root(generation: Generation) -> Write {
    insert(root_row(generation), Segment::default().encode())
}
