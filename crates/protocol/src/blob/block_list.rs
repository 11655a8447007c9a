//! The documents of Put Block List and Get Block List.
//!
//! The order of the elements is the order of the content, even if they refer to different lists.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::block::{BlockEntry, BlockSource};
use lazuli_model::blob::limits::COMMITTED_BLOCKS_MAX;
use lazuli_model::blob::{BlockId, BlockRef};
use lazuli_model::{ErrorCode, Failure};
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::xml;
use crate::xml::read::resolve;
use crate::xml::write::{empty, leaf, nest};

/// Reads a block list.
pub fn decode(body: &[u8]) -> Result<Vec<BlockRef>, Failure> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = std::str::from_utf8(body).map_err(|_| xml::invalid())?;
    let mut reader = Reader::from_str(text);
    let mut walk = Walk::default();
    loop {
        match reader.read_event().map_err(|_| xml::invalid())? {
            Event::Start(start) => walk.start(start.local_name().as_ref(), start.attributes().count())?,
            Event::Empty(start) => {
                walk.start(start.local_name().as_ref(), start.attributes().count())?;
                walk.end()?;
            }
            Event::End(_) => walk.end()?,
            Event::Text(text) => walk.append(&text.xml10_content())?,
            Event::CData(text) => walk.append(&text.xml10_content())?,
            // Base64 needs no references, but a writer may use them for any character.
            Event::GeneralRef(reference) => {
                let character = resolve(&reference).ok_or_else(xml::invalid)?;
                walk.append(character.encode_utf8(&mut [0; 4]))?;
            }
            Event::DocType(_) => return Err(xml::invalid()),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    if walk.is_complete { Ok(walk.blocks) } else { Err(xml::invalid()) }
}

/// Maximum attributes of an element, such as declarations of namespaces.
const ATTRIBUTES_MAX: usize = 8;
/// The longest id in Base64, with white space around it.
const ID_TEXT_BYTES_MAX: usize = 256;

#[derive(Default)]
struct Walk {
    is_open: bool,
    is_complete: bool,
    /// The open entry: its list, and its text so far.
    entry: Option<(BlockSource, String)>,
    blocks: Vec<BlockRef>,
}

impl Walk {
    fn start(&mut self, name: &str, attributes: usize) -> Result<(), Failure> {
        if self.is_complete || attributes > ATTRIBUTES_MAX {
            return Err(xml::invalid());
        }
        if !self.is_open {
            self.is_open = name == "BlockList";
            return if self.is_open { Ok(()) } else { Err(xml::invalid()) };
        }
        let source = match name {
            "Committed" => BlockSource::Committed,
            "Uncommitted" => BlockSource::Uncommitted,
            "Latest" => BlockSource::Latest,
            _ => return Err(xml::invalid()),
        };
        match self.entry.replace((source, String::new())) {
            None => Ok(()),
            Some(_) => Err(xml::invalid()),
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        let Some((source, text)) = self.entry.take() else {
            self.is_complete = self.is_open && !self.is_complete;
            return if self.is_complete { Ok(()) } else { Err(xml::invalid()) };
        };
        let id = STANDARD.decode(text.trim()).ok().and_then(|bytes| BlockId::new(&bytes));
        let id = id.ok_or(ErrorCode::InvalidBlockList)?;
        if self.blocks.len() == COMMITTED_BLOCKS_MAX {
            return Err(ErrorCode::BlockListTooLong.into());
        }
        self.blocks.push(BlockRef { source, id });
        Ok(())
    }

    fn append(&mut self, text: &str) -> Result<(), Failure> {
        match &mut self.entry {
            Some((_, own)) if own.len() + text.len() <= ID_TEXT_BYTES_MAX => own.push_str(text),
            None if text.trim().is_empty() => {}
            _ => return Err(xml::invalid()),
        }
        Ok(())
    }
}

/// Writes the requested lists.
pub fn encode(out: &mut Vec<u8>, committed: Option<&[BlockEntry]>, uncommitted: Option<&[BlockEntry]>) {
    nest(out, "BlockList", |out| {
        for (name, blocks) in [("CommittedBlocks", committed), ("UncommittedBlocks", uncommitted)] {
            match blocks {
                None => {}
                Some([]) => empty(out, name),
                Some(blocks) => nest(out, name, |out| blocks.iter().for_each(|block| entry(out, block))),
            }
        }
    });
}

fn entry(out: &mut Vec<u8>, block: &BlockEntry) {
    nest(out, "Block", |out| {
        leaf(out, "Name", &STANDARD.encode(block.id.as_bytes()));
        leaf(out, "Size", itoa::Buffer::new().format(block.size));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(inner: &str) -> Result<Vec<(BlockSource, String)>, ErrorCode> {
        let body =
            format!("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>{inner}</BlockList>");
        let blocks = decode(body.as_bytes()).map_err(|failure| failure.code)?;
        Ok(blocks
            .into_iter()
            .map(|block| (block.source, String::from_utf8(block.id.as_bytes().to_vec()).unwrap()))
            .collect())
    }

    /// The order of the document is that of the content, across the kinds of elements.
    #[test]
    fn order_is_kept() {
        let found = list(
            "<Latest>MQ==</Latest>\r\n <Committed>Mg==</Committed><Uncommitted>\nMw==\n</Uncommitted><Latest>MQ==</Latest>",
        );
        let expected = [
            (BlockSource::Latest, "1"),
            (BlockSource::Committed, "2"),
            (BlockSource::Uncommitted, "3"),
            (BlockSource::Latest, "1"),
        ];
        assert_eq!(found.unwrap(), expected.map(|(source, id)| (source, id.to_owned())));
        assert_eq!(decode(b"<BlockList />"), Ok(vec![]));
        assert_eq!(decode(b"<BlockList></BlockList>"), Ok(vec![]));
    }

    /// A writer may replace any character by a reference to it.
    #[test]
    fn ids_may_contain_references() {
        let found = list("<Latest>MQ&#61;&#x3d;</Latest><Latest>&#77;g==</Latest>").unwrap();
        assert_eq!(found, [(BlockSource::Latest, "1".into()), (BlockSource::Latest, "2".into())]);
    }

    #[test]
    fn broken_lists() {
        for inner in [
            "<Latest/>",
            "<Latest>!</Latest>",
            "<Latest>&amp;</Latest>",
            "<Latest>MQ</Latest>",
            &format!("<Latest>{}</Latest>", STANDARD.encode([0; 65])),
        ] {
            assert_eq!(list(inner), Err(ErrorCode::InvalidBlockList), "{inner}");
        }
        for inner in [
            "<Newest>MQ==</Newest>",
            "<Latest><Latest>MQ==</Latest></Latest>",
            "text",
            "<Latest>&nbsp;</Latest>",
            "&#61;",
            "</BlockList><BlockList>",
        ] {
            assert_eq!(list(inner), Err(ErrorCode::InvalidXmlDocument), "{inner}");
        }
        for body in
            ["", "x", "<BlockList>", "<Blocks/>", "<BlockList/><BlockList/>", "<!DOCTYPE a><BlockList/>"]
        {
            assert_eq!(decode(body.as_bytes()).unwrap_err().code, ErrorCode::InvalidXmlDocument, "{body}");
        }
        assert!(decode(b"<BlockList>\xff</BlockList>").is_err());
    }

    #[test]
    fn the_number_of_blocks_is_limited() {
        let many = |count| "<Latest>MQ==</Latest>".repeat(count);
        assert_eq!(list(&many(COMMITTED_BLOCKS_MAX)).map(|list| list.len()), Ok(COMMITTED_BLOCKS_MAX));
        assert_eq!(list(&many(COMMITTED_BLOCKS_MAX + 1)), Err(ErrorCode::BlockListTooLong));
    }

    #[test]
    fn lists_as_sent() {
        let blocks = [BlockEntry { id: BlockId::new(b"1").unwrap(), size: 3 }];
        let mut out = Vec::new();
        encode(&mut out, Some(&blocks), Some(&[]));
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "<BlockList><CommittedBlocks><Block><Name>MQ==</Name><Size>3</Size></Block></CommittedBlocks><UncommittedBlocks /></BlockList>"
        );
    }
}
