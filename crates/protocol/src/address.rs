//! From a request target and a Host header to the account and the resource that they name.
//!
//! Nothing here fails on account of what exists: only on what cannot be an address.

pub mod path;

use std::borrow::Cow;

pub use path::{Resource, parse_path};

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};

use crate::{Head, percent};

/// How the account is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// By the first label of the host.
    Host,
    /// By the first segment of the path.
    Path,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Address<'a> {
    /// The account, without `-secondary`.
    pub account: &'a str,
    /// Was the read-only secondary endpoint addressed?
    pub secondary: bool,
    /// How the account is named.
    pub style: Style,
    /// Host and port as the client knows them.
    pub authority: &'a str,
    /// The path as it was sent, account segment included: this is what is signed.
    pub wire_path: &'a str,
    /// The part of the path after the account, as sent.
    pub resource_path: &'a str,
    /// The query as it was sent, without the question mark.
    pub query: Query<'a>,
}

impl<'a> Address<'a> {
    /// Takes a target apart. `is_account` tells whether an account exists: a host is only taken for an account's when
    /// the account does, so that any name may point at the server in path style.
    pub fn parse(head: &Head<'a>, is_account: impl Fn(&str) -> bool) -> Result<Self, Failure> {
        let (target_authority, path_and_query) = split_target(head.target)?;
        let authority = match target_authority.or_else(|| head.get_filled("host")) {
            Some(authority) => authority,
            None => {
                return Err(Failure::from(ErrorCode::HostInformationNotPresent).found_in(Origin::FrontEnd));
            }
        };
        let (wire_path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let query = Query(query);
        if let Some((account, secondary)) =
            account_of_host(authority).filter(|(account, _)| is_account(account))
        {
            let resource_path = wire_path;
            return Ok(Self {
                account,
                secondary,
                style: Style::Host,
                authority,
                wire_path,
                resource_path,
                query,
            });
        }
        let rest = wire_path.strip_prefix('/').unwrap_or(wire_path);
        let (segment, resource_path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (account, secondary) = split_secondary(segment);
        Ok(Self { account, secondary, style: Style::Path, authority, wire_path, resource_path, query })
    }

    /// The account segment that generated URLs repeat in path style.
    pub fn account_segment(&self) -> Option<Cow<'a, str>> {
        match (self.style, self.secondary) {
            (Style::Host, _) => None,
            (Style::Path, false) => Some(Cow::Borrowed(self.account)),
            (Style::Path, true) => Some(Cow::Owned(format!("{}-secondary", self.account))),
        }
    }
}

/// Splits an absolute URL into authority and the rest; a plain path has no authority.
pub fn split_target(target: &str) -> Result<(Option<&str>, &str), Failure> {
    let unparsable = || Failure::from(ErrorCode::RequestUrlFailedToParse).found_in(Origin::FrontEnd);
    if target.starts_with('/') {
        return Ok((None, target));
    }
    let (_, rest) = target.split_once("://").ok_or_else(unparsable)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.is_empty() { Err(unparsable()) } else { Ok((Some(authority), path)) }
}

/// `{account}[-secondary].table.{anything}`.
fn account_of_host(authority: &str) -> Option<(&str, bool)> {
    let (label, rest) = authority.split_once('.')?;
    rest.starts_with("table.").then(|| split_secondary(label))
}

fn split_secondary(label: &str) -> (&str, bool) {
    match label.strip_suffix("-secondary") {
        Some(account) => (account, true),
        None => (label, false),
    }
}

/// A query string, read on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query<'a>(pub &'a str);

impl<'a> Query<'a> {
    /// Names and values in order, decoded; `None` stands for one that cannot be decoded.
    pub fn pairs(self) -> impl Iterator<Item = Option<(Cow<'a, str>, Cow<'a, str>)>> {
        self.0.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((percent::decode_query(name)?, percent::decode_query(value)?))
        })
    }

    /// The value of the parameter, if it is there and can be decoded.
    pub fn get(self, name: &str) -> Option<Cow<'a, str>> {
        if self.0.is_empty() {
            return None;
        }
        self.pairs().flatten().find(|(given, _)| given == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Field;

    #[track_caller]
    fn check(host: &str, target: &str, expected: (&str, bool, Style, &str)) {
        let fields = [Field { name: "host", value: host }];
        let head = Head { method: "GET", target, fields: &fields };
        let address = Address::parse(&head, |name| name == "dev" || name == "blogs").unwrap();
        assert_eq!(
            (address.account, address.secondary, address.style, address.resource_path),
            expected,
            "{host} {target}"
        );
    }

    /// DM-03, DM-04.
    #[test]
    fn styles() {
        check("127.0.0.1:10002", "/dev/Tables", ("dev", false, Style::Path, "/Tables"));
        check("127.0.0.1:10002", "/dev", ("dev", false, Style::Path, ""));
        check("127.0.0.1:10002", "/dev/", ("dev", false, Style::Path, "/"));
        check("127.0.0.1:10002", "/dev-secondary/T", ("dev", true, Style::Path, "/T"));
        check("blogs.table.core.windows.net", "/Tables", ("blogs", false, Style::Host, "/Tables"));
        check("blogs-secondary.table.core.windows.net", "/", ("blogs", true, Style::Host, "/"));
        check("blogs.table.localhost:10002", "/T()", ("blogs", false, Style::Host, "/T()"));
        check("other.table.localhost:10002", "/dev/T", ("dev", false, Style::Path, "/T"));
        check("ignored", "http://blogs.table.example.org/T?x=1", ("blogs", false, Style::Host, "/T"));
    }

    #[test]
    fn a_request_without_host_is_refused() {
        let head = Head { method: "GET", target: "/dev/Tables", fields: &[] };
        let failure = Address::parse(&head, |_| true).unwrap_err();
        assert_eq!(failure.code, ErrorCode::HostInformationNotPresent);
    }

    #[test]
    fn parameters() {
        let query = Query("%24filter=a%20eq%20'x%26y'&$top=3&NextRowKey=&x+y=1%2B1");
        assert_eq!(query.get("$filter").as_deref(), Some("a eq 'x&y'"));
        assert_eq!(query.get("$top").as_deref(), Some("3"));
        assert_eq!(query.get("NextRowKey").as_deref(), Some(""));
        assert_eq!(query.get("x y").as_deref(), Some("1+1"));
        assert_eq!(query.get("none"), None);
    }
}
