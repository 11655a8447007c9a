//! The manifest: the list of files of a backup. It is written last, so a backup with a manifest is complete.
//!
//! It is JSON, for people and their tools. It contains its own checksum: XXH3 (64 bits) of the same text with
//! an empty checksum. A manifest is accepted only if it is byte by byte equal to what this module would write.

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use lazuli_engine::{Marks, TableId, Version};

use crate::block::{ContentTotals, Totals};
use crate::error::{Error, Result};

/// File name.
pub const FILE: &str = "manifest.json";
/// Incremented with every change that older versions cannot read. Version 2 has content; a backup without
/// content is still written as version 1.
pub const FORMAT: u64 = 2;
const FORMAT_OF_ROWS: u64 = 1;
/// Maximum size of a manifest; an entry takes about 150 bytes for a part of one gibibyte.
pub const BYTES_MAX: u64 = 64 * 1024 * 1024;

const KIND: &str = "lazuli backup";

/// A file of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFile {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// XXH3 (128 bits) of its content.
    pub checksum: u128,
}

/// The files of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Creation time, for people.
    pub created: String,
    /// Totals of the contents.
    pub totals: Totals,
    /// Its parts, in order.
    pub parts: Vec<BlockFile>,
}

impl Manifest {
    /// Text of the file.
    pub fn to_text(&self) -> String {
        let checksum = xxh3_64(self.render("").as_bytes());
        self.render(&format!("{checksum:016x}"))
    }

    fn render(&self, checksum: &str) -> String {
        let Totals { marks, rows, bytes, newest, digest, content } = self.totals;
        let parts: Vec<Value> = self
            .parts
            .iter()
            .map(|part| {
                json!({
                    "name": part.name,
                    "bytes": part.bytes,
                    "checksum": format!("{:032x}", part.checksum),
                })
            })
            .collect();
        // Many JSON parsers cannot represent versions exactly as numbers.
        let mut value = json!({
            "kind": KIND,
            "format": if content.is_some() { FORMAT } else { FORMAT_OF_ROWS },
            "created": self.created,
            "last_version": marks.last_version.0.to_string(),
            "last_table": marks.last_table.0.to_string(),
            "newest": newest.0.to_string(),
            "rows": rows,
            "bytes": bytes,
            "digest": format!("{digest:032x}"),
            "parts": parts,
            "checksum": checksum,
        });
        if let Some(ContentTotals { pieces, bytes, digest }) = content {
            value["content"] =
                json!({ "pieces": pieces, "bytes": bytes, "digest": format!("{digest:032x}") });
        }
        format!("{value:#}\n")
    }

    /// Parses the text of the file.
    pub fn from_text(text: &str) -> Result<Self> {
        let damaged = || Error::damaged(format!("{FILE} was changed"));
        let value: Value = serde_json::from_str(text).map_err(|_| damaged())?;
        if value.get("kind").and_then(Value::as_str) != Some(KIND) {
            return Err(damaged());
        }
        let format = value.get("format").and_then(Value::as_u64).ok_or_else(damaged)?;
        if format > FORMAT {
            return Err(Error::Format(format!("format {format}")));
        }
        let manifest = read(&value).ok_or_else(damaged)?;
        if manifest.to_text() == text { Ok(manifest) } else { Err(damaged()) }
    }
}

fn read(value: &Value) -> Option<Manifest> {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let number = |value: &Value, name: &str| value.get(name)?.as_u64();
    let long = |name: &str| text(value, name)?.parse::<u64>().ok();
    let sum = |value: &Value, name: &str| u128::from_str_radix(&text(value, name)?, 16).ok();
    let parts = value.get("parts")?.as_array()?.iter().enumerate().map(|(index, part)| {
        Some(BlockFile {
            // Reject names that point elsewhere.
            name: text(part, "name").filter(|name| *name == part_name(index + 1))?,
            bytes: number(part, "bytes")?,
            checksum: sum(part, "checksum")?,
        })
    });
    let read_content = |content: &Value| {
        let (pieces, bytes) = (number(content, "pieces")?, number(content, "bytes")?);
        Some(ContentTotals { pieces, bytes, digest: sum(content, "digest")? })
    };
    Some(Manifest {
        created: text(value, "created")?,
        totals: Totals {
            marks: Marks {
                last_version: Version(long("last_version")?),
                last_table: TableId(long("last_table")?),
            },
            rows: number(value, "rows")?,
            bytes: number(value, "bytes")?,
            newest: Version(long("newest")?),
            digest: sum(value, "digest")?,
            content: match value.get("content") {
                Some(content) => Some(read_content(content)?),
                None => None,
            },
        },
        parts: parts.collect::<Option<Vec<_>>>()?,
    })
}

/// Name of a part; the first has number 1.
pub fn part_name(number: usize) -> String {
    format!("rows-{number:06}.lzb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let part = |number| BlockFile { name: part_name(number), bytes: 99, checksum: 1 << 100 };
        let marks = Marks { last_version: Version(u64::MAX), last_table: TableId(7) };
        Manifest {
            created: "2026-11-16T00:00:00Z".into(),
            totals: Totals {
                marks,
                rows: 12,
                bytes: 345,
                newest: Version(5),
                digest: u128::MAX,
                content: None,
            },
            parts: vec![part(1), part(2)],
        }
    }

    fn with_content() -> Manifest {
        let mut manifest = manifest();
        manifest.totals.content = Some(ContentTotals { pieces: 3, bytes: 1 << 40, digest: 9 });
        manifest
    }

    #[test]
    fn a_manifest_round_trips() {
        for manifest in [manifest(), with_content()] {
            assert_eq!(Manifest::from_text(&manifest.to_text()).unwrap(), manifest);
        }
        assert!(manifest().to_text().contains("\"format\": 1"), "an older version can read it");
        assert!(with_content().to_text().contains("\"format\": 2"), "an older version must not read it");
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        for text in [manifest().to_text(), with_content().to_text()] {
            for bit in 0..text.len() * 8 {
                let mut bytes = text.clone().into_bytes();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let Ok(changed) = String::from_utf8(bytes) else { continue };
                assert!(Manifest::from_text(&changed).is_err(), "bit {bit}: {changed}");
            }
            assert!(Manifest::from_text(&text.replace("\n", "\r\n")).is_err());
        }
    }

    #[test]
    fn a_newer_format_is_rejected_and_named() {
        let text = manifest().to_text().replace("\"format\": 1", "\"format\": 3");
        let error = Manifest::from_text(&text).unwrap_err();
        assert!(error.to_string().contains("format 3"), "{error}");
    }
}
