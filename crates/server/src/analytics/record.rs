//! The data of a request for the log and the metrics, taken while its head is still in memory.
//!
//! It contains nothing secret: signatures in URLs are redacted, header fields with credentials are omitted, and
//! bodies are not read.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use lazuli_model::kind::Access;
use lazuli_model::properties::{LogVersion, Logging, Metrics};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, OperationKind, Service, ServiceProperties};
use lazuli_protocol::auth::bearer::Identity;
use lazuli_protocol::http::response::Context;
use lazuli_protocol::{Address, ApiVersion, Head, Response};

use super::line::LogLine;
use super::status::{self, Auth};
use crate::http;

/// Maximum length of one recorded field.
const TEXT_BYTES_MAX: usize = 4096;

/// A completed request.
#[derive(Clone, Debug)]
pub struct Record {
    /// The service that was addressed.
    pub service: Service,
    /// The account whose service was addressed.
    pub account: String,
    /// At its secondary endpoint?
    pub secondary: bool,
    /// The kind of operation.
    pub kind: OperationKind,
    /// The error, if it failed.
    pub error: Option<ErrorCode>,
    /// How it authenticated.
    pub auth: Auth,
    /// When it came.
    pub start: DateTime,
    /// Time from its head to its response.
    pub time: Duration,
    /// The same time, without receiving the body.
    pub server_time: Duration,
    /// Bytes that came.
    pub ingress: u64,
    /// Bytes that went.
    pub egress: u64,
    /// The metrics that it counts towards.
    pub hour_metrics: Metrics,
    /// The metrics by the minute that it counts towards.
    pub minute_metrics: Metrics,
    /// Its line in the log, if it gets one.
    pub line: Option<LogLine>,
}

/// A completed request, while all of it is still in memory.
pub struct CompletedExchange<'a> {
    /// The service that was addressed.
    pub service: Service,
    /// The request head.
    pub head: &'a Head<'a>,
    /// The address that the request names.
    pub address: &'a Address<'a>,
    /// The address of its sender.
    pub peer: SocketAddr,
    /// The time and the id of the request.
    pub context: &'a Context,
    /// The operation.
    pub kind: OperationKind,
    /// Bytes of its body that were read.
    pub body_bytes: usize,
    /// Time to receive them.
    pub body_time: Duration,
    /// The response.
    pub response: &'a Response,
    /// Time from its head to its response.
    pub time: Duration,
    /// The identity in its bearer token, if that was verified.
    pub identity: Option<&'a Identity>,
    /// The scheme of the URL: `http` or `https`.
    pub scheme: &'a str,
}

/// Does this error mean that authentication failed?
pub fn is_unauthenticated(error: ErrorCode) -> bool {
    use ErrorCode::{
        AuthenticationFailed, InvalidAuthenticationInfo, InvalidBearerToken, NoAuthenticationInformation,
    };
    matches!(
        error,
        AuthenticationFailed | InvalidAuthenticationInfo | InvalidBearerToken | NoAuthenticationInformation
    )
}

/// Do the properties request any records?
pub fn is_wanted(properties: &ServiceProperties) -> bool {
    let Logging { read, write, delete, .. } = properties.logging;
    let measured = |metrics: &Metrics| metrics.include_apis.is_some();
    read || write || delete || measured(&properties.hour_metrics) || measured(&properties.minute_metrics)
}

impl Record {
    /// Records the parts that the properties request; `None` if they request nothing.
    pub fn take(exchange: &CompletedExchange<'_>, properties: &ServiceProperties) -> Option<Self> {
        if !is_wanted(properties) {
            return None;
        }
        let CompletedExchange { head, address, context, kind, response, time, .. } = exchange;
        let auth = auth_of(head, address);
        let (request_head, response_head) = (request_head_bytes(head), response_head_bytes(response));
        let is_logged = logs(&properties.logging, *kind) && status::is_logged(auth, response.error);
        Some(Self {
            service: exchange.service,
            account: address.account.to_owned(),
            secondary: address.secondary,
            kind: *kind,
            error: response.error,
            auth,
            start: context.now,
            time: *time,
            server_time: time.saturating_sub(exchange.body_time),
            ingress: (request_head + exchange.body_bytes) as u64,
            egress: response_head as u64 + http::body_bytes(head.method, response),
            hour_metrics: properties.hour_metrics,
            minute_metrics: properties.minute_metrics,
            line: is_logged
                .then(|| line(exchange, properties.logging.version, auth, (request_head, response_head))),
        })
    }

    /// The memory that the record takes.
    pub fn bytes(&self) -> usize {
        let line = self.line.iter().flat_map(|line| &line.0);
        size_of::<Self>()
            + self.account.len()
            + line.map(|field| size_of::<String>() + field.capacity()).sum::<usize>()
    }

    /// Did the request fail to authenticate?
    pub fn is_unauthenticated(&self) -> bool {
        self.error.is_some_and(is_unauthenticated)
    }

    /// The time at which the request completed.
    pub fn end(&self) -> DateTime {
        let ticks = u64::try_from(self.time.as_nanos() / 100).unwrap_or(0);
        DateTime::from_ticks(self.start.ticks().saturating_add(ticks)).unwrap_or(self.start)
    }
}

/// Is this kind of operation logged?
fn logs(logging: &Logging, kind: OperationKind) -> bool {
    match kind.access() {
        Access::Read => logging.read,
        Access::Write => logging.write,
        Access::Delete => logging.delete,
    }
}

/// How a request authenticates.
fn auth_of(head: &Head<'_>, address: &Address<'_>) -> Auth {
    match head.get_filled("authorization") {
        Some(text) if text.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer ")) => {
            Auth::Bearer
        }
        Some(_) => Auth::Key,
        None if address.query.get("sig").is_some() => Auth::Sas,
        None => Auth::Anonymous,
    }
}

fn line(
    exchange: &CompletedExchange<'_>,
    log_version: LogVersion,
    auth: Auth,
    (request_head, response_head): (usize, usize),
) -> LogLine {
    let CompletedExchange { head, address, context, response, .. } = exchange;
    let header = |name: &str| cut(head.get(name).unwrap_or_default()).into_owned();
    let millis = |time: Duration| time.as_millis().to_string();
    let server_time = exchange.time.saturating_sub(exchange.body_time);
    // Azure's examples of version 2.0 name the account for bearer tokens, too.
    let names_account = auth == Auth::Key || auth == Auth::Bearer && log_version == LogVersion::V2;
    let requester = if names_account { address.account } else { "" };
    let version = match context.version {
        ApiVersion::NONE => String::new(),
        version => version.to_string(),
    };
    let query = if address.query.0.is_empty() { String::new() } else { format!("?{}", address.query.0) };
    let url = format!("{}://{}{}{query}", exchange.scheme, address.authority, address.wire_path);
    // A page that was fetched with a SAS sends that URL as the referrer when it links to others.
    let referrer = redacted(head.get("referer").unwrap_or_default());
    let mut fields = vec![
        log_version.name().into(),
        context.now.iso_seven_digits().as_str().into(),
        exchange.kind.name().into(),
        status::logged(auth, response.error, context.version >= ApiVersion::V2017_04_17),
        response.status.to_string(),
        millis(exchange.time),
        millis(server_time),
        auth.name().into(),
        requester.into(),
        address.account.into(),
        exchange.service.label().into(),
        cut(&redacted(&url)).into_owned(),
        cut(&format!("/{}{}", address.account, address.resource_path)).into_owned(),
        context.request_id.clone(),
        "0".into(),
        exchange.peer.to_string(),
        version,
        request_head.to_string(),
        exchange.body_bytes.to_string(),
        response_head.to_string(),
        http::body_bytes(head.method, response).to_string(),
        head.get("content-length").unwrap_or("0").into(),
        header("content-md5"),
        String::new(),
        response.get("ETag").unwrap_or_default().into(),
        String::new(),
        conditions(head),
        header("user-agent"),
        cut(&referrer).into_owned(),
        header("x-ms-client-request-id"),
    ];
    if log_version == LogVersion::V2 {
        fields.extend(identity(exchange.identity));
    }
    LogLine(fields)
}

/// The fields that only version 2.0 has. The last two are the reserved one and the role assignments, which are
/// always empty: roles are claims of the token.
fn identity(found: Option<&Identity>) -> [String; 8] {
    let Identity { object_id, tenant, application, audience, issuer, user_principal_name } =
        found.cloned().unwrap_or_default();
    [object_id, tenant, application, audience, issuer, user_principal_name, String::new(), String::new()]
        .map(|claim| cut(&claim).into_owned())
}

/// `If-Match=*;If-None-Match=…`
fn conditions(head: &Head<'_>) -> String {
    let names = ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"];
    let used =
        names.iter().filter_map(|name| head.get_filled(name).map(|value| format!("{name}={}", cut(value))));
    used.collect::<Vec<_>>().join(";")
}

/// A URL with its signature redacted, as Azure does.
fn redacted(url: &str) -> String {
    const ENDS: [char; 3] = ['?', '&', '#'];
    let mut out = String::with_capacity(url.len());
    for part in url.split_inclusive(ENDS) {
        let pair = part.strip_suffix(ENDS).unwrap_or(part);
        let is_secret = pair.split_once('=').is_some_and(|(name, _)| is_sig(name));
        out.push_str(if is_secret { "sig=XXXXX" } else { pair });
        out.push_str(&part[pair.len()..]);
    }
    out
}

/// A parameter name may be percent-encoded.
fn is_sig(name: &str) -> bool {
    let decoded = || lazuli_protocol::http::percent::decode_query(name);
    name.eq_ignore_ascii_case("sig")
        || name.contains('%') && decoded().is_some_and(|name| name.eq_ignore_ascii_case("sig"))
}

fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= TEXT_BYTES_MAX {
        return text.into();
    }
    let end = (0..=TEXT_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].into()
}

/// The request line, the fields, and the empty line.
fn request_head_bytes(head: &Head<'_>) -> usize {
    let fields: usize = head.fields.iter().map(|field| field.name.len() + field.value.len() + 4).sum();
    head.method.len() + head.target.len() + " ".len() + " HTTP/1.1\r\n".len() + fields + 2
}

fn response_head_bytes(response: &Response) -> usize {
    let fields: usize = response.fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    let status = "HTTP/1.1 200 \r\n".len() + http::reason(response.status).len();
    let length = response.content_length.unwrap_or(response.body.len() as u64);
    let length = "Content-Length: \r\n".len() + length.to_string().len();
    status + fields + length + 2
}

/// The start of the hour or minute that contains a moment: `unit` is in seconds.
pub fn period_start(moment: DateTime, unit: u64) -> DateTime {
    let unit = unit * TICKS_PER_SECOND;
    DateTime::from_ticks(moment.ticks() / unit * unit).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing secret gets into the log, however it is encoded.
    #[test]
    fn signatures_are_struck_out() {
        for (query, expected) in [
            ("sv=2019-02-02&sig=abc%3D&tn=x", "sv=2019-02-02&sig=XXXXX&tn=x"),
            ("SIG=abc", "sig=XXXXX"),
            ("%73ig=abc", "sig=XXXXX"),
            ("$filter=a%20eq%20'sig'", "$filter=a%20eq%20'sig'"),
            ("signed=1&sig", "signed=1&sig"),
            ("https://host/page?a=b&sig=abc%3D&c=d#sig=x", "https://host/page?a=b&sig=XXXXX&c=d#sig=XXXXX"),
            ("https://host/page?sig=abc", "https://host/page?sig=XXXXX"),
            ("https://host/page", "https://host/page"),
        ] {
            assert_eq!(redacted(query), expected, "{query}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "é".repeat(TEXT_BYTES_MAX);
        assert_eq!(cut(&text).len(), TEXT_BYTES_MAX);
        assert_eq!(cut(&format!("a{text}")).len(), TEXT_BYTES_MAX - 1);
        assert_eq!(cut("short"), "short");
    }
}
