//! Signed requests of Blob and Queue: vectors, the rules of each version, and the variants that clients sign.

use lazuli_model::{DateTime, Service};

use super::*;
use crate::Address;
use crate::auth::shared_key::{authorize, credential, verify};
use crate::auth::{AccountKey, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use crate::http::head::Field;

const DATE: &str = "Fri, 26 Jun 2015 23:39:12 GMT";
const HOST: (&str, &str) = ("Host", "127.0.0.1:10001");

/// A request as the client sends it, without the signature.
struct Sent<'a> {
    method: &'a str,
    target: &'a str,
    fields: Vec<Field<'a>>,
}

impl<'a> Sent<'a> {
    fn new(method: &'a str, target: &'a str, version: &'a str, more: &[(&'a str, &'a str)]) -> Self {
        let common = [HOST, ("x-ms-date", DATE), ("x-ms-version", version)];
        let fields =
            common.iter().chain(more).filter(|(name, value)| *name != "x-ms-version" || *value != "-");
        Self { method, target, fields: fields.map(|&(name, value)| Field { name, value }).collect() }
    }

    fn head(&self) -> Head<'_> {
        Head { method: self.method, target: self.target, fields: &self.fields }
    }

    /// The documented text.
    fn text(&self, scheme: Scheme) -> String {
        let head = self.head();
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        let request = Request::new(&head, DEVELOPMENT_ACCOUNT, Query(query)).unwrap();
        let form = Form::of(scheme, ApiVersion::of(&head).unwrap());
        request.text(form, &Variant::documented(path))
    }

    fn authorization(&self, scheme: Scheme) -> String {
        authorize(Service::Queue, scheme, DEVELOPMENT_ACCOUNT, &key(), &self.head()).unwrap()
    }

    /// Sends the request with this `Authorization` header.
    fn verdict(&self, authorization: &str) -> Result<(), Failure> {
        let mut fields = self.fields.clone();
        fields.push(Field { name: "Authorization", value: authorization });
        let head = Head { method: self.method, target: self.target, fields: &fields };
        let address = Address::parse(&head, Service::Queue, |name| name == DEVELOPMENT_ACCOUNT).unwrap();
        let credential = credential(&head).unwrap().unwrap();
        let keys = [AccountKey::new(b"the other key"), key()];
        verify(Service::Queue, &head, &address, &credential, &keys, DateTime::parse_http(DATE).unwrap())
    }
}

fn key() -> AccountKey {
    AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()
}

/// An `Authorization` header with the signature of this string.
fn signing(scheme: Scheme, text: &str) -> String {
    let signature = crate::auth::signature_text(&key().sign(text));
    format!("{} {DEVELOPMENT_ACCOUNT}:{signature}", scheme.name())
}

/// Reference vectors for queues and blobs.
#[test]
fn vectors() {
    let put = [("Content-Type", "application/xml"), ("Content-Length", "64")];
    let blob = [
        ("Content-Length", "11"),
        ("Content-Type", "application/octet-stream"),
        ("If-None-Match", "*"),
        ("x-ms-blob-type", "BlockBlob"),
    ];
    for (method, target, more, signature) in [
        (
            "GET",
            "/devstoreaccount1/?comp=list&include=metadata&maxresults=3",
            &[][..],
            "tObfSxLQfmGzrGGBUOwb32yoQ+fhS3ODuKPg2uR/OQs=",
        ),
        (
            "POST",
            "/devstoreaccount1/q1/messages?visibilitytimeout=5&messagettl=-1",
            &put,
            "X3HBIeYhcrkLGUD3NubXkcP/cV2FhBdbovImFIGMkE4=",
        ),
        ("PUT", "/devstoreaccount1/c1/a%20b.txt", &blob, "b0oaDl/UC+SMErF4lQ1X34/Okc2WO4WH4wKDVo20HU8="),
    ] {
        let sent = Sent::new(method, target, "2021-12-02", more);
        let authorization = format!("SharedKey devstoreaccount1:{signature}");
        assert_eq!(sent.authorization(Scheme::SharedKey), authorization, "{target}");
        assert_eq!(sent.verdict(&authorization), Ok(()), "{target}");
    }
}

#[track_caller]
fn check_text(sent: &Sent<'_>, scheme: Scheme, expected: &str) {
    let text = sent.text(scheme);
    assert_eq!(text, expected);
    assert_eq!(sent.verdict(&signing(scheme, &text)), Ok(()), "{text}");
}

/// AU-03: every signed part is in the string to sign, each on its line.
#[test]
fn all_parts() {
    let more = [
        ("Content-Encoding", "gzip"),
        ("content-language", "de"),
        ("Content-Length", "3"),
        ("Content-MD5", "bWQ1"),
        ("Content-Type", "text/plain"),
        ("Date", "Thu, 25 Jun 2015 23:39:12 GMT"),
        ("If-Modified-Since", "a"),
        ("If-Match", "b"),
        ("If-None-Match", "c"),
        ("If-Unmodified-Since", "d"),
        ("Range", "bytes=0-1"),
        ("X-Ms-Meta-B", "two"),
        ("x-ms-meta-a", ""),
        ("x-other", "not signed"),
    ];
    let target = "/devstoreaccount1/q/messages?Timeout=5&b=2&a=%C3%A4+%2B&B=1&c&=x";
    let sent = Sent::new("PUT", target, "2021-12-02", &more);
    check_text(
        &sent,
        Scheme::SharedKey,
        "PUT\ngzip\nde\n3\nbWQ1\ntext/plain\n\na\nb\nc\nd\nbytes=0-1\n\
         x-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-meta-a:\nx-ms-meta-b:two\nx-ms-version:2021-12-02\n\
         /devstoreaccount1/devstoreaccount1/q/messages\n:x\na:\u{e4} +\nb:1,2\nc:\ntimeout:5",
    );
    check_text(
        &Sent::new("PUT", "/devstoreaccount1/q?timeout=5&Comp=acl", "2021-12-02", &more),
        Scheme::SharedKeyLite,
        "PUT\nbWQ1\ntext/plain\n\n\
         x-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-meta-a:\nx-ms-meta-b:two\nx-ms-version:2021-12-02\n\
         /devstoreaccount1/devstoreaccount1/q?comp=acl",
    );
}

/// VR-01: each version keeps its rules for a zero length and for headers without a value.
#[test]
fn rules_of_versions() {
    for (version, length, empty) in [
        ("2009-09-19", "0", ""),
        ("2011-08-18", "0", ""),
        ("2012-02-12", "0", ""),
        ("2014-02-14", "0", ""),
        ("2015-02-21", "", ""),
        ("2015-12-11", "", ""),
        ("2016-05-31", "", "x-ms-meta-a:\n"),
        ("2099-01-01", "", "x-ms-meta-a:\n"),
    ] {
        let more = [("Content-Length", "0"), ("x-ms-meta-a", "")];
        check_text(
            &Sent::new("PUT", "/devstoreaccount1/q", version, &more),
            Scheme::SharedKey,
            &format!(
                "PUT\n\n\n{length}\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\n{empty}x-ms-version:{version}\n/devstoreaccount1/devstoreaccount1/q"
            ),
        );
        let get = Sent::new("GET", "/devstoreaccount1/q?comp=metadata", version, &[]);
        assert!(get.text(Scheme::SharedKey).starts_with("GET\n\n\n\n"), "no length, no zero");
    }
}

/// VR-06, VR-03: before 2009-09-19 Shared Key signs the short string. A request without a version may do so,
/// too.
#[test]
fn the_oldest_versions() {
    let target = "/devstoreaccount1/q?comp=metadata&timeout=5";
    let text = |version: &str| {
        format!("GET\n\n\n\nx-ms-date:{DATE}\n{version}/devstoreaccount1/devstoreaccount1/q?comp=metadata")
    };
    check_text(
        &Sent::new("GET", target, "2009-04-14", &[]),
        Scheme::SharedKey,
        &text("x-ms-version:2009-04-14\n"),
    );
    let unversioned = Sent::new("GET", target, "-", &[]);
    assert_eq!(unversioned.verdict(&signing(Scheme::SharedKey, &text(""))), Ok(()));
    assert_eq!(unversioned.verdict(&unversioned.authorization(Scheme::SharedKey)), Ok(()));
    let today = Sent::new("GET", target, "2021-12-02", &[]);
    let short = signing(Scheme::SharedKey, &text("x-ms-version:2021-12-02\n"));
    assert!(today.verdict(&short).is_err(), "the short text is not enough for a newer version");
}

/// The date is signed on its line only if there is no `x-ms-date`.
#[test]
fn the_date_header_alone() {
    let fields = [HOST, ("Date", DATE), ("x-ms-version", "2011-08-18")];
    let fields = fields.map(|(name, value)| Field { name, value }).to_vec();
    let sent = Sent { method: "GET", target: "/devstoreaccount1/?comp=list", fields };
    check_text(
        &sent,
        Scheme::SharedKey,
        &format!(
            "GET\n\n\n\n\n\n{DATE}\n\n\n\n\n\nx-ms-version:2011-08-18\n/devstoreaccount1/devstoreaccount1/\ncomp:list"
        ),
    );
}

/// Strings that differ from the documented one, but that clients sign.
#[test]
fn variants_of_clients() {
    let meta = [("x-ms-meta-a1", "x  y"), ("x-ms-meta-a_b", "\"x  y\"")];
    let sent = Sent::new("PUT", "/devstoreaccount1/q%7e'?a=1+1&b=2", "2021-12-02", &meta);
    let documented = sent.text(Scheme::SharedKey);
    let folded = "x-ms-meta-a1:x y\nx-ms-meta-a_b:\"x  y\"\n";
    assert!(documented.contains(folded), "{documented}");
    for (part, other) in [
        ("\na:1 1", "\na:1+1"),
        ("x-ms-meta-a1:x y\n", "x-ms-meta-a1:x  y\n"),
        (folded, "x-ms-meta-a_b:\"x  y\"\nx-ms-meta-a1:x y\n"),
        ("q%7e'", "q~'"),
        ("q%7e'", "q%7e%27"),
    ] {
        let text = documented.replace(part, other);
        assert_ne!(text, documented);
        assert_eq!(sent.verdict(&signing(Scheme::SharedKey, &text)), Ok(()), "{other}");
    }
    for (part, other) in
        [("PUT", "GET"), ("b:2", "b:3"), ("x-ms-version:2021-12-02\n", ""), ("\"x  y\"", "\"x y\"")]
    {
        let text = documented.replace(part, other);
        assert!(sent.verdict(&signing(Scheme::SharedKey, &text)).is_err(), "{other}");
    }
}

/// Clients sign the path of the secondary with or without its suffix.
#[test]
fn the_secondary() {
    let sent = Sent::new("GET", "/devstoreaccount1-secondary/?comp=list", "2021-12-02", &[]);
    let documented = sent.text(Scheme::SharedKey);
    let plain = documented.replace("devstoreaccount1-secondary", "devstoreaccount1");
    for text in [&documented, &plain] {
        assert_eq!(sent.verdict(&signing(Scheme::SharedKey, text)), Ok(()), "{text}");
    }
}

/// The host specifies the account: the path does not repeat it.
#[test]
fn host_style() {
    let mut sent = Sent::new("GET", "/q?comp=metadata", "2021-12-02", &[]);
    sent.fields[0].value = "devstoreaccount1.queue.localhost:10001";
    check_text(
        &sent,
        Scheme::SharedKey,
        &format!(
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-version:2021-12-02\n/devstoreaccount1/q\ncomp:metadata"
        ),
    );
}

#[test]
fn a_signed_header_occurs_once() {
    for name in ["x-ms-meta-a", "content-type", "RANGE"] {
        let sent = Sent::new("GET", "/devstoreaccount1/q", "2021-12-02", &[(name, "1"), (name, "2")]);
        let failure = sent.verdict("SharedKey devstoreaccount1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
        let failure = failure.unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidHeaderValue, "{name}");
        assert_eq!(failure.details[0].0, "HeaderName");
        assert!(failure.details[0].1.eq_ignore_ascii_case(name));
    }
}

/// AU-06: the error contains the string that the server signed, or says what is wrong with the date.
#[test]
fn the_error_explains_itself() {
    let sent = Sent::new("GET", "/devstoreaccount1/q", "2021-12-02", &[]);
    let wrong = signing(Scheme::SharedKey, "another text");
    let failure = sent.verdict(&wrong).unwrap_err();
    assert_eq!(failure.code, ErrorCode::AuthenticationFailed);
    let (name, detail) = &failure.details[0];
    assert_eq!(*name, "AuthenticationErrorDetail");
    let signature = wrong.rsplit(':').next().unwrap();
    let text = sent.text(Scheme::SharedKey);
    assert_eq!(
        detail,
        &format!(
            "The MAC signature found in the HTTP request '{signature}' is not the same as any computed signature. Server used following string to sign: '{text}'."
        )
    );
    let mut old = Sent::new("GET", "/devstoreaccount1/q", "2021-12-02", &[]);
    old.fields[1].value = "Fri, 26 Jun 2015 23:24:11 GMT";
    let failure = old.verdict(&old.authorization(Scheme::SharedKey)).unwrap_err();
    assert_eq!(failure.details[0].1, "Request date header too old: 'Fri, 26 Jun 2015 23:24:11 GMT'");
    old.fields.remove(1);
    let failure = old.verdict(&old.authorization(Scheme::SharedKey)).unwrap_err();
    assert_eq!(failure.details[0].1, "Request date header not specified");
}

/// Even if every variant applies to a request, the work is bounded.
#[test]
fn variants_are_bounded() {
    let meta = [("x-ms-meta-a1", "x  y"), ("x-ms-meta-a_b", "1")];
    let sent = Sent::new("PUT", "/devstoreaccount1/q%27'?a=1+1", "-", &meta);
    let head = sent.head();
    let request = Request::new(&head, DEVELOPMENT_ACCOUNT, Query("a=1+1")).unwrap();
    let paths = ["/a", "/b", "/c", "/d"].map(str::to_owned);
    let variants = request.others(Form::Full, "/devstoreaccount1/q%27'", &paths);
    assert_eq!(variants.len(), VARIANTS_MAX);
    let mut unique = variants.clone();
    unique.dedup();
    assert_eq!(unique.len(), variants.len());
}

/// The order that the authors of the Python client determined by experiments with Azure: hyphens count last,
/// the plus sign is the last symbol.
#[test]
fn headers_in_the_order_of_words() {
    let sorted = [
        "test", "test-", "test--", "test_-", "test-_", "test__", "test_a", "test_a-", "test_a_", "test_a-_",
        "test_z", "test+", "test0", "testa", "test-a",
    ];
    for (at, one) in sorted.iter().enumerate() {
        for (other_at, other) in sorted.iter().enumerate() {
            assert_eq!(words(one, other), at.cmp(&other_at), "{one} {other}");
        }
    }
}

/// The parser of the head trims values, but the result must not depend on that.
#[test]
fn a_run_at_either_end_becomes_one_space() {
    for (value, expected) in
        [("  a", " a"), ("a \t", "a "), (" \ta  \"b  c\"  ", " a \"b  c\" "), ("  ", " ")]
    {
        let mut folded = String::new();
        push_folded(&mut folded, value);
        assert_eq!(folded, expected, "{value:?}");
    }
}
