//! The append blob: it grows at its end, until it is sealed, deleted or replaced.

use super::{BlobCondition, Output, holds};

/// Maximum letters of most pieces: several fit into the row of the tail.
const SMALL_LETTERS_MAX: u32 = 3_000;
/// Maximum letters of one piece in eight: too many for a row.
const LARGE_LETTERS: u32 = 40_000;

/// An operation of a client on the append blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppendCall {
    /// Reads all of it.
    Get,
    /// Creates it, or replaces it with an empty blob.
    Create {
        /// The change.
        number: u32,
        /// The condition on the blob.
        condition: BlobCondition,
    },
    /// Appends the piece with this number.
    Append {
        /// The change.
        number: u32,
        /// The condition on the blob.
        condition: BlobCondition,
        /// The length that it must have.
        position: Option<u64>,
        /// The length that it must not exceed afterwards.
        size_max: Option<u64>,
    },
    /// Seals it: nothing can be appended any more.
    Seal {
        /// The change.
        number: u32,
        /// The condition on the blob.
        condition: BlobCondition,
        /// The length that it must have.
        position: Option<u64>,
    },
    /// Deletes it.
    Delete {
        /// The condition on the blob.
        condition: BlobCondition,
    },
}

/// The state as seen by a reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AppendView {
    /// The change that created it.
    pub created: u32,
    /// The numbers of its pieces, in order.
    pub pieces: Vec<u32>,
    /// Is it sealed?
    pub is_sealed: bool,
}

/// The append blob.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AppendBlob {
    view: AppendView,
    length: u64,
    /// The change that produced its ETag.
    changed: u32,
}

impl AppendCall {
    /// Changes the blob. Returns the expected response.
    pub fn apply(&self, blob: &mut Option<AppendBlob>) -> Output {
        let changed = blob.as_ref().map(|blob| blob.changed);
        match (self, blob) {
            (AppendCall::Get, blob) => Output::Appends(blob.as_ref().map(|blob| blob.view.clone())),
            (AppendCall::Create { number, condition }, blob) if holds(*condition, changed) => {
                let view = AppendView { created: *number, pieces: Vec::new(), is_sealed: false };
                *blob = Some(AppendBlob { view, length: 0, changed: *number });
                Output::Applied
            }
            (AppendCall::Append { number, condition, position, size_max }, Some(blob))
                if holds(*condition, changed)
                    && !blob.view.is_sealed
                    && position.is_none_or(|position| position == blob.length)
                    && size_max.is_none_or(|max| blob.length + length(*number) <= max) =>
            {
                let offset = blob.length;
                blob.length += length(*number);
                blob.view.pieces.push(*number);
                blob.changed = *number;
                Output::Appended { offset, count: blob.view.pieces.len() as u32 }
            }
            (AppendCall::Seal { number, condition, position }, Some(blob))
                if holds(*condition, changed) && position.is_none_or(|position| position == blob.length) =>
            {
                // Sealing twice changes nothing.
                if !blob.view.is_sealed {
                    blob.view.is_sealed = true;
                    blob.changed = *number;
                }
                Output::Applied
            }
            (AppendCall::Delete { condition }, blob) if changed.is_some() && holds(*condition, changed) => {
                *blob = None;
                Output::Applied
            }
            _ => Output::Rejected,
        }
    }
}

/// The bytes of a piece.
pub fn piece(number: u32) -> Vec<u8> {
    let mut bytes = format!("{number} ").into_bytes();
    bytes.extend((0..letters(number)).map(|at| letter(number, at)));
    bytes
}

/// The length of a piece.
pub fn length(number: u32) -> u64 {
    u64::from(number.max(1).ilog10() + 2 + letters(number))
}

/// The numbers of the pieces in a content; an error if it contains a byte that was not written there.
pub fn pieces(content: &[u8]) -> Result<Vec<u32>, String> {
    let (mut rest, mut found) = (content, Vec::new());
    while !rest.is_empty() {
        let text = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let next = number.and_then(|number| Some((number, rest.strip_prefix(&piece(number)[..])?)));
        let Some((number, after)) = next else {
            let at = content.len() - rest.len();
            return Err(format!("no piece begins at byte {at} of {}", content.len()));
        };
        found.push(number);
        rest = after;
    }
    Ok(found)
}

fn letters(number: u32) -> u32 {
    match number % 8 {
        0 => LARGE_LETTERS,
        _ => number.wrapping_mul(7919) % SMALL_LETTERS_MAX,
    }
}

fn letter(number: u32, at: u32) -> u8 {
    b'a' + (number.wrapping_add(at) % 26) as u8
}
