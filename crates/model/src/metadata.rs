//! User-defined metadata of queues, containers and blobs: names and values, sent as `x-ms-meta-*` headers.
//!
//! Names keep the client's letter case and are compared case-insensitively. No name occurs twice, and the total
//! size stays within [`METADATA_BYTES_MAX`].

use crate::error::{ErrorCode, Failure};

/// Maximum total size of all names and values. Larger is `MetadataTooLarge`.
pub const METADATA_BYTES_MAX: usize = 8 * 1024;

/// Names and values in the order in which the client sent them.
///
/// ```
/// use lazuli_model::Metadata;
///
/// let mut metadata = Metadata::default();
/// metadata.insert("Owner", "Ada")?;
/// assert_eq!(metadata.get("owner"), Some("Ada"));
/// assert_eq!(metadata.iter().next(), Some(("Owner", "Ada")));
/// # Ok::<(), lazuli_model::Failure>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata(Vec<(Box<str>, Box<str>)>);

impl Metadata {
    /// Adds a pair. Fails if the name is empty, illegal or already present, if the value contains control characters,
    /// or if the total becomes too large.
    pub fn insert(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        if name.is_empty() {
            return Err(ErrorCode::EmptyMetadataKey.into());
        }
        if !is_identifier(name) || value.chars().any(char::is_control) || self.get(name).is_some() {
            return Err(ErrorCode::InvalidMetadata.into());
        }
        if self.bytes() + name.len() + value.len() > METADATA_BYTES_MAX {
            return Err(ErrorCode::MetadataTooLarge.into());
        }
        self.0.push((name.into(), value.into()));
        Ok(())
    }

    /// The value for a name, in any letter case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there no pairs?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The total size of all names and values.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// Do both have the same names, in any letter case, with the same values? The order does not matter.
    pub fn is_same(&self, other: &Metadata) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

/// The rule for C# identifiers, as far as header names can express it: a letter or underscore, then also digits.
fn is_identifier(name: &str) -> bool {
    let start = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    name.bytes().next().is_some_and(start) && name.bytes().all(|b| start(b) || b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(pairs: &[(&str, &str)]) -> Result<Metadata, ErrorCode> {
        let mut metadata = Metadata::default();
        for (name, value) in pairs {
            metadata.insert(name, value).map_err(|failure| failure.code)?;
        }
        Ok(metadata)
    }

    #[test]
    fn names_are_identifiers() {
        for good in ["a", "_", "_1", "Owner", "x_y2"] {
            assert!(metadata(&[(good, "v")]).is_ok(), "{good}");
        }
        for bad in ["1a", "a-b", "a b", "a.b", "\u{e9}"] {
            assert_eq!(metadata(&[(bad, "v")]), Err(ErrorCode::InvalidMetadata), "{bad}");
        }
        assert_eq!(metadata(&[("", "v")]), Err(ErrorCode::EmptyMetadataKey));
        assert_eq!(
            metadata(&[("a", "1"), ("A", "1")]),
            Err(ErrorCode::InvalidMetadata),
            "the name occurs twice"
        );
        assert_eq!(metadata(&[("a", "line\nbreak")]), Err(ErrorCode::InvalidMetadata));
        assert!(metadata(&[("a", "")]).is_ok(), "a value may be empty");
    }

    #[test]
    fn the_total_size_is_limited() {
        let most = "v".repeat(METADATA_BYTES_MAX - 2);
        assert_eq!(metadata(&[("a", &most), ("b", "")]).map(|m| m.bytes()), Ok(METADATA_BYTES_MAX));
        assert_eq!(metadata(&[("a", &most), ("b", "v")]), Err(ErrorCode::MetadataTooLarge));
    }

    #[test]
    fn comparison_ignores_order_and_the_case_of_names() {
        let one = metadata(&[("Color", "Red"), ("size", "1")]).unwrap();
        let other = metadata(&[("SIZE", "1"), ("color", "Red")]).unwrap();
        assert!(one.is_same(&other) && other.is_same(&one) && one != other);
        for different in [&[("color", "red"), ("size", "1")][..], &[("color", "Red")], &[]] {
            assert!(!one.is_same(&metadata(different).unwrap()), "{different:?}");
        }
    }
}
