//! Rows imported from elsewhere with their versions, into an engine that is in use.
//!
//! Invariants: the version of a row never decreases and is never in the future, and no imported version is issued
//! later for another change.

use bytes::Bytes;

use crate::Error;
use crate::types::Version;

/// The result of importing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// All rows are stored and durable.
    Done,
    /// Nothing was changed.
    Rejected {
        /// Index of the first row that was rejected.
        index: usize,
        /// Why.
        reason: Unfit,
    },
}

/// The reason why a row cannot be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The existing row has this later version.
    Older(Version),
    /// The existing row has the same version and another value.
    Differs,
    /// The version is in the future: it is greater than this one, the latest allowed.
    Future(Version),
}

/// May a row replace `current`? `false` if the same row is already stored. `latest` is the clock's time or the last
/// issued version, whichever is later.
pub fn judge(
    current: Option<(Version, &Bytes)>,
    offered: (Version, &Bytes),
    latest: Version,
) -> std::result::Result<bool, Unfit> {
    match current {
        _ if offered.0 > latest => Err(Unfit::Future(latest)),
        Some((version, _)) if version > offered.0 => Err(Unfit::Older(version)),
        Some(same) if same.0 == offered.0 => {
            if same.1 == offered.1 {
                Ok(false)
            } else {
                Err(Unfit::Differs)
            }
        }
        Some(_) | None => Ok(true),
    }
}

/// The error of an engine that does not support imports.
pub(crate) fn unsupported() -> Error {
    Error::Unavailable("this engine does not support imports of rows with their versions".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_rows_never_decrease() {
        let (a, b) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        let latest = Version(9);
        for (current, offered, expected) in [
            (None, 5, Ok(true)),
            (None, 9, Ok(true)),
            (None, 10, Err(Unfit::Future(latest))),
            (Some((4, &a)), 5, Ok(true)),
            (Some((5, &a)), 5, Ok(false)),
            (Some((5, &b)), 5, Err(Unfit::Differs)),
            (Some((6, &a)), 5, Err(Unfit::Older(Version(6)))),
            (Some((4, &a)), 10, Err(Unfit::Future(latest))),
        ] {
            let current = current.map(|(version, value)| (Version(version), value));
            assert_eq!(judge(current, (Version(offered), &a), latest), expected, "{current:?} {offered}");
        }
    }
}
