//! Determines the account and the resource of a request from its target and its Host header.
//!
//! Parsing fails only for invalid addresses, never because an account or resource does not exist.

use std::borrow::Cow;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, Service};

use crate::Head;
use crate::http::query::Query;

/// The way in which the account is specified.
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
    /// The way in which the account is specified.
    pub style: Style,
    /// Host and port, as used by the client.
    pub authority: &'a str,
    /// The path as it was sent, including the account segment: this is the form that is signed.
    pub wire_path: &'a str,
    /// The part of the path after the account, as sent.
    pub resource_path: &'a str,
    /// The query as it was sent, without the question mark.
    pub query: Query<'a>,
}

impl<'a> Address<'a> {
    /// Splits a target. `is_account` says whether a host can name an account: true for each account that exists, or false
    /// for all of them if only paths name accounts.
    ///
    /// Any host name can point to the server, so the account is found by known names: `{account}.{service}.…`
    /// always specifies it; otherwise it is the first segment of the path, if there is such an account;
    /// otherwise the first label of the host.
    pub fn parse(
        head: &Head<'a>,
        service: Service,
        is_account: impl Fn(&str) -> bool,
    ) -> Result<Self, Failure> {
        let by_path = Self::parse_path(head)?;
        let authority = by_path.authority;
        let of_host = host_label(authority).map(split_secondary).filter(|(account, _)| is_account(account));
        let names_service =
            || names_service(authority, service) || service == Service::Blob && names_website(authority);
        Ok(match of_host {
            Some((account, secondary)) if names_service() || !is_account(by_path.account) => {
                Self { account, secondary, style: Style::Host, resource_path: by_path.wire_path, ..by_path }
            }
            _ => by_path,
        })
    }

    /// Splits a target whose path begins with the account, for any host.
    fn parse_path(head: &Head<'a>) -> Result<Self, Failure> {
        let (target_authority, path_and_query) = split_target(head.target)?;
        let authority = match target_authority.or_else(|| head.get_filled("host")) {
            Some(authority) => authority,
            None => {
                return Err(Failure::from(ErrorCode::HostInformationNotPresent).found_in(Origin::FrontEnd));
            }
        };
        let (wire_path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let rest = wire_path.strip_prefix('/').unwrap_or(wire_path);
        let (segment, resource_path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (account, secondary) = split_secondary(segment);
        Ok(Self {
            account,
            secondary,
            style: Style::Path,
            authority,
            wire_path,
            resource_path,
            query: Query(query),
        })
    }

    /// Is the static website of the account addressed: `{account}.web.…`, or `{account}.z6.web.…` as in Azure?
    pub fn is_website(&self) -> bool {
        self.style == Style::Host && names_website(self.authority)
    }

    /// The account segment, which generated URLs repeat in path style.
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

/// The first label of a host name; `None` for an IP address.
fn host_label(authority: &str) -> Option<&str> {
    let host = authority.split(':').next()?;
    let label = host.split('.').next()?;
    (!label.is_empty() && !label.bytes().all(|b| b.is_ascii_digit())).then_some(label)
}

/// Is the second label the service: `{account}[-secondary].table.{anything}`?
fn names_service(authority: &str, service: Service) -> bool {
    let rest = authority.split_once('.').and_then(|(_, rest)| rest.strip_prefix(service.label()));
    rest.is_some_and(|rest| rest.starts_with('.'))
}

/// Do the labels after the account stand for static websites? In Azure, a zone comes before `web`: `z6`.
fn names_website(authority: &str) -> bool {
    let mut labels = authority.split('.').skip(1);
    let is_zone = |label: &&str| {
        label
            .strip_prefix('z')
            .is_some_and(|zone| !zone.is_empty() && zone.bytes().all(|b| b.is_ascii_digit()))
    };
    let label = match labels.next() {
        Some(label) if is_zone(&label) => labels.next(),
        label => label,
    };
    label == Some("web") && labels.next().is_some()
}

fn split_secondary(label: &str) -> (&str, bool) {
    match label.strip_suffix("-secondary") {
        Some(account) => (account, true),
        None => (label, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::Field;

    #[track_caller]
    fn check(host: &str, target: &str, expected: (&str, bool, Style, &str)) {
        let fields = [Field { name: "host", value: host }];
        let head = Head { method: "GET", target, fields: &fields };
        let address = Address::parse(&head, Service::Table, |name| name == "dev" || name == "blogs").unwrap();
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
        // The oldest documents write the host in two more ways (erratum E18), so any name is accepted.
        check("blogs.tables.core.windows.net", "/Tables", ("blogs", false, Style::Host, "/Tables"));
        check("blogs.windows.core.net", "/Tables", ("blogs", false, Style::Host, "/Tables"));
        check("blogs.table.localhost:10002", "/T()", ("blogs", false, Style::Host, "/T()"));
        check("other.table.localhost:10002", "/dev/T", ("dev", false, Style::Path, "/T"));
        check("lazuli:10002", "/dev/T", ("dev", false, Style::Path, "/T"));
        check("storage.compose.internal", "/dev-secondary/T", ("dev", true, Style::Path, "/T"));
        check("[::1]:10002", "/dev/T", ("dev", false, Style::Path, "/T"));
        check("blogs:10002", "/T", ("blogs", false, Style::Host, "/T"));
        check("blogs.localhost", "/dev/T", ("dev", false, Style::Path, "/T"));
        check("blogs.table.localhost", "/dev/T", ("blogs", false, Style::Host, "/dev/T"));
        check("blogs.blob.localhost", "/T", ("blogs", false, Style::Host, "/T"));
        check("ignored", "http://blogs.table.example.org/T?x=1", ("blogs", false, Style::Host, "/T"));
    }

    #[test]
    fn websites_are_named_by_the_host() {
        for (host, expected) in [
            ("dev.web.localhost:10000", Some("/blogs/a")),
            ("dev.z6.web.core.windows.net", Some("/blogs/a")),
            ("dev-secondary.z13.web.example.org", Some("/blogs/a")),
            ("dev.blob.localhost", None),
            ("dev.zone.web.localhost", None),
            ("dev.web", None),
            ("127.0.0.1:10000", None),
        ] {
            let fields = [Field { name: "host", value: host }];
            let head = Head { method: "GET", target: "/blogs/a", fields: &fields };
            let address =
                Address::parse(&head, Service::Blob, |name| name == "dev" || name == "blogs").unwrap();
            let found = address.is_website().then_some(address.resource_path);
            assert_eq!(found, expected, "{host}");
        }
    }

    #[test]
    fn only_the_path_names_the_account_if_hosts_do_not() {
        let fields = [Field { name: "host", value: "dev.table.localhost:10002" }];
        let head = Head { method: "GET", target: "/dev-secondary/Tables?x=1", fields: &fields };
        let address = Address::parse(&head, Service::Table, |_| false).unwrap();
        assert_eq!((address.account, address.secondary, address.style), ("dev", true, Style::Path));
        assert_eq!((address.resource_path, address.query), ("/Tables", Query("x=1")));
    }

    #[test]
    fn a_request_without_host_is_rejected() {
        let head = Head { method: "GET", target: "/dev/Tables", fields: &[] };
        let failure = Address::parse(&head, lazuli_model::Service::Table, |_| true).unwrap_err();
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
