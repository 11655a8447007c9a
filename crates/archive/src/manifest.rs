//! The manifest: what belongs to a backup. It is written last, so that a backup with a manifest is whole.
//!
//! JSON, for people and their tools. It carries its own checksum: XXH3 (64 bits) of the same text with the checksum left
//! empty. It is read back only if it is, byte for byte, what this module writes.

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use lazuli_engine::{Marks, TableId, Version};

use crate::block::Totals;
use crate::error::{Error, Result};

/// The name of the file.
pub const FILE: &str = "manifest.json";
/// The number grows with every change that an older version cannot read.
pub const FORMAT: u64 = 1;
/// Largest manifest that is read; one part takes about 150 bytes and holds a gibibyte.
pub const BYTES_MAX: u64 = 64 * 1024 * 1024;

const KIND: &str = "lazuli backup";

/// A file of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// XXH3 (128 bits) of its content.
    pub checksum: u128,
}

/// What belongs to a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// When it was made, for people.
    pub created: String,
    /// What is in it.
    pub totals: Totals,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

impl Manifest {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        let checksum = xxh3_64(self.render("").as_bytes());
        self.render(&format!("{checksum:016x}"))
    }

    fn render(&self, checksum: &str) -> String {
        let Totals { marks, rows, bytes, newest, digest } = self.totals;
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
        // Versions are beyond what many readers of JSON keep exactly as a number.
        let value = json!({
            "kind": KIND,
            "format": FORMAT,
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
        format!("{value:#}\n")
    }

    /// Reads the text of the file.
    pub fn from_text(text: &str) -> Result<Self> {
        let damaged = || Error::damaged(format!("{FILE} is not as it was written"));
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
        Some(Part {
            // Never a name that leads elsewhere.
            name: text(part, "name").filter(|name| *name == part_name(index + 1))?,
            bytes: number(part, "bytes")?,
            checksum: sum(part, "checksum")?,
        })
    });
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
        },
        parts: parts.collect::<Option<Vec<_>>>()?,
    })
}

/// The name of a part; the first is number 1.
pub fn part_name(number: usize) -> String {
    format!("rows-{number:06}.lzb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let part = |number| Part { name: part_name(number), bytes: 99, checksum: 1 << 100 };
        let marks = Marks { last_version: Version(u64::MAX), last_table: TableId(7) };
        Manifest {
            created: "2026-11-16T00:00:00Z".into(),
            totals: Totals { marks, rows: 12, bytes: 345, newest: Version(5), digest: u128::MAX },
            parts: vec![part(1), part(2)],
        }
    }

    #[test]
    fn it_reads_back() {
        assert_eq!(Manifest::from_text(&manifest().to_text()).unwrap(), manifest());
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let text = manifest().to_text();
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            assert!(Manifest::from_text(&changed).is_err(), "bit {bit}: {changed}");
        }
        assert!(Manifest::from_text(&text.replace("\n", "\r\n")).is_err());
    }

    #[test]
    fn the_future_is_refused_by_name() {
        let text = manifest().to_text().replace("\"format\": 1", "\"format\": 2");
        let error = Manifest::from_text(&text).unwrap_err();
        assert!(error.to_string().contains("format 2"), "{error}");
    }
}
