//! Writes one blob of Azurite with its content, properties, metadata and tags.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_protocol::xml::write::{document as xml, leaf, nest};
use serde_json::Value as Json;

use super::extents::{Extents, Part};
use super::{metadata, text};
use crate::fault::Fault;
use crate::storage::{Session, StorageRequest, escape};

/// Bytes of content in one request, where content is split.
const PIECE_BYTES: u64 = 4 * 1024 * 1024;
/// Content up to this size is held in memory and sent in one request, as it was sent to Azurite: blobs without
/// blocks, and blocks, which keep their ids. Larger content is split into new blocks.
const BLOCK_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Properties of a blob, and the headers that set them.
const PROPERTIES: [(&str, &str); 5] = [
    ("contentType", "x-ms-blob-content-type"),
    ("contentEncoding", "x-ms-blob-content-encoding"),
    ("contentLanguage", "x-ms-blob-content-language"),
    ("contentDisposition", "x-ms-blob-content-disposition"),
    ("cacheControl", "x-ms-blob-cache-control"),
];

/// Writes blobs.
pub struct UploadWriter<'a, 's> {
    /// The connection.
    pub session: &'a mut Session<'s>,
    /// Where the content is.
    pub extents: &'a mut Extents,
}

impl UploadWriter<'_, '_> {
    /// Writes a blob; returns the bytes of its content.
    pub fn write(&mut self, container: &str, name: &str, document: &Json) -> Result<u64, Fault> {
        let path = [container, name];
        match document.get("properties").map(|properties| text(properties, "blobType")) {
            Some("BlockBlob") => self.block_blob(path, document),
            Some("AppendBlob") => self.append_blob(path, document),
            Some("PageBlob") => self.page_blob(path, document),
            _ => Err(Fault::Message("its type is unknown".into())),
        }
    }

    fn block_blob(&mut self, path: [&str; 2], document: &Json) -> Result<u64, Fault> {
        let blocks = parts(document, "committedBlocksInOrder");
        let whole = document.get("persistency").and_then(Part::of);
        if blocks.is_empty() {
            let length = whole.as_ref().map_or(0, |part| part.length);
            if length <= BLOCK_BYTES_MAX {
                let content = whole.map_or(Ok(Vec::new()), |part| self.extents.read(&part))?;
                let call = StorageRequest::new("PUT", &path).header("x-ms-blob-type", "BlockBlob");
                self.session.send(&described(call, document).body(content).repeatable())?;
                return Ok(length);
            }
        }
        let (ids, bytes) =
            if !blocks.is_empty() && blocks.iter().all(|(_, part)| part.length <= BLOCK_BYTES_MAX) {
                self.same_blocks(path, &blocks)?
            } else {
                let parts: Vec<Part> = blocks.into_iter().map(|(_, part)| part).chain(whole).collect();
                self.new_blocks(path, &parts)?
            };
        let list = xml(|out| nest(out, "BlockList", |out| ids.iter().for_each(|id| leaf(out, "Latest", id))));
        let call = StorageRequest::new("PUT", &path)
            .with("comp", "blocklist")
            .header("Content-Type", "application/xml");
        self.session.send(&described(call, document).body(list).repeatable())?;
        Ok(bytes)
    }

    /// Stages the blocks of the blob under their own ids. One that occurs several times is staged once.
    fn same_blocks(
        &mut self,
        [container, name]: [&str; 2],
        blocks: &[(String, Part)],
    ) -> Result<(Vec<String>, u64), Fault> {
        let (mut ids, mut staged, mut bytes) = (Vec::new(), std::collections::HashSet::new(), 0);
        for (id, part) in blocks {
            if staged.insert(id) {
                self.block(container, name, id, part)?;
            }
            ids.push(id.clone());
            bytes += part.length;
        }
        Ok((ids, bytes))
    }

    /// Stages content in blocks of one size.
    fn new_blocks(
        &mut self,
        [container, name]: [&str; 2],
        parts: &[Part],
    ) -> Result<(Vec<String>, u64), Fault> {
        let (mut ids, mut bytes) = (Vec::new(), 0);
        for piece in parts.iter().flat_map(|part| part.pieces(PIECE_BYTES)) {
            let id = STANDARD.encode(format!("{:010}", ids.len()));
            self.block(container, name, &id, &piece)?;
            ids.push(id);
            bytes += piece.length;
        }
        Ok((ids, bytes))
    }

    /// Stages one block.
    pub fn block(&mut self, container: &str, name: &str, id: &str, part: &Part) -> Result<(), Fault> {
        if part.length > BLOCK_BYTES_MAX {
            return Err(Fault::Message(format!("a block has more than {BLOCK_BYTES_MAX} bytes")));
        }
        let call = StorageRequest::new("PUT", &[container, name]).with("comp", "block").with("blockid", id);
        self.session.send(&call.body(self.extents.read(part)?).repeatable())?;
        Ok(())
    }

    fn append_blob(&mut self, path: [&str; 2], document: &Json) -> Result<u64, Fault> {
        let call = StorageRequest::new("PUT", &path).header("x-ms-blob-type", "AppendBlob");
        self.session.send(&described(call, document).repeatable())?;
        let mut length = 0;
        for (_, part) in parts(document, "committedBlocksInOrder") {
            for piece in part.pieces(PIECE_BYTES) {
                let call = StorageRequest::new("PUT", &path)
                    .with("comp", "appendblock")
                    .header("x-ms-blob-condition-appendpos", length);
                self.session.send(&call.body(self.extents.read(&piece)?))?;
                length += piece.length;
            }
        }
        let is_sealed = document.pointer("/properties/isSealed").and_then(Json::as_bool).unwrap_or_default();
        if is_sealed {
            self.session.send(&StorageRequest::new("PUT", &path).with("comp", "seal").repeatable())?;
        }
        Ok(length)
    }

    fn page_blob(&mut self, path: [&str; 2], document: &Json) -> Result<u64, Fault> {
        let number = |name: &str| document.pointer(&format!("/properties/{name}")).and_then(Json::as_u64);
        let call = StorageRequest::new("PUT", &path).header("x-ms-blob-type", "PageBlob");
        let call = call.header("x-ms-blob-content-length", number("contentLength").unwrap_or_default());
        let call = call.maybe_header("x-ms-blob-sequence-number", number("blobSequenceNumber"));
        self.session.send(&described(call, document).repeatable())?;
        let mut bytes = 0;
        for range in document.get("pageRangesInOrder").and_then(Json::as_array).into_iter().flatten() {
            let start = range.get("start").and_then(Json::as_u64);
            let part = range.get("persistency").and_then(Part::of).filter(|part| !part.is_zero());
            let (Some(mut start), Some(part)) = (start, part) else { continue };
            for piece in part.pieces(PIECE_BYTES) {
                let end = start + piece.length - 1;
                let call = StorageRequest::new("PUT", &path)
                    .with("comp", "page")
                    .header("x-ms-page-write", "update");
                let call = call.header("x-ms-range", format!("bytes={start}-{end}"));
                self.session.send(&call.body(self.extents.read(&piece)?).repeatable())?;
                (start, bytes) = (end + 1, bytes + piece.length);
            }
        }
        Ok(bytes)
    }
}

/// The parts of a list of blocks, with their ids.
fn parts(document: &Json, list: &str) -> Vec<(String, Part)> {
    let blocks = document.get(list).and_then(Json::as_array).into_iter().flatten();
    blocks
        .filter_map(|block| Some((text(block, "name").to_owned(), Part::of(block.get("persistency")?)?)))
        .collect()
}

/// Adds the properties, metadata and tags of a blob.
fn described(mut call: StorageRequest, document: &Json) -> StorageRequest {
    let empty = Json::Null;
    let properties = document.get("properties").unwrap_or(&empty);
    for (member, header) in PROPERTIES {
        let value = text(properties, member);
        call = call.maybe_header(header, (!value.is_empty()).then_some(value));
    }
    call = call.maybe_header("x-ms-blob-content-md5", properties.get("contentMD5").and_then(md5));
    let is_block_blob = text(properties, "blobType") == "BlockBlob";
    let tier = text(properties, "accessTier");
    let is_inferred = properties.get("accessTierInferred").and_then(Json::as_bool).unwrap_or_default();
    // Content in the archive tier cannot have snapshots taken.
    let is_possible = tier != "Archive" || text(document, "snapshot").is_empty();
    call = call.maybe_header(
        "x-ms-access-tier",
        (is_block_blob && !tier.is_empty() && !is_inferred && is_possible).then_some(tier),
    );
    let tags = document.pointer("/blobTags/blobTagSet").and_then(Json::as_array).into_iter().flatten();
    let tags: Vec<String> =
        tags.map(|tag| format!("{}={}", escape(text(tag, "key")), escape(text(tag, "value")))).collect();
    call = call.maybe_header("x-ms-tags", (!tags.is_empty()).then(|| tags.join("&")));
    call.metadata(&metadata(document))
}

/// An MD5 in Base64. Azurite stores it as a Buffer, as an object with the values of its bytes, or as a string.
fn md5(value: &Json) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let byte = |value: &Json| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
    let bytes: Option<Vec<u8>> = match value.get("data").and_then(Json::as_array) {
        Some(list) => list.iter().map(byte).collect(),
        None => (0..16).map(|index: u8| value.get(index.to_string()).and_then(byte)).collect(),
    };
    bytes.filter(|bytes| bytes.len() == 16).map(|bytes| STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_become_headers() {
        let document = json!({
            "snapshot": "", "metadata": { "A": "1" }, "blobTags": { "blobTagSet": [{ "key": "k 1", "value": "v&" }] },
            "properties": {
                "blobType": "BlockBlob", "contentType": "text/plain", "accessTier": "Cool", "accessTierInferred": false,
                "contentMD5": { "type": "Buffer", "data": vec![7; 16] },
            },
        });
        let headers = described(StorageRequest::new("PUT", &["c", "b"]), &document).headers;
        let expected = [
            ("x-ms-blob-content-type", "text/plain"),
            ("x-ms-blob-content-md5", "BwcHBwcHBwcHBwcHBwcHBw=="),
            ("x-ms-access-tier", "Cool"),
            ("x-ms-tags", "k%201=v%26"),
            ("x-ms-meta-A", "1"),
        ];
        assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn checksums_in_all_forms() {
        let numbers: serde_json::Map<String, Json> =
            (0..16).map(|index| (index.to_string(), json!(7))).collect();
        assert_eq!(md5(&Json::Object(numbers)), md5(&json!({ "type": "Buffer", "data": vec![7; 16] })));
        assert_eq!(md5(&json!("x")), Some("x".into()));
        for bad in [json!(null), json!({}), json!({ "data": [1, 2] }), json!({ "data": [300] })] {
            assert_eq!(md5(&bad), None);
        }
    }
}
