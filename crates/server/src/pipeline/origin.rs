//! Protects a server on a developer's machine from web pages.
//!
//! The key of the development account is public, so any web page can sign requests with it. A page of another site must
//! not reach the account unless a CORS rule of the service allows its origin; and a page that has rebound its own name
//! to this machine (DNS rebinding) must not pass as a page of this site. Other programs are not affected: only browsers
//! send the headers that are checked here. Operators can also restrict the host names that any request may use.

use std::net::IpAddr;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, ServiceProperties};
use lazuli_protocol::{Head, cors};

use crate::accounts::DEVELOPMENT_ACCOUNT;
use crate::state::State;

impl State {
    fn has_public_key(&self, account: &str) -> bool {
        account == DEVELOPMENT_ACCOUNT && self.directory.is_given(account)
    }

    /// Rejects a request to a host name that the operator has not allowed.
    pub(super) fn check_host(&self, authority: &str) -> Result<(), Failure> {
        let allowed = &self.config.allowed_hosts;
        let is_allowed = |host: &str| is_address(host) || allowed.iter().any(|entry| names(entry, host));
        if allowed.is_empty() || is_allowed(host_of(authority)) {
            return Ok(());
        }
        let failure = Failure::from(ErrorCode::InvalidHeaderValue)
            .detail("HeaderName", "Host")
            .detail("HeaderValue", authority.to_owned());
        Err(failure.found_in(Origin::FrontEnd))
    }

    /// Rejects a request that a web page makes to an account with a public key, unless a CORS rule allows its origin.
    pub(super) fn check_page(
        &self,
        head: &Head<'_>,
        (account, authority): (&str, &str),
        properties: &ServiceProperties,
    ) -> Result<(), Failure> {
        if head.method == "OPTIONS" || !is_browser(head) || !self.has_public_key(account) {
            return Ok(());
        }
        let origin = head.get_filled("origin");
        if origin.is_some_and(|origin| cors::allows(head.method, origin, &properties.cors)) {
            return Ok(());
        }
        let same_site = origin.is_none_or(|origin| {
            origin.split_once("://").is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(authority))
        });
        let is_navigation = head.get("sec-fetch-mode") == Some("navigate") && head.method == "GET";
        let is_cross_site = head.get("sec-fetch-site") == Some("cross-site") && !is_navigation;
        let is_rebound = !is_local_name(host_of(authority));
        if same_site && !is_cross_site && !is_rebound {
            return Ok(());
        }
        Err(Failure::from(ErrorCode::CorsPreflightFailure).found_in(Origin::FrontEnd))
    }
}

pub(crate) fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().is_ok()
}

pub(crate) fn names(entry: &str, host: &str) -> bool {
    match entry.strip_prefix('.') {
        Some(_) => {
            let start = host.len().checked_sub(entry.len());
            start.and_then(|start| host.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(entry))
        }
        None => host.eq_ignore_ascii_case(entry),
    }
}

/// Do the headers indicate a browser? Pages cannot change these headers. Other programs that send `Origin` are
/// served as Azure serves them.
fn is_browser(head: &Head<'_>) -> bool {
    head.get("sec-fetch-site").is_some()
        || head.get("user-agent").is_some_and(|agent| agent.starts_with("Mozilla/"))
}

/// Is this a name that public DNS cannot resolve? If so, no page of another site can have it.
pub(crate) fn is_local_name(host: &str) -> bool {
    let ends = [".localhost", ".internal", ".local", ".test"];
    is_address(host) || !host.contains('.') || ends.iter().any(|end| host.to_ascii_lowercase().ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (authority, host) in [("a:1", "a"), ("a.b", "a.b"), ("[::1]:10000", "[::1]"), ("[::1]", "[::1]")]
        {
            assert_eq!(host_of(authority), host);
        }
        assert!(is_address("[::1]") && is_address("127.0.0.1") && !is_address("localhost"));
        assert!(names("a.example", "A.example") && !names("a.example", "b.a.example"));
        assert!(names(".example", "b.a.example") && !names(".example", "example") && !names(".x", ""));
        for local in ["127.0.0.1", "localhost", "acct.blob.localhost", "lazuli", "host.docker.internal"] {
            assert!(is_local_name(local), "{local}");
        }
        assert!(!is_local_name("evil.example"));
    }
}
