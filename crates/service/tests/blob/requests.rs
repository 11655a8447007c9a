//! Requests and bodies as the tests need them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lazuli_model::ErrorCode;
use lazuli_model::blob::block::{BlockRef, BlockSource};
use lazuli_model::blob::container::{ContainerAction, ContainerRequest};
use lazuli_model::blob::copy::SourceBlob;
use lazuli_model::blob::operation::{BlobAction, BlobRequest, Operation, Revision};
use lazuli_model::blob::protection::Encryption;
use lazuli_model::blob::write::{StreamedBody, WriteSettings};
use lazuli_model::blob::{BlobName, BlockId, Conditions, ContainerName, ETag, ETags, Tags};
use lazuli_service::Error;
use lazuli_service::blob::BlobReader;
use lazuli_service::stream::{NextChunk, Source};

use crate::world::CONTAINER;

/// Optional features of the service.
#[derive(Clone, Copy, Default)]
pub struct Features {
    pub versions: bool,
    pub events: bool,
    pub last_access: bool,
    /// A copy of a larger blob continues in the background.
    pub copy_at_once_max: Option<u64>,
}

pub async fn drain(reader: &mut BlobReader) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = reader.next().await? {
        assert!((1..=256 * 1024).contains(&chunk.len()));
        bytes.extend_from_slice(&chunk);
    }
    assert_eq!(reader.left(), 0);
    Ok(bytes)
}

pub fn blob(name: &str, action: BlobAction) -> Operation {
    Operation::Blob(Box::new(BlobRequest {
        container: ContainerName::new(CONTAINER).unwrap(),
        blob: BlobName::new(name).unwrap(),
        revision: Revision::Current,
        lease: None,
        conditions: Conditions::default(),
        encryption: Encryption::default(),
        action,
    }))
}

pub fn container(name: &str, action: ContainerAction) -> Operation {
    Operation::Container(Box::new(ContainerRequest {
        container: ContainerName::new(name).unwrap(),
        lease: None,
        conditions: Conditions::default(),
        action,
    }))
}

/// The source on this server that an operation copies from.
pub fn source_of(operation: &Operation) -> SourceBlob {
    let Operation::Blob(request) = operation else { panic!("{operation:?}") };
    let source = match &request.action {
        BlobAction::PutBlobFromUrl(put) => &put.source,
        BlobAction::Copy(copy) => &copy.source,
        BlobAction::PutBlockFromUrl(_, source, _)
        | BlobAction::AppendBlockFromUrl(source, ..)
        | BlobAction::PutPageFromUrl(_, source, ..)
        | BlobAction::IncrementalCopy(source) => source,
        other => panic!("{other:?}"),
    };
    source.blob.clone().unwrap()
}

/// The operation with a change of its request.
pub fn with(mut operation: Operation, change: impl FnOnce(&mut BlobRequest)) -> Operation {
    if let Operation::Blob(request) = &mut operation {
        change(request);
    }
    operation
}

pub fn body(content: &Bytes) -> StreamedBody {
    StreamedBody { length: content.len() as u64, ..StreamedBody::default() }
}

pub fn block_id(id: &str) -> BlockId {
    BlockId::new(id.as_bytes()).unwrap()
}

pub fn block_ref(id: &str) -> BlockRef {
    let (source, id) = match id.split_at(1) {
        ("-", id) => (BlockSource::Committed, id),
        ("+", id) => (BlockSource::Uncommitted, id),
        _ => (BlockSource::Latest, id),
    };
    BlockRef { source, id: block_id(id) }
}

/// Tags from pairs.
pub fn tags_of(pairs: &[(&str, &str)]) -> Tags {
    let mut tags = Tags::default();
    pairs.iter().for_each(|(name, value)| tags.insert(name, value).unwrap());
    tags
}

/// The settings of a write with these tags.
pub fn tagged(pairs: &[(&str, &str)]) -> WriteSettings {
    WriteSettings { tags: tags_of(pairs), ..WriteSettings::default() }
}

pub fn if_match(etag: ETag) -> Conditions {
    Conditions { if_match: Some(ETags::Listed(vec![etag])), ..Conditions::default() }
}

pub fn if_none_match_any() -> Conditions {
    Conditions { if_none_match: Some(ETags::Any), ..Conditions::default() }
}

/// Numbers that never repeat, spread over all bits.
pub fn entropy(ids: Arc<AtomicU64>) -> Arc<dyn Fn() -> [u8; 16] + Send + Sync> {
    Arc::new(move || {
        let number = ids.fetch_add(1, Ordering::SeqCst) + 1;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        bytes
    })
}

/// Bytes that differ from those of every other number.
pub fn bytes_of(number: u64, length: usize) -> Bytes {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect::<Vec<u8>>()
        .into()
}

/// A body in pieces, which may fail after the last one.
pub struct Pieces {
    pub pieces: Vec<Bytes>,
    pub failure: Option<ErrorCode>,
}

impl Source for Pieces {
    fn next(&mut self) -> NextChunk<'_> {
        let next = match (self.pieces.is_empty(), self.failure) {
            (false, _) => Ok(Some(self.pieces.remove(0))),
            (true, Some(code)) => Err(code.into()),
            (true, None) => Ok(None),
        };
        Box::pin(std::future::ready(next))
    }
}
