//! The markers of listings: opaque to clients, versioned, safe in XML and in a URL.
//!
//! A marker contains the name of the first entry of the next page. That entry may have been deleted when the
//! marker is used.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lazuli_model::blob::Revision;
use lazuli_model::blob::list::{BlobPosition, FoundPosition};
use lazuli_model::{DateTime, ErrorCode, Failure};

/// The version of the form, and its length after which the text follows.
const VERSION: &str = "2!";
/// Longer than the marker of the longest name.
const MARKER_BYTES_MAX: usize = 16 * 1024;

/// The marker of a listing of containers, in the form that Azure uses: `/account/name`.
pub fn encode_container(account: &str, name: &str) -> String {
    format!("/{account}/{name}")
}

/// The name of a container in a marker.
pub fn decode_container(marker: &str) -> Result<String, Failure> {
    let name = marker.strip_prefix('/').and_then(|rest| rest.split_once('/')).map(|(_, name)| name);
    name.filter(|name| !name.contains('/')).map(str::to_owned).ok_or_else(unknown)
}

/// The marker of a listing of blobs.
pub fn encode_blob(position: &BlobPosition) -> String {
    let revision = match position.revision {
        None => String::new(),
        Some(Revision::Current) => "c".into(),
        Some(Revision::Snapshot(time)) => format!("s{}", time.ticks()),
        Some(Revision::Version(time)) => format!("v{}", time.ticks()),
    };
    pack(&[&revision, &position.name])
}

/// The position in a marker.
pub fn decode_blob(marker: &str) -> Result<BlobPosition, Failure> {
    let [revision, name] = unpack(marker).ok_or_else(unknown)?;
    let time = |text: &str| text.parse().ok().and_then(DateTime::from_ticks).ok_or_else(unknown);
    let revision = match revision.split_at_checked(1) {
        None => None,
        Some(("c", "")) => Some(Revision::Current),
        Some(("s", ticks)) => Some(Revision::Snapshot(time(ticks)?)),
        Some(("v", ticks)) => Some(Revision::Version(time(ticks)?)),
        Some(_) => return Err(unknown()),
    };
    Ok(BlobPosition { name, revision })
}

/// The marker of a search by tags.
pub fn encode_found(position: &FoundPosition) -> String {
    let first = match &position.value {
        Some(value) => format!("{}/{value}", position.container),
        None => position.container.clone(),
    };
    pack(&[&first, &position.blob])
}

/// The position in a marker. The name of a container never contains a slash.
pub fn decode_found(marker: &str) -> Result<FoundPosition, Failure> {
    let [first, blob] = unpack(marker).ok_or_else(unknown)?;
    let (container, value) = match first.split_once('/') {
        Some((container, value)) => (container.to_owned(), Some(value.to_owned())),
        None => (first, None),
    };
    Ok(FoundPosition { container, value, blob })
}

/// The marker of a page of page ranges.
pub fn encode_offset(offset: u64) -> String {
    pack(&["o", &offset.to_string()])
}

/// The offset in a marker.
pub fn decode_offset(marker: &str) -> Result<u64, Failure> {
    let [kind, offset] = unpack(marker).ok_or_else(unknown)?;
    offset.parse().ok().filter(|_| kind == "o").ok_or_else(unknown)
}

/// The first part never contains a line feed, so a line feed can separate the parts.
fn pack(parts: &[&str; 2]) -> String {
    let text = URL_SAFE_NO_PAD.encode(parts.join("\n"));
    format!("{VERSION}{}!{text}", text.len())
}

fn unpack(marker: &str) -> Option<[String; 2]> {
    let (length, text) = marker.strip_prefix(VERSION)?.split_once('!')?;
    if length.parse::<usize>().ok()? != text.len() || text.len() > MARKER_BYTES_MAX {
        return None;
    }
    let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let (first, second) = plain.split_once('\n')?;
    Some([first.to_owned(), second.to_owned()])
}

fn unknown() -> Failure {
    ErrorCode::OutOfRangeInput.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rejects_other_markers() {
        for marker in
            ["", "x", "2!", "2!4!YQ", "2!2!YQ", "1!4!YWJj", "2!3!%%%", "2!8!enoKeHh4", &"2!".repeat(99)]
        {
            assert_eq!(decode_blob(marker).unwrap_err().code, ErrorCode::OutOfRangeInput, "{marker}");
        }
        assert!(decode_offset(&encode_blob(&BlobPosition { name: "7".into(), revision: None })).is_err());
        for marker in ["", "name", "/account", "/a/b/c"] {
            assert!(decode_container(marker).is_err(), "{marker}");
        }
        assert_eq!(decode_container(&encode_container("dev", "abc")).as_deref(), Ok("abc"));
    }

    proptest! {
        #[test]
        fn positions_survive(name in "\\PC{0,40}|a\nb", kind in 0..4, ticks in 0..DateTime::MAX.ticks()) {
            let time = DateTime::from_ticks(ticks).unwrap();
            let revision = [None, Some(Revision::Current), Some(Revision::Snapshot(time)), Some(Revision::Version(time))]
                [usize::try_from(kind).unwrap()];
            let position = BlobPosition { name: name.clone(), revision };
            let marker = encode_blob(&position);
            prop_assert!(marker.bytes().all(|b| b.is_ascii_alphanumeric() || b"!-_".contains(&b)));
            prop_assert_eq!(decode_blob(&marker), Ok(position));
            for value in [None, Some(String::new()), Some("a/b".to_owned())] {
                let found = FoundPosition { container: "abc".into(), value, blob: name.clone() };
                prop_assert_eq!(decode_found(&encode_found(&found)), Ok(found));
            }
            prop_assert_eq!(decode_offset(&encode_offset(ticks)), Ok(ticks));
        }
    }
}
