//! Put Block, Put Block From URL, Put Block List.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::BlockId;
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::{Failure, OperationKind};

use super::blob::BlobPlan;
use super::write::Source;
use super::{Ask, Document, copy, write};
use crate::blob::condition;
use crate::blob::params::{Params, invalid_because, missing};

/// Put Block, from the body or from a URL. It accepts no conditions (BL-06).
pub(super) fn put(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let id = block_id(ask.params)?;
    if ask.head.get_filled("x-ms-copy-source").is_some() {
        write::check_empty(ask.head)?;
        let source = copy::source(ask, Some(OperationKind::PutBlock))?;
        let digests = write::response_digests(ask, source.expected.md5.is_some());
        return BlobPlan::unconditional(ask, BlobAction::PutBlockFromUrl(id, Box::new(source), digests));
    }
    let body = write::body(ask, write::filled_length(ask.head)?)?;
    BlobPlan::unconditional(ask, BlobAction::PutBlock(id, body))
}

fn block_id(params: &Params<'_>) -> Result<BlockId, Failure> {
    let text = params.filled("blockid").ok_or_else(|| missing("blockid"))?;
    decode_id(text).ok_or_else(|| invalid_because("blockid", text, "Not a valid base64 string."))
}

/// A block id in Base64. A space stands for a plus sign that the client did not escape.
fn decode_id(text: &str) -> Option<BlockId> {
    BlockId::new(&STANDARD.decode(text.replace(' ', "+")).ok()?)
}

/// Put Block List. The list is the body; its MD5 does not become a property of the blob.
pub(super) fn commit(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let settings = Box::new(write::block_settings(ask, Source::BlobOnly)?);
    let action = BlobAction::PutBlockList(Vec::new(), settings);
    let conditions = condition::write(ask.head)?;
    Ok(BlobPlan { action, conditions, document: Some(Document::BlockList) })
}
