//! `CONTAINER/NAME` of a command line.

use std::fmt;

/// A blob, or all blobs whose names start with a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobPath {
    /// The container.
    pub container: String,
    /// The name of the blob, or the prefix; may be empty if a command works on many blobs.
    pub name: String,
}

impl BlobPath {
    /// Reads `CONTAINER` or `CONTAINER/NAME`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (container, name) = text.split_once('/').unwrap_or((text, ""));
        if container.is_empty() {
            return Err("expected CONTAINER/NAME".into());
        }
        Ok(Self { container: container.to_owned(), name: name.to_owned() })
    }

    /// Reads `CONTAINER/NAME`.
    pub fn parse_blob(text: &str) -> Result<Self, String> {
        let path = Self::parse(text)?;
        if path.name.is_empty() { Err("expected CONTAINER/NAME".into()) } else { Ok(path) }
    }

    /// The last segment of the name.
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// Another blob in the same container.
    pub fn sibling(&self, name: String) -> Self {
        Self { container: self.container.clone(), name }
    }

    /// The parts of the request's path.
    pub fn names(&self) -> [&str; 2] {
        [&self.container, &self.name]
    }
}

impl fmt::Display for BlobPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.container, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_and_names() {
        let path = BlobPath::parse_blob("files/a/b c.txt").unwrap();
        assert_eq!(
            (path.container.as_str(), path.name.as_str(), path.file_name()),
            ("files", "a/b c.txt", "b c.txt")
        );
        assert_eq!(BlobPath::parse("files").unwrap().name, "");
        for bad in ["", "/a", "files", "files/"] {
            assert!(BlobPath::parse_blob(bad).is_err(), "{bad}");
        }
    }
}
