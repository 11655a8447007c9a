//! The headers that keep the console's page and the data apart.
//!
//! The page runs only its own scripts: no inline code, no `eval`, no other origin. Strings never become markup,
//! since Trusted Types reject that; the only policy is for the XML of the services, which is parsed as XML and
//! never inserted. Data that is served from the console's origin is sandboxed, so that a blob that is opened as
//! a page has no origin and no scripts.

/// The policy of the page and its files.
pub const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
     connect-src 'self'; frame-src blob:; font-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lazuli-xml";

/// The policy of data.
pub const API_POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// The headers of every response of the console's listener.
pub const COMMON_HEADERS: [(&str, &str); 4] = [
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
];
