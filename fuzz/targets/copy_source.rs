//! URLs of copy sources and webhooks, and the list of allowed hosts: never a panic; an accepted URL names one host, and a
//! list allows nothing but its hosts. The first line of the input is an entry of the list, the rest is a URL.

#![no_main]

use libfuzzer_sys::fuzz_target;

// By their paths: the server as a whole would bring TLS and a runtime into the instrumented build.
#[allow(dead_code, reason = "what the server needs of it is more")]
#[path = "../../crates/server/src/outbound/allow.rs"]
mod allow;
#[allow(dead_code, reason = "what the server needs of it is more")]
#[path = "../../crates/server/src/outbound/url.rs"]
mod url;

use allow::AllowedHost;
use url::OutboundUrl;

fuzz_target!(|input: &str| {
    let (entry, text) = input.split_once('\n').unwrap_or(("", input));
    let Ok(url) = text.parse::<OutboundUrl>() else { return };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    assert!(!url.host.is_empty() && url.host.bytes().all(is_host), "{url:?}");
    assert!(url.port > 0 && url.target.starts_with('/'), "{url:?}");
    assert!(url.target.bytes().all(|byte| byte.is_ascii_graphic()), "it stands on a request line: {url:?}");
    // Written out again, it is the same.
    let scheme = if url.is_https { "https" } else { "http" };
    let again = format!("{scheme}://{}{}", url.authority(), url.target).parse();
    assert_eq!(again.as_ref(), Ok(&url));
    if let Ok(allowed) = entry.parse::<AllowedHost>()
        && allowed.covers(&url)
    {
        let host = entry.to_ascii_lowercase();
        let name = host.trim_start_matches('[').split([']', ':']).next().unwrap_or_default();
        assert!(url.host.contains(':') || url.host.ends_with(name), "{entry} covers {url:?}");
    }
});
