//! Converts an exchange of a transcript to a request: default headers, escapes, signature.

use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, Service};
use lazuli_protocol::Head;
use lazuli_protocol::auth::{self, Scheme};
use lazuli_protocol::http::head::Field;

use crate::http::{TranscriptRequest, header};
use crate::template::Template;
use crate::transcript::{Exchange, Header, SendOptions, Setup};
use crate::values::Values;
use crate::{Target, system};

/// The default version of requests to the Table service.
const TABLE_VERSION: &str = "2019-02-02";
/// The default version of requests to Queue and Blob.
const STORAGE_VERSION: &str = "2021-12-02";

/// The request of an exchange.
pub(crate) fn build(
    exchange: &Exchange,
    setup: &Setup,
    target: &Target,
    values: &mut Values,
) -> Result<TranscriptRequest, String> {
    values.now = shifted(system::now(), exchange.options.date_shift_seconds);
    let wire_target = wire_target(&values.render(&exchange.target)?, values.root());
    let body = exchange.body.as_ref().map(|body| values.render(body)).transpose()?;
    let mut draft = Draft::with_defaults(target.service, values, body.is_some());
    for given in &setup.headers {
        // A request without a body has no Content-Type, even if the file sets a default.
        let is_type = matches!(given, Header::Set(name, _) if name.eq_ignore_ascii_case("Content-Type"));
        if body.is_some() || !is_type {
            draft.apply(std::slice::from_ref(given), values)?;
        }
    }
    draft.apply(&exchange.headers, values)?;
    let mut request = TranscriptRequest {
        method: exchange.method.clone(),
        target: wire_target,
        headers: draft.headers,
        body: body.unwrap_or_default().into_bytes(),
    };
    frame(&mut request, &draft.removed);
    if !draft.removed.iter().any(|name| name == "authorization") {
        sign(&mut request, &exchange.options, target)?;
    }
    Ok(request)
}

/// A request of the runner itself, to set up or clean up.
pub(crate) fn plain(
    method: &str,
    path: &str,
    body: Option<&Template>,
    target: &Target,
    values: &mut Values,
) -> Result<TranscriptRequest, String> {
    let prefer = Header::Set("Prefer".to_owned(), Template::parse("return-no-content"));
    let exchange = Exchange {
        title: String::new(),
        line: 0,
        method: method.to_owned(),
        target: Template::parse(path),
        headers: if target.service == Service::Table { vec![prefer] } else { Vec::new() },
        options: SendOptions::default(),
        body: body.cloned(),
        expected: crate::transcript::Expected::nothing(),
    };
    build(&exchange, &Setup::default(), target, values)
}

fn shifted(now: DateTime, seconds: i64) -> DateTime {
    let ticks = seconds.unsigned_abs().saturating_mul(TICKS_PER_SECOND);
    let moved = if seconds < 0 { now.ticks().saturating_sub(ticks) } else { now.ticks() + ticks };
    DateTime::from_ticks(moved).unwrap_or(now)
}

/// The target with the account's path as a prefix, unless it starts with `=`. Escaped as HTTP requires.
fn wire_target(written: &str, root: &str) -> String {
    let target = match written.strip_prefix('=') {
        Some(verbatim) => verbatim.to_owned(),
        None => format!("{root}{written}"),
    };
    let mut out = String::with_capacity(target.len());
    for byte in target.bytes() {
        if byte <= b' ' || byte >= 0x7f || b"\"<>\\^`{|}".contains(&byte) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

/// The headers of a request while it is built.
struct Draft {
    headers: Vec<(String, String)>,
    /// Names of defaults that must not be sent, in lower case.
    removed: Vec<String>,
}

impl Draft {
    fn with_defaults(service: Service, values: &Values, has_body: bool) -> Self {
        let is_table = service == Service::Table;
        let mut headers = vec![
            ("Host", values.host().to_owned()),
            ("x-ms-date", values.now.http().as_str().to_owned()),
            ("x-ms-version", if is_table { TABLE_VERSION } else { STORAGE_VERSION }.to_owned()),
        ];
        if is_table {
            headers.push(("Accept", "application/json;odata=minimalmetadata".to_owned()));
            headers.push(("DataServiceVersion", "3.0;NetFx".to_owned()));
            headers.push(("MaxDataServiceVersion", "3.0;NetFx".to_owned()));
        }
        if has_body {
            let kind = match service {
                Service::Table => "application/json",
                Service::Queue => "application/xml",
                Service::Blob => "application/octet-stream",
            };
            headers.push(("Content-Type", kind.to_owned()));
        }
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { headers, removed: Vec::new() }
    }

    /// Applies a list of header lines: each name replaces earlier values; a name that occurs twice is sent
    /// twice.
    fn apply(&mut self, lines: &[Header], values: &mut Values) -> Result<(), String> {
        let mut own = Vec::new();
        for line in lines {
            match line {
                Header::Set(name, value) => {
                    self.remove(name);
                    self.removed.retain(|removed| !removed.eq_ignore_ascii_case(name));
                    own.push((name.clone(), values.render(value)?));
                }
                Header::Remove(name) => {
                    self.remove(name);
                    self.removed.push(name.to_ascii_lowercase());
                }
            }
        }
        self.headers.extend(own);
        Ok(())
    }

    fn remove(&mut self, name: &str) {
        self.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    }
}

/// Adds the length of the body, unless the transcript sets it.
fn frame(request: &mut TranscriptRequest, removed: &[String]) {
    let said = header(&request.headers, "Content-Length").is_some()
        || header(&request.headers, "Transfer-Encoding").is_some()
        || removed.iter().any(|name| name == "content-length");
    let has_body = !request.body.is_empty() || request.method != "GET";
    if !said && has_body {
        request.headers.push(("Content-Length".to_owned(), request.body.len().to_string()));
    }
}

fn sign(request: &mut TranscriptRequest, options: &SendOptions, target: &Target) -> Result<(), String> {
    if header(&request.headers, "Authorization").is_some() {
        return Ok(());
    }
    let scheme = match options.sign.as_deref() {
        None if target.service == Service::Table => Scheme::SharedKeyLite,
        None | Some("SharedKey") => Scheme::SharedKey,
        Some("SharedKeyLite") => Scheme::SharedKeyLite,
        Some("none") => return Ok(()),
        Some(other) => return Err(format!("unknown scheme {other}")),
    };
    let fields: Vec<Field<'_>> = request.headers.iter().map(|(name, value)| Field { name, value }).collect();
    let head = Head { method: &request.method, target: &request.target, fields: &fields };
    let authorization = auth::authorize(target.service, scheme, &target.account, &target.key, &head);
    // A request that cannot be signed is sent with a wrong signature.
    let zeroes = || auth::signature_text(&[0; 32]);
    let authorization =
        authorization.unwrap_or_else(|_| format!("{} {}:{}", scheme.name(), target.account, zeroes()));
    request.headers.push(("Authorization".to_owned(), authorization));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;

    fn built(exchange: &str) -> TranscriptRequest {
        let file = format!("# x\n# Truth: y\nContent-Type: text/x\nX-Own: 1\n### t\n{exchange}\n<<< 200\n");
        let transcript = Transcript::parse("table/a/b", &file).unwrap();
        let target = Target::new("http://h:1", "dev", "a2V5").unwrap();
        let mut values = Values::new(&target.base, &target.account);
        build(&transcript.exchanges[0], &transcript.setup, &target, &mut values).unwrap()
    }

    fn get<'r>(request: &'r TranscriptRequest, name: &str) -> Option<&'r str> {
        header(&request.headers, name)
    }

    #[test]
    fn defaults_are_sent_unless_the_transcript_speaks() {
        let request = built("GET /Tables");
        assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/dev/Tables"));
        assert_eq!(get(&request, "x-ms-version"), Some("2019-02-02"));
        assert_eq!(get(&request, "Content-Type"), None);
        assert_eq!(get(&request, "Content-Length"), None);
        assert_eq!(get(&request, "X-Own"), Some("1"));
        assert!(get(&request, "Authorization").unwrap().starts_with("SharedKeyLite dev:"));

        let request =
            built("POST /T\n-Accept\nx-ms-version: 1\nA: 1\nA: 2\nx-lazuli-sign: SharedKey\n\nbody");
        assert_eq!(get(&request, "Accept"), None);
        assert_eq!(get(&request, "x-ms-version"), Some("1"));
        assert_eq!(request.headers.iter().filter(|(name, _)| name == "A").count(), 2);
        assert_eq!(get(&request, "Content-Type"), Some("text/x"));
        assert_eq!(get(&request, "Content-Length"), Some("4"));
        assert!(get(&request, "Authorization").unwrap().starts_with("SharedKey dev:"));
    }

    #[test]
    fn signatures_can_be_left_out_or_wrong() {
        assert_eq!(get(&built("GET /\n-Authorization"), "Authorization"), None);
        assert_eq!(get(&built("GET /\nx-lazuli-sign: none"), "Authorization"), None);
        assert_eq!(get(&built("GET /\nAuthorization: raw"), "Authorization"), Some("raw"));
        let early = built("GET /\nx-lazuli-date: -16m");
        let date = DateTime::parse_http(get(&early, "x-ms-date").unwrap()).unwrap();
        assert!(system::now().ticks() - date.ticks() >= 959 * TICKS_PER_SECOND);
    }

    #[test]
    fn targets_are_escaped_where_http_needs_it() {
        for (written, wire) in [
            ("/T()?$filter=a eq 'b'", "/dev/T()?$filter=a%20eq%20'b'"),
            ("/T(PartitionKey='ä%20+',RowKey='{')", "/dev/T(PartitionKey='%C3%A4%20+',RowKey='%7B')"),
            ("=/other/x", "/other/x"),
            ("=http://h/dev/x", "http://h/dev/x"),
        ] {
            assert_eq!(built(&format!("GET {written}")).target, wire);
        }
    }
}
