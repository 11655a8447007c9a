//! Stored access policies: named terms that a table keeps and that shared access signatures refer to.

use crate::DateTime;

/// Most policies of a table. More is `InvalidXmlDocument`.
pub const POLICIES_MAX: usize = 5;
/// Longest name of a policy in characters.
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

/// The terms of access. What a policy leaves out the signature must say.
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
    /// What is allowed, as it was written: letters of `raud`.
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

/// What a signature allows: a set of letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u32);

impl Permissions {
    /// The set of these letters; `None` if there is one that is not in `known`.
    pub fn parse(text: &str, known: &str) -> Option<Self> {
        text.chars().try_fold(Self(0), |set, letter| known.contains(letter).then(|| set.with(letter)))
    }

    /// The set of those of these letters that are lower-case letters; others mean nothing.
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

    fn with(self, letter: char) -> Self {
        match letter {
            'a'..='z' => Self(self.0 | 1 << (u32::from(letter) - u32::from('a'))),
            _ => self,
        }
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
}
