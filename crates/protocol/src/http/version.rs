//! The `x-ms-version` of a request, and the features that each version introduced.

use std::borrow::Cow;
use std::fmt;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};

use crate::Head;

/// The version of a request. Any well-formed date is accepted; [`ApiVersion::NONE`] stands for a request
/// without the header, which counts as the oldest version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiVersion(u32);

impl ApiVersion {
    /// No version was given.
    pub const NONE: ApiVersion = ApiVersion(0);
    /// Entity group transactions.
    pub const V2009_04_14: ApiVersion = ApiVersion::on(2009, 4, 14);
    /// The version is echoed.
    pub const V2009_09_19: ApiVersion = ApiVersion::on(2009, 9, 19);
    /// Upserts and projection.
    pub const V2011_08_18: ApiVersion = ApiVersion::on(2011, 8, 18);
    /// Shared access signatures and access policies.
    pub const V2012_02_12: ApiVersion = ApiVersion::on(2012, 2, 12);
    /// JSON, `Prefer`, CORS.
    pub const V2013_08_15: ApiVersion = ApiVersion::on(2013, 8, 15);
    /// `api-version` in the query of a request with a shared access signature.
    pub const V2014_02_14: ApiVersion = ApiVersion::on(2014, 2, 14);
    /// The string to sign of a shared access signature contains the name of the service.
    pub const V2015_02_21: ApiVersion = ApiVersion::on(2015, 2, 21);
    /// Shared access signatures for accounts, limits by address and protocol, and 403 for rejected signatures.
    pub const V2015_04_05: ApiVersion = ApiVersion::on(2015, 4, 5);
    /// JSON only.
    pub const V2015_12_11: ApiVersion = ApiVersion::on(2015, 12, 11);
    /// Put Message returns the message; headers without a value are signed.
    pub const V2016_05_31: ApiVersion = ApiVersion::on(2016, 5, 31);
    /// Responses to throttled requests name the limit.
    pub const V2017_04_17: ApiVersion = ApiVersion::on(2017, 4, 17);
    /// `x-ms-error-code` on failures.
    pub const V2017_07_29: ApiVersion = ApiVersion::on(2017, 7, 29);
    /// Bearer tokens.
    pub const V2017_11_09: ApiVersion = ApiVersion::on(2017, 11, 9);
    /// Account information; Put Block From URL; static websites.
    pub const V2018_03_28: ApiVersion = ApiVersion::on(2018, 3, 28);
    /// User delegation keys; the string to sign of a blob token contains the kind of resource.
    pub const V2018_11_09: ApiVersion = ApiVersion::on(2018, 11, 9);
    /// `x-ms-client-request-id` is echoed.
    pub const V2019_02_02: ApiVersion = ApiVersion::on(2019, 2, 2);
    /// Tags and versions of blobs; blocks of 4000 MiB.
    pub const V2019_12_12: ApiVersion = ApiVersion::on(2019, 12, 12);
    /// Tokens for directories.
    pub const V2020_02_10: ApiVersion = ApiVersion::on(2020, 2, 10);
    /// Immutable versions in the properties of containers.
    pub const V2020_10_02: ApiVersion = ApiVersion::on(2020, 10, 2);
    /// A request without credentials gets a challenge with 401; tokens sign the encryption scope.
    pub const V2020_12_06: ApiVersion = ApiVersion::on(2020, 12, 6);

    /// Names that XML cannot represent are percent-encoded in listings of blobs.
    pub const V2021_02_12: ApiVersion = ApiVersion::on(2021, 2, 12);
    /// Appends of 100 MiB.
    pub const V2022_11_02: ApiVersion = ApiVersion::on(2022, 11, 2);
    /// User delegation tokens for one user, and for queues.
    pub const V2025_07_05: ApiVersion = ApiVersion::on(2025, 7, 5);
    /// User delegation tokens sign chosen headers and query parameters.
    pub const V2026_04_06: ApiVersion = ApiVersion::on(2026, 4, 6);
    /// The CRC-64 of a body in addition to the MD5 that the client sent, and the tier of a blob in the response
    /// to a read.
    pub const V2026_10_06: ApiVersion = ApiVersion::on(2026, 10, 6);

    const fn on(year: u32, month: u32, day: u32) -> Self {
        Self(year * 10_000 + month * 100 + day)
    }

    /// Reads `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
            return None;
        }
        let number = |range: std::ops::Range<usize>| {
            bytes[range]
                .iter()
                .try_fold(0_u32, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u32::from(b - b'0')))
        };
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        // A version is a date, so it must exist in the calendar.
        let exists = year > 0 && (1..=days_in(year, month)).contains(&day);
        exists.then(|| Self::on(year, month, day))
    }

    /// The version of a request, from its header.
    pub fn of(head: &Head<'_>) -> Result<Self, Failure> {
        match head.get_filled("x-ms-version") {
            None => Ok(Self::NONE),
            Some(text) => Self::parse(text)
                .ok_or_else(|| Failure::from(ErrorCode::InvalidHeaderValue).found_in(Origin::FrontEnd)),
        }
    }

    /// The version as a string, borrowed if it is a common one.
    pub fn text(self) -> Cow<'static, str> {
        const OFTEN: [(ApiVersion, &str); 4] = [
            (ApiVersion::V2019_02_02, "2019-02-02"),
            (ApiVersion::V2020_12_06, "2020-12-06"),
            (ApiVersion::V2018_03_28, "2018-03-28"),
            (ApiVersion::on(2019, 7, 7), "2019-07-07"),
        ];
        match OFTEN.iter().find(|(version, _)| *version == self) {
            Some((_, text)) => Cow::Borrowed(text),
            None => Cow::Owned(String::from_utf8_lossy(&self.digits()).into_owned()),
        }
    }

    fn digits(self) -> [u8; 10] {
        let mut out = *b"0000-00-00";
        let mut rest = self.0;
        for at in [9, 8, 6, 5, 3, 2, 1, 0] {
            out[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        out
    }

    /// Does an update without `If-Match` insert a missing entity?
    pub fn has_upserts(self) -> bool {
        self >= Self::V2011_08_18
    }

    /// Can a client request JSON?
    pub fn has_json(self) -> bool {
        self >= Self::V2013_08_15
    }

    /// Can a client request Atom?
    pub fn has_atom(self) -> bool {
        self < Self::V2015_12_11
    }
}

/// Number of days of a month; 0 if there is no such month.
fn days_in(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// VR-04: any well-formed date is a version, even one in the future.
    #[test]
    fn well_formed_dates_are_versions() {
        for text in [
            "2009-04-14",
            "2018-03-28",
            "2019-02-02",
            "2019-07-07",
            "2020-12-06",
            "2024-02-29",
            "2026-02-06",
            "2099-12-31",
        ] {
            assert_eq!(ApiVersion::parse(text).map(|v| v.to_string()).as_deref(), Some(text));
            assert_eq!(ApiVersion::parse(text).map(|v| v.text()).as_deref(), Some(text));
        }
        for text in [
            "",
            "2019",
            "2019-2-2",
            "2019-13-01",
            "2019-00-10",
            "2019-01-32",
            "2023-02-30",
            "2023-02-29",
            "2023-04-31",
            "2023-01-00",
            "0000-01-01",
            "banana",
            "2019-02-02x",
            "２019-02-0",
        ] {
            assert_eq!(ApiVersion::parse(text), None, "{text}");
        }
    }

    #[test]
    fn order_is_that_of_dates() {
        assert!(ApiVersion::NONE < ApiVersion::V2009_04_14);
        assert!(ApiVersion::V2011_08_18 < ApiVersion::V2013_08_15);
    }
}
