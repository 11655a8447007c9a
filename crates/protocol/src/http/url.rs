//! The base of the URLs that responses contain.

/// Scheme, authority and, in path style, the account: `http://127.0.0.1:10002/devstoreaccount1`, without a final slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base(String);

impl Base {
    /// The base of the URLs of an account.
    pub fn new(scheme: &str, authority: &str, account_segment: Option<&str>) -> Self {
        match account_segment {
            Some(account) => Self([scheme, "://", authority, "/", account].concat()),
            None => Self([scheme, "://", authority].concat()),
        }
    }

    /// The base as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
