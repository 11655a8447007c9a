//! Rows that come from elsewhere with the versions they have there, into an engine that is in use.
//!
//! What must stay true: the version of a row never goes back, none is of the future, and none that was taken over is given
//! out later for another change.

use bytes::Bytes;

use crate::Error;
use crate::types::Version;

/// What came of rows that were to be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// All are there, and durable.
    Done,
    /// Nothing was changed.
    Refused {
        /// The first row that may not be.
        index: usize,
        /// Why.
        reason: Unfit,
    },
}

/// Why a row may not be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The row that is there has a later version: this one.
    Older(Version),
    /// The row that is there has the same version and another value.
    Differs,
    /// The version lies in the future: no later than this one would do.
    Future(Version),
}

/// May a row be taken over where `current` is? `false` if it is there already. `latest` is the later of the clock and of the
/// last version given out.
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

/// An engine that takes over nothing.
pub(crate) fn unsupported() -> Error {
    Error::Unavailable("this engine takes no rows with versions of their own".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_never_go_back() {
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
