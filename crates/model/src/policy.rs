//! Stored access policies: named terms that are stored with a table and that shared access signatures refer to.

use std::fmt;

use crate::DateTime;

/// Maximum policies of a table. More is `InvalidXmlDocument`.
pub const POLICIES_MAX: usize = 5;
/// Maximum length of a policy name in characters.
pub const POLICY_ID_CHARS_MAX: usize = 64;

/// A policy with its name.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{AccessPolicy, SignedIdentifier};
///
/// let policy = AccessPolicy { permissions: Some("r".into()), ..AccessPolicy::default() };
/// let readers = SignedIdentifier { id: "readers".into(), policy: Some(policy) };
/// assert!(readers.policy.is_some_and(|policy| !policy.is_empty()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIdentifier {
    /// The name, unique in its table.
    pub id: String,
    /// The terms; `None` for absent ones.
    pub policy: Option<AccessPolicy>,
}

/// The terms of access. The signature must specify those that the policy omits.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{AccessPolicy, DateTime};
///
/// let until_2030 = AccessPolicy {
///     expiry: DateTime::parse("2030-01-01"),
///     permissions: Some("raud".into()),
///     ..AccessPolicy::default()
/// };
/// assert_eq!(until_2030.start, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Not before.
    pub start: Option<DateTime>,
    /// Not after.
    pub expiry: Option<DateTime>,
    /// The permissions as they were written: letters of `raud`.
    pub permissions: Option<String>,
}

impl AccessPolicy {
    /// Does it say nothing?
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::AccessPolicy;
    ///
    /// assert!(AccessPolicy::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The permissions of a signature: a set of letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u32);

impl Permissions {
    /// Every letter.
    pub const ALL: Self = Self((1 << 26) - 1);

    /// The set of these letters; `None` if one of them is not in `known`.
    pub fn parse(text: &str, known: &str) -> Option<Self> {
        text.chars().try_fold(Self(0), |set, letter| known.contains(letter).then(|| set.with(letter)))
    }

    /// The set of the lower-case letters among these characters; others are ignored.
    pub fn of(text: &str) -> Self {
        text.chars().fold(Self(0), Self::with)
    }

    /// Are all these letters in the set?
    pub fn allow(self, letters: &str) -> bool {
        Self::of(letters).0 & !self.0 == 0
    }

    /// The letters of both sets.
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The letters in both sets.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Is the set empty?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn with(self, letter: char) -> Self {
        match letter {
            'a'..='z' => Self(self.0 | 1 << (u32::from(letter) - u32::from('a'))),
            _ => self,
        }
    }
}

/// The letters in alphabetical order: equal sets have equal strings.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = ('a'..='z').filter(|letter| self.0 & Self::default().with(*letter).0 != 0);
        letters.try_for_each(|letter| fmt::Write::write_char(f, letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Service;

    #[test]
    fn letters() {
        let parse = |text| Permissions::parse(text, Service::Table.permission_letters());
        assert!(parse("au").is_some_and(|set| set.allow("ua") && set.allow("u") && !set.allow("ar")));
        assert!(parse("").is_some_and(|set| set.allow("") && !set.allow("r")));
        for bad in ["x", "rw", "R", "r a", "rä"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert!(Permissions::of("rwdlacup").allow("cw"));
    }

    #[test]
    fn sets() {
        let [read, write] = ["rl", "wrd"].map(Permissions::of);
        assert_eq!(read.or(write), Permissions::of("dlrw"));
        assert_eq!(read.and(write), Permissions::of("r"));
        assert_eq!(write.and(Permissions::ALL), write);
        assert!(read.and(Permissions::of("w")).is_empty() && !read.is_empty());
        assert_eq!(write.to_string(), "drw");
        assert_eq!(Permissions::of("zza").to_string(), "az");
        assert_eq!(Permissions::default().to_string(), "");
        assert_eq!(Permissions::ALL.to_string(), "abcdefghijklmnopqrstuvwxyz");
    }
}
