//! The content of Azurite's messages and blobs: parts of plain files, which it calls extents.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use serde_json::Value as Json;

use crate::fault::Fault;

/// The extent of zeros, which has no file.
const ZERO: &str = "*ZERO*";

/// A part of an extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    id: String,
    offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl Part {
    /// The part that a document describes.
    pub fn of(persistency: &Json) -> Option<Self> {
        let number = |name: &str| persistency.get(name).and_then(Json::as_u64);
        let id = persistency.get("id").and_then(Json::as_str)?.to_owned();
        Some(Self { id, offset: number("offset")?, length: number("count")? })
    }

    /// Does it contain only zeros?
    pub fn is_zero(&self) -> bool {
        self.id == ZERO
    }

    /// Divides it into pieces of at most `max` bytes.
    pub fn pieces(&self, max: u64) -> impl Iterator<Item = Part> + '_ {
        (0..self.length).step_by(usize::try_from(max).unwrap_or(usize::MAX)).map(move |start| Part {
            id: self.id.clone(),
            offset: self.offset + start,
            length: max.min(self.length - start),
        })
    }
}

/// The directory of the extents of a service. The last file stays open, since adjacent parts are usually read
/// one after the other.
pub struct Extents {
    directory: PathBuf,
    open: Option<(String, File)>,
}

impl Extents {
    /// In a directory.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory, open: None }
    }

    /// The bytes of a part. The caller bounds its length.
    pub fn read(&mut self, part: &Part) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; usize::try_from(part.length).unwrap_or(usize::MAX)];
        if part.is_zero() || bytes.is_empty() {
            return Ok(bytes);
        }
        let path = self.directory.join(&part.id);
        let failed = |error: std::io::Error| Fault::Message(format!("{}: {error}", path.display()));
        // An id is the name of a file here, and nothing else.
        if part.id.contains(['/', '\\']) || part.id.starts_with('.') {
            return Err(Fault::Message(format!("'{}' is not the id of an extent", part.id)));
        }
        if self.open.as_ref().is_none_or(|(id, _)| *id != part.id) {
            self.open = Some((part.id.clone(), File::open(&path).map_err(failed)?));
        }
        if let Some((_, file)) = &self.open {
            file.read_exact_at(&mut bytes, part.offset).map_err(failed)?;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_read_from_their_files() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("e"), "0123456789").unwrap();
        let mut extents = Extents::new(directory.path().to_owned());
        let part = |id: &str, offset: u64, count: u64| {
            Part::of(&json!({ "id": id, "offset": offset, "count": count })).unwrap()
        };
        assert_eq!(extents.read(&part("e", 2, 3)).unwrap(), b"234");
        assert_eq!(extents.read(&part(ZERO, 9, 3)).unwrap(), [0; 3]);
        assert_eq!(extents.read(&part("missing", 0, 0)).unwrap(), b"");
        for bad in [part("missing", 0, 1), part("e", 8, 3), part("../e", 0, 1), part("..", 0, 1)] {
            assert!(extents.read(&bad).is_err(), "{bad:?}");
        }
        assert_eq!(Part::of(&json!({ "id": "e" })), None);
        let pieces: Vec<Part> = part("e", 1, 7).pieces(3).collect();
        assert_eq!(pieces, [part("e", 1, 3), part("e", 4, 3), part("e", 7, 1)]);
    }
}
