//! Signed requests: reference vectors, changes of every signed part, clocks, malformed headers.

use super::*;
use crate::auth::signature_text;
use crate::http::head::Field;

const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const DATE: &str = "Mon, 27 Jun 2022 20:11:08 GMT";

fn parts<'a>(
    method: &'a str,
    content_type: &'a str,
    path: &'a str,
    comp: Option<&'a str>,
) -> SignedParts<'a> {
    SignedParts { method, content_md5: "", content_type, date: DATE, account: "devstoreaccount1", path, comp }
}

/// Reference vectors for tables.
#[test]
fn vectors() {
    let key = AccountKey::from_base64(KEY).unwrap();
    let dev = "/devstoreaccount1";
    for (scheme, parts, expected) in [
        (
            Scheme::SharedKeyLite,
            parts("GET", "", &format!("{dev}/Tables"), None),
            "wCYJLzXfGSRWExB1WQMlaHEa9toAdCafzayzV4vtVaw=",
        ),
        (
            Scheme::SharedKey,
            parts("POST", "application/json;odata=nometadata", &format!("{dev}/Tables"), None),
            "vtzzuI50FXOyGWzUVwbYeqxfvO7yhZD4U8W2/pcaplI=",
        ),
        (
            Scheme::SharedKeyLite,
            parts("GET", "", "/mytable(PartitionKey='a%20b',RowKey='')", None),
            "OlEQrmGA6ueTd7M0VLA7x533Xrz8nV3hl4eM/bLUMck=",
        ),
        (
            Scheme::SharedKeyLite,
            parts("GET", "", &format!("{dev}/mytable"), Some("acl")),
            "kU5qsfzTtqEWJkYuQ5CYnH3cL/dIGyt4fUDy69ryfR0=",
        ),
        (
            Scheme::SharedKeyLite,
            parts("GET", "", "/", Some("properties")),
            "M66FxdWTpx29SPya/Wmj8zDjQhKtNqbyK579k4GFhU4=",
        ),
    ] {
        assert_eq!(signature_text(&sign(&key, scheme, &parts)), expected);
    }
}

struct Request<'a> {
    scheme: Scheme,
    signed_path: &'a str,
    target: &'a str,
    date: &'a str,
    method: &'a str,
    version: &'a str,
}

const GOOD: Request<'static> = Request {
    scheme: Scheme::SharedKey,
    signed_path: "/devstoreaccount1/T1t(PartitionKey='a',RowKey='b')",
    target: "/devstoreaccount1/T1t(PartitionKey='a',RowKey='b')?$select=x",
    date: DATE,
    method: "GET",
    version: "2019-02-02",
};

fn verdict(request: &Request<'_>, now: &str) -> Result<(), ErrorCode> {
    let key = AccountKey::from_base64(KEY).unwrap();
    let signature =
        sign(&key, request.scheme, &SignedParts { path: request.signed_path, ..parts("GET", "", "", None) });
    let name = if request.scheme == Scheme::SharedKey { "SharedKey" } else { "SharedKeyLite" };
    let authorization = format!("{name} devstoreaccount1:{}", signature_text(&signature));
    let fields = [
        Field { name: "Authorization", value: &authorization },
        Field { name: "x-ms-date", value: request.date },
        Field { name: "x-ms-version", value: request.version },
        Field { name: "Host", value: "127.0.0.1:10002" },
    ];
    let head = Head { method: request.method, target: request.target, fields: &fields };
    let address = Address::parse(&head, Service::Table, |_| true).unwrap();
    let other = AccountKey::new(b"other");
    let credential = credential(&head).unwrap().unwrap();
    verify(Service::Table, &head, &address, &credential, &[other, key], DateTime::parse_http(now).unwrap())
        .map_err(|f| f.code)
}

/// AU-03, AU-05, AU-06.
#[test]
fn signed_parts_count_and_others_do_not() {
    let rejected = Err(ErrorCode::AuthenticationFailed);
    assert_eq!(verdict(&GOOD, DATE), Ok(()));
    assert_eq!(verdict(&Request { scheme: Scheme::SharedKeyLite, ..GOOD }, DATE), Ok(()));
    assert_eq!(verdict(&Request { version: "2013-08-15", ..GOOD }, DATE), Ok(()));
    assert_eq!(verdict(&Request { method: "DELETE", ..GOOD }, DATE), rejected);
    assert_eq!(verdict(&Request { date: "Mon, 27 Jun 2022 20:11:09 GMT", ..GOOD }, DATE), rejected);
    let altered = "/devstoreaccount1/T1t(PartitionKey='a',RowKey='c')";
    assert_eq!(verdict(&Request { target: altered, ..GOOD }, DATE), rejected);
    let escaped = "/devstoreaccount1/T1t(PartitionKey=%27a%27,RowKey=%27b%27)";
    assert_eq!(verdict(&Request { target: escaped, ..GOOD }, DATE), Ok(()));
}

/// AU-06: each signed part, changed in transit. The short form signs only the date and the resource.
#[test]
fn every_signed_part_tampered() {
    let key = AccountKey::from_base64(KEY).unwrap();
    let good = [
        ("method", "PUT"),
        ("account", "devstoreaccount1"),
        ("target", "/devstoreaccount1/T1t?comp=acl&timeout=5"),
        ("Content-MD5", "Q2hlY2sgSW50ZWdyaXR5IQ=="),
        ("Content-Type", "application/xml"),
        ("x-ms-date", DATE),
        ("Date", DATE),
        ("x-ms-version", "2019-02-02"),
    ];
    let verdict = |scheme, changed: &str, to: &str| {
        let given = |name: &str| {
            let own = good.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            if name == changed { to } else { own.unwrap_or_default() }
        };
        let parts = SignedParts {
            content_md5: "Q2hlY2sgSW50ZWdyaXR5IQ==",
            ..parts("PUT", "application/xml", "/devstoreaccount1/T1t", Some("acl"))
        };
        let header = authorization(&key, scheme, &parts).replace("devstoreaccount1", given("account"));
        let fields: Vec<Field<'_>> = ["Content-MD5", "Content-Type", "x-ms-date", "Date", "x-ms-version"]
            .into_iter()
            .map(|name| Field { name, value: given(name) })
            .filter(|field| !field.value.is_empty())
            .chain([Field { name: "Authorization", value: &header }, Field { name: "Host", value: "h" }])
            .collect();
        let head = Head { method: given("method"), target: given("target"), fields: &fields };
        let address = Address::parse(&head, Service::Table, |_| true).unwrap();
        let credential = credential(&head).unwrap().unwrap();
        verify(
            Service::Table,
            &head,
            &address,
            &credential,
            std::slice::from_ref(&key),
            DateTime::parse_http(DATE).unwrap(),
        )
        .map_err(|failure| failure.code)
    };
    // The changed part, its new value, and whether the long and the short form detect the change.
    for (name, to, long, short) in [
        ("nothing", "", false, false),
        ("method", "GET", true, false),
        ("account", "another", true, true),
        ("target", "/devstoreaccount1/T2t?comp=acl&timeout=5", true, true),
        ("target", "/devstoreaccount1/T1t?comp=properties&timeout=5", true, true),
        ("target", "/devstoreaccount1/T1t?timeout=5", true, true),
        ("target", "/devstoreaccount1/T1t?comp=acl&timeout=6&$top=1", false, false),
        ("target", "/devstoreaccount1/T1t?timeout=5&comp=%61cl", false, false),
        ("Content-MD5", "", true, false),
        ("Content-MD5", "AAAA", true, false),
        ("Content-Type", "", true, false),
        ("Content-Type", "application/xml; charset=utf-8", true, false),
        ("x-ms-date", "Mon, 27 Jun 2022 20:11:09 GMT", true, true),
        ("x-ms-date", "2022-06-27T20:11:08Z", true, true),
        ("x-ms-date", "", false, false),
        ("Date", "Mon, 27 Jun 2022 20:11:09 GMT", false, false),
        ("x-ms-version", "2015-12-11", false, false),
    ] {
        for (scheme, noticed) in [(Scheme::SharedKey, long), (Scheme::SharedKeyLite, short)] {
            let expected = if noticed { Err(ErrorCode::AuthenticationFailed) } else { Ok(()) };
            assert_eq!(verdict(scheme, name, to), expected, "{scheme:?}: {name} {to}");
        }
    }
}

/// Fifteen minutes either way.
#[test]
fn clocks_may_be_apart_so_far() {
    let rejected = Err(ErrorCode::AuthenticationFailed);
    assert_eq!(verdict(&GOOD, "Mon, 27 Jun 2022 20:26:08 GMT"), Ok(()));
    assert_eq!(verdict(&GOOD, "Mon, 27 Jun 2022 20:26:09 GMT"), rejected);
    assert_eq!(verdict(&GOOD, "Mon, 27 Jun 2022 19:56:08 GMT"), Ok(()));
    assert_eq!(verdict(&GOOD, "Mon, 27 Jun 2022 19:56:07 GMT"), rejected);
}

#[test]
fn malformed_headers() {
    for (text, code) in [
        ("SharedKey", ErrorCode::InvalidAuthenticationInfo),
        ("Basic abc", ErrorCode::InvalidAuthenticationInfo),
        ("SharedKey account", ErrorCode::InvalidAuthenticationInfo),
        ("SharedKey account:***", ErrorCode::AuthenticationFailed),
        ("SharedKey account:YQ==", ErrorCode::AuthenticationFailed),
    ] {
        assert_eq!(parse(text).map_err(|f| f.code), Err(code), "{text}");
    }
}
