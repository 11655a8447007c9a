//! Uploads of append and page blobs: create the blob, write its content piece by piece, then set its MD5.
//!
//! The MD5 of a page blob comes last: a blob with an MD5 is complete, so a later upload can skip it. An append
//! blob has none, because later appends would invalidate it.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use lazuli_model::blob::limits::PAGE_BYTES;

use super::{BlobType, Source, Upload, at, exists, is_existing, is_same, unchanged};
use crate::blob::files::{md5, md5_of_file};
use crate::blob::path::BlobPath;
use crate::blob::pool::{Tally, each};
use crate::fault::Fault;
use crate::storage::{Session, Storage, StorageRequest};

/// Size of one request, which all versions of the protocol accept.
pub const PIECE_BYTES: u64 = 4 * 1024 * 1024;

impl Upload {
    /// Uploads a file as an append or page blob.
    pub(super) fn typed(
        &self,
        storage: &Storage,
        file: &Path,
        path: &BlobPath,
        tally: &Tally,
    ) -> Result<(), Fault> {
        let open = File::open(file).map_err(|error| at(file, &error))?;
        let before = open.metadata().map_err(|error| at(file, &error))?;
        let length = before.len();
        if self.kind == BlobType::Page && !length.is_multiple_of(PAGE_BYTES) {
            let what =
                format!("{}: the size of a page blob is a multiple of {PAGE_BYTES} bytes", file.display());
            return Err(what.into());
        }
        let source = Source { file, path, length, md5: md5_of_file(file).map_err(|error| at(file, &error))? };
        let mut session = storage.session();
        if self.kind == BlobType::Page && is_same(&mut session, &source)? {
            tally.add(0, 1, 0);
            return Ok(());
        }
        self.create(&mut session, &source)?;
        let pieces = (0..length.div_ceil(PIECE_BYTES)).map(|index| index * PIECE_BYTES);
        let write = |session: &mut Session<'_>, start: u64| {
            let mut piece = vec![0; usize::try_from(PIECE_BYTES.min(length - start)).unwrap_or_default()];
            open.read_exact_at(&mut piece, start).map_err(|error| at(file, &error))?;
            let bytes = piece.len() as u64;
            self.write(session, path, start, piece)?;
            tally.add(0, 0, bytes);
            Ok(())
        };
        match self.kind {
            // The pages can be written in any order.
            BlobType::Page => each(storage, self.connections.into(), pieces, write)?,
            BlobType::Append | BlobType::Block => {
                for start in pieces {
                    write(&mut session, start)?;
                }
            }
        }
        unchanged(file, &before)?;
        if self.kind == BlobType::Page {
            self.complete(&mut session, &source)?;
        }
        tally.add(1, 0, 0);
        Ok(())
    }

    /// Uploads standard input as an append blob.
    pub(super) fn append_input(
        &self,
        session: &mut Session<'_>,
        path: &BlobPath,
        tally: &Tally,
    ) -> Result<(), Fault> {
        let file = Path::new(path.file_name());
        self.create(session, &Source { file, path, length: 0, md5: String::new() })?;
        let mut input = std::io::stdin().lock();
        loop {
            let mut piece = Vec::new();
            input.by_ref().take(PIECE_BYTES).read_to_end(&mut piece)?;
            if piece.is_empty() {
                break;
            }
            tally.add(0, 0, piece.len() as u64);
            self.write(session, path, 0, piece)?;
        }
        tally.add(1, 0, 0);
        Ok(())
    }

    fn create(&self, session: &mut Session<'_>, source: &Source<'_>) -> Result<(), Fault> {
        let call =
            StorageRequest::new("PUT", &source.path.names()).header("x-ms-blob-type", self.kind.name());
        let size = (self.kind == BlobType::Page).then_some(source.length);
        let call = self.described(call, source.file).maybe_header("x-ms-blob-content-length", size);
        match session.send(&call) {
            Err(fault) if is_existing(&fault) && !self.overwrite => {
                Err(Fault::Rejected(exists(&fault, source)))
            }
            done => done.map(drop),
        }
    }

    /// Writes one piece. In a page blob, zeros at both ends of a piece are not sent.
    fn write(
        &self,
        session: &mut Session<'_>,
        path: &BlobPath,
        start: u64,
        piece: Vec<u8>,
    ) -> Result<(), Fault> {
        let call =
            StorageRequest::new("PUT", &path.names()).maybe_header("x-ms-lease-id", self.lease_id.as_ref());
        let (call, body) = match self.kind {
            BlobType::Page => {
                let Some((offset, pages)) = trimmed(&piece) else { return Ok(()) };
                let first = start + offset as u64;
                let range = format!("bytes={first}-{}", first + pages.len() as u64 - 1);
                let call = call.with("comp", "page").header("x-ms-page-write", "update").repeatable();
                (call.header("x-ms-range", range), pages.to_vec())
            }
            BlobType::Append | BlobType::Block => (call.with("comp", "appendblock"), piece),
        };
        session.send(&call.header("Content-MD5", md5(&body)).body(body)).map(drop)
    }

    /// Sets the MD5 of the whole blob.
    fn complete(&self, session: &mut Session<'_>, source: &Source<'_>) -> Result<(), Fault> {
        let call = StorageRequest::new("PUT", &source.path.names()).with("comp", "properties");
        let call = call.header("x-ms-blob-content-type", self.type_of(source.file));
        let call = call.header("x-ms-blob-content-md5", &source.md5);
        session.send(&call.maybe_header("x-ms-lease-id", self.lease_id.as_ref()).repeatable()).map(drop)
    }
}

/// The pages from the first to the last one that is not all zeros, with their offset.
fn trimmed(piece: &[u8]) -> Option<(usize, &[u8])> {
    let page = PAGE_BYTES as usize;
    let first = piece.iter().position(|byte| *byte != 0)? / page * page;
    let last = piece.iter().rposition(|byte| *byte != 0)? / page * page;
    Some((first, piece.get(first..last + page)?))
}
