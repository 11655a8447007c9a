//! Which web pages may use the console's listener: its own, and no other.
//!
//! - The `Host` must be an address, a name that public DNS cannot resolve, or one that the operator allows. A page that
//!   has rebound its own name to this machine (DNS rebinding) sends its own name.
//! - Calls carry a header that no form, link or image can send, and that a page of another origin can send only after
//!   a preflight, which is always rejected. A blob cannot be opened as a page of this origin for the same reason.
//! - Browsers announce where a request comes from; these headers must not contradict the rules above.

use lazuli_protocol::{Head, Response};

use crate::pipeline::origin::{host_of, is_local_name, names};

/// The header that every call of the page carries.
const CALL_HEADER: &str = "x-lazuli-console";

/// Rejects a request whose `Host` is not a name of this server.
pub fn check_host(head: &Head<'_>, allowed: &[String]) -> Result<(), Response> {
    let authority = head.get("host").unwrap_or_default();
    let host = host_of(authority);
    let is_known =
        !host.is_empty() && (is_local_name(host) || allowed.iter().any(|entry| names(entry, host)));
    match is_known && head.target.starts_with('/') {
        true => Ok(()),
        false => Err(plain(
            421,
            "unknown host name; use an address or localhost, or allow the name with --allowed-host",
        )),
    }
}

/// Rejects a call that does not come from the console's page.
pub fn check_call(head: &Head<'_>) -> Result<(), Response> {
    let authority = head.get("host").unwrap_or_default();
    let is_from_here = match (head.get("sec-fetch-site"), head.get_filled("origin")) {
        // A proxy may have changed the Host; browsers compare with the name that they used.
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => {
            origin.split_once("://").is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(authority))
        }
        (None, None) => true,
    };
    if head.method == "OPTIONS" || head.get(CALL_HEADER).is_none() || !is_from_here {
        return Err(plain(403, "only the page of the console may call this"));
    }
    Ok(())
}

/// A response in plain text.
pub fn plain(status: u16, text: &'static str) -> Response {
    Response::new(status)
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Cache-Control", "no-store")
        .with_body(format!("{text}\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lazuli_protocol::http::head::Field;

    fn head<'a>(method: &'a str, fields: &'a [Field<'a>]) -> Head<'a> {
        Head { method, target: "/api/settings", fields }
    }

    fn field<'a>(name: &'a str, value: &'a str) -> Field<'a> {
        Field { name, value }
    }

    #[test]
    fn a_rebound_name_gets_nothing() {
        let allowed = ["console.example.org".to_owned()];
        for host in ["127.0.0.1:10003", "localhost:10003", "[::1]:1", "lazuli:10003", "console.example.org"] {
            assert!(check_host(&head("GET", &[field("host", host)]), &allowed).is_ok(), "{host}");
        }
        for host in ["evil.example", "evil.example:10003", "127.0.0.1.evil.example", "", "example.org"] {
            let rejection = check_host(&head("GET", &[field("host", host)]), &allowed);
            assert_eq!(rejection.err().map(|response| response.status), Some(421), "{host}");
        }
        assert!(check_host(&head("GET", &[]), &allowed).is_err());
    }

    #[test]
    fn another_origin_gets_nothing() {
        let (host, call) = (field("Host", "127.0.0.1:10003"), field("X-Lazuli-Console", "1"));
        let checked = |method, more: &[Field<'_>]| {
            let fields: Vec<_> = [host].iter().chain(more).copied().collect();
            check_call(&head(method, &fields)).is_ok()
        };
        assert!(checked("GET", &[call]));
        assert!(checked("PUT", &[call, field("Origin", "http://127.0.0.1:10003")]));
        assert!(checked(
            "PUT",
            &[call, field("Sec-Fetch-Site", "same-origin"), field("Origin", "https://proxy")]
        ));
        assert!(!checked("GET", &[]), "a link or an image");
        assert!(!checked("OPTIONS", &[call]), "a preflight");
        assert!(!checked("GET", &[call, field("Origin", "http://evil.example")]));
        assert!(!checked("GET", &[call, field("Origin", "null")]));
        assert!(!checked("GET", &[call, field("Sec-Fetch-Site", "cross-site")]));
        assert!(
            !checked("GET", &[call, field("Sec-Fetch-Site", "same-site")]),
            "another port of this machine"
        );
        assert!(!checked("GET", &[call, field("Sec-Fetch-Site", "none")]), "an address that someone typed");
    }
}
