//! Query strings, read on demand.

use std::borrow::Cow;

use crate::http::percent;

/// A query string, read on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query<'a>(pub &'a str);

impl<'a> Query<'a> {
    /// Names and values in order, decoded; `None` for one that cannot be decoded.
    pub fn pairs(self) -> impl Iterator<Item = Option<(Cow<'a, str>, Cow<'a, str>)>> {
        self.0.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((percent::decode_query(name)?, percent::decode_query(value)?))
        })
    }

    /// The value of the parameter, if it is present and can be decoded.
    pub fn get(self, name: &str) -> Option<Cow<'a, str>> {
        if self.0.is_empty() {
            return None;
        }
        self.pairs().flatten().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    /// The value of the first parameter with that name, in any letter case, if it can be decoded.
    pub fn find(self, name: &str) -> Option<Cow<'a, str>> {
        if self.0.is_empty() {
            return None;
        }
        self.pairs().flatten().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}
