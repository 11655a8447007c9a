//! Strings to sign of Blob and Queue tokens in every era, and tokens signed with user delegation keys.

use std::net::IpAddr;

use lazuli_model::{AccessPolicy, DateTime, ErrorCode, Failure, KeyPeriod, Permissions, SignedIdentifier};

use super::*;
use crate::auth::sas::{Caller, DelegationKey, Delegator, Signed, issue};
use crate::auth::{AccountKey, DEVELOPMENT_ACCOUNT as ACCOUNT, DEVELOPMENT_KEY};
use crate::http::head::Field;
use crate::http::query::Query;
use crate::{Address, Head};

const TIMES: &str = "se=2030-01-01T00:00:00Z";

fn key() -> AccountKey {
    AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()
}

fn token(query: &str) -> Token {
    Token::parse(Query(&format!("{query}&sig=AAAA"))).unwrap()
}

fn caller(now: &str) -> Caller {
    Caller { now: DateTime::parse(now).unwrap(), address: IpAddr::from([10, 0, 0, 5]), is_https: false }
}

/// Reference vectors for queues and blobs.
#[test]
fn vectors() {
    for (query, resource, signature) in [
        ("sp=rwdlacup&ss=bqt&srt=sco&sv=2021-12-02", "", "gpeah2khtzVEz5l8NIEfOCdqpAnLiD7Cvg1BDARbaNg="),
        ("sp=raup&sv=2021-12-02", "q1", "hzsyySEbodULSz/kGliFCRWUfk4indfcDlN6tUj1HMo="),
        ("sp=r&sr=b&sv=2021-12-02", "c1/a b.txt", "NZ0hyL3bsmeWHYId2bN4Wpohg5PsZXuk20R66GgJ/+0="),
    ] {
        let mut token = token(&format!("{query}&{TIMES}"));
        let resource = Presented::resource(ACCOUNT, resource);
        assert!(token.sign(resource.clone(), &key()));
        assert_eq!(token.sig, signature, "{query}");
        assert!(token.check_signature(resource, &[AccountKey::new(b"the other"), key()]).is_ok());
    }
}

#[track_caller]
fn check_text(query: &str, path: &str, expected: &[&str]) {
    let texts = token(query).texts_to_sign(Presented::resource("acct", path));
    assert_eq!(texts, [expected.join("\n")], "{query}");
}

/// VR-01: the string to sign of each era.
#[test]
fn queue_texts() {
    let rest = "sp=r&st=2020-01-01&se=2020-01-02&si=p&sip=1.2.3.4&spr=https";
    let terms = ["r", "2020-01-01", "2020-01-02"];
    for (sv, resource, more) in [
        ("2012-02-12", "/acct/q1", &["p"][..]),
        ("2014-02-14", "/acct/q1", &["p"]),
        ("2015-02-21", "/queue/acct/q1", &["p"]),
        ("2015-04-05", "/queue/acct/q1", &["p", "1.2.3.4", "https"]),
        ("2099-01-01", "/queue/acct/q1", &["p", "1.2.3.4", "https"]),
    ] {
        let expected = [&terms[..], &[resource], more, &[sv]].concat();
        check_text(&format!("sv={sv}&{rest}"), "q1/messages", &expected);
    }
    assert!(
        token(&format!("sv=2019-02-02&{rest}")).texts_to_sign("acct").is_empty(),
        "no queue is addressed"
    );
}

/// VR-01: the string to sign of each era, for blobs.
#[test]
fn blob_texts() {
    let rest = "sr=b&sp=r&st=S&se=E&si=p&sip=I&spr=P&ses=X&rscc=1&rscd=2&rsce=3&rscl=4&rsct=5";
    let terms = ["r", "S", "E"];
    let headers = ["1", "2", "3", "4", "5"];
    for (sv, resource, more) in [
        ("", "/acct/c/a b", &["p"][..]),
        ("2012-02-12", "/acct/c/a b", &["p", "2012-02-12"]),
        ("2013-08-15", "/acct/c/a b", &["p", "2013-08-15", "H"]),
        ("2015-02-21", "/blob/acct/c/a b", &["p", "2015-02-21", "H"]),
        ("2015-04-05", "/blob/acct/c/a b", &["p", "I", "P", "2015-04-05", "H"]),
        ("2018-11-09", "/blob/acct/c/a b", &["p", "I", "P", "2018-11-09", "b", "", "H"]),
        ("2020-12-06", "/blob/acct/c/a b", &["p", "I", "P", "2020-12-06", "b", "", "X", "H"]),
    ] {
        let more: Vec<&str> = more
            .iter()
            .flat_map(|&field| if field == "H" { headers.to_vec() } else { vec![field] })
            .collect();
        let expected = [&terms[..], &[resource], &more].concat();
        check_text(&format!("sv={sv}&{rest}"), "c/a b", &expected);
    }
}

/// The resource that each kind of token signs, for a request of a blob.
#[test]
fn resources_of_blob_tokens() {
    for (sr, path, snapshot, expected) in [
        ("c", "c/dir/x", "", Some(("c", ""))),
        ("c", "c", "", Some(("c", ""))),
        ("c", "c/x", "snapshot=S", Some(("c", ""))),
        ("b", "c/dir//x/", "", Some(("c/dir//x/", ""))),
        ("b", "x", "", Some(("$root/x", ""))),
        ("b", "c/x", "snapshot=S", Some(("c/x", "S"))),
        (
            "bs",
            "c/x",
            "snapshot=2020-01-01T00%3A00%3A00.0000000Z",
            Some(("c/x", "2020-01-01T00:00:00.0000000Z")),
        ),
        ("bv", "c/x", "VersionId=V", Some(("c/x", "V"))),
        ("d&sdd=0", "c/x", "", Some(("c/", ""))),
        ("d&sdd=1", "c/d1/d2/x", "", Some(("c/d1", ""))),
        ("d&sdd=2", "c/d1/d2/x", "", Some(("c/d1/d2", ""))),
        ("d&sdd=1", "c", "", None),
        ("b", "", "", None),
        ("c", "", "", None),
    ] {
        let mut request = Presented::resource("acct", path);
        request.query = Query(snapshot);
        let texts = token(&format!("sv=2019-02-02&sr={sr}&sp=r")).texts_to_sign(request);
        let letter = sr.split('&').next().unwrap();
        let expected = expected.map(|(resource, snapshot)| {
            format!("r\n\n\n/blob/acct/{resource}\n\n\n\n2019-02-02\n{letter}\n{snapshot}\n\n\n\n\n")
        });
        assert_eq!(texts.first(), expected.as_ref(), "{sr} {path}");
    }
}

/// User delegation in every era: newer ones insert fields.
#[test]
fn delegated_texts() {
    let key = "skoid=O&sktid=T&skt=A&ske=Z&sks=b&skv=V";
    let rest = "sr=b&sp=r&st=S&se=E&sip=I&spr=P&saoid=a&suoid=u&scid=d&skdutid=t&sduoid=o&ses=X&rsct=5&srh=x-a,x-b&srq=q";
    let start = ["r", "S", "E", "/blob/acct/c/x", "O", "T", "A", "Z", "b", "V"];
    for (sv, inserted, more) in [
        ("2018-11-09", &[][..], &[][..]),
        ("2020-02-10", &["a", "u", "d"], &[]),
        ("2020-12-06", &["a", "u", "d"], &["X"]),
        ("2025-07-05", &["a", "u", "d", "t", "o"], &["X"]),
        ("2026-04-06", &["a", "u", "d", "t", "o"], &["X", "x-a:", "x-b:", "", "", "q:"]),
    ] {
        let middle = ["I", "P", sv, "b", ""];
        let expected = [&start[..], inserted, &middle, more, &["", "", "", "", "5"]].concat();
        check_text(&format!("sv={sv}&{rest}&{key}"), "c/x", &expected);
    }
    let expected =
        ["r", "S", "E", "/queue/acct/q", "O", "T", "A", "Z", "q", "V", "", "", "", "", "2026-02-06"];
    check_text(
        "sv=2026-02-06&sp=r&st=S&se=E&skoid=O&sktid=T&skt=A&ske=Z&sks=q&skv=V",
        "q/messages/1",
        &expected,
    );
}

/// Signed headers and parameters are those of the request.
#[test]
fn signed_headers_and_parameters() {
    let fields = [Field { name: "Host", value: "127.0.0.1" }, Field { name: "X-Ms-Meta-Who", value: "ada" }];
    let head = Head { method: "GET", target: "/acct/c/x?Q=1%202&z=3", fields: &fields };
    let address = Address::parse(&head, Service::Blob, |name| name == "acct").unwrap();
    let request = || Presented::new(Service::Blob, &head, &address);
    let token = token("sv=2026-04-06&sr=b&sp=r&skoid=O&sks=b&srh=x-ms-meta-who&srq=q");
    let text = &token.texts_to_sign(request())[0];
    assert!(text.contains("\nx-ms-meta-who:ada\n\n\nq:1 2\n"), "{text}");
    let plain = self::token("sv=2026-04-06&sr=b&sp=r&skoid=O&sks=b");
    assert!(plain.texts_to_sign(request())[0].ends_with("\nb\n\n\n\n\n\n\n\n\n"));
}

const NOW: &str = "2026-05-01T12:00:00Z";

fn delegation() -> DelegationKey {
    DelegationKey {
        oid: "8b0c3b0e-0000-0000-0000-000000000001".into(),
        tid: "8b0c3b0e-0000-0000-0000-000000000002".into(),
        start: "2026-04-30T00:00:00Z".into(),
        expiry: "2026-05-02T00:00:00Z".into(),
        service: "b".into(),
        version: "2021-12-02".into(),
        delegated_tid: String::new(),
    }
}

/// The rights of `Storage Blob Data Reader`.
fn reader() -> Permissions {
    Permissions::of("rlk")
}

fn delegated(more: &str) -> Token {
    let DelegationKey { oid, tid, start, expiry, service, version, .. } = delegation();
    token(&format!(
        "sv=2021-12-02&sr=b&sp=r&se=2026-05-01T13:00:00Z&skoid={oid}&sktid={tid}&skt={start}&ske={expiry}&sks={service}&skv={version}{more}"
    ))
}

fn verdict(token: &Token, request: Presented<'_>, now: &str) -> Result<Signed, Failure> {
    let signed = token.check_signature(request, &[AccountKey::new(b"second"), key()])?;
    token.terms(&[])?.check(&caller(now))?;
    Ok(signed)
}

/// A token signed with a derived key is verified without any stored state.
#[test]
fn user_delegation() {
    let blob = || Presented::resource(ACCOUNT, "c/x");
    let mut token = delegated("");
    assert!(token.sign(blob(), &delegation().signing_key(ACCOUNT, &key(), reader())));
    let signed = Signed { kind: Kind::UserDelegation(Service::Blob), rights: reader() };
    assert_eq!(verdict(&token, blob(), NOW), Ok(signed));
    let failed = |token: &Token, request: Presented<'_>, now| {
        assert_eq!(verdict(token, request, now).unwrap_err().code, ErrorCode::AuthenticationFailed);
    };
    failed(&token, blob(), "2026-05-01T13:00:01Z");
    failed(&token, Presented::resource(ACCOUNT, "c/y"), NOW);
    failed(&token, Presented::resource("another", "c/x"), NOW);
    failed(&token, Presented { service: Some(Service::Queue), ..blob() }, NOW);
    for (name, value) in [
        ("skoid", "8b0c3b0e-0000-0000-0000-000000000003"),
        ("sktid", ""),
        ("ske", "2026-05-03T00:00:00Z"),
        ("sks", "q"),
        ("skdutid", "t"),
        ("sp", "rw"),
    ] {
        let mut changed = token.clone();
        *changed.get_mut(name).unwrap() = value.into();
        assert!(verdict(&changed, blob(), NOW).is_err(), "{name}");
    }
    let mut by_account_key = delegated("");
    assert!(by_account_key.sign(blob(), &key()));
    failed(&by_account_key, blob(), NOW);
}

/// The key's lifetime limits its tokens, and no key lasts longer than 7 days.
#[test]
fn lifetime_of_delegation_keys() {
    for (start, expiry, now, good) in [
        ("2026-04-30T00:00:00Z", "2026-05-02T00:00:00Z", NOW, true),
        ("2026-04-30T00:00:00Z", "2026-05-07T00:00:00Z", NOW, true),
        ("2026-04-30T00:00:00Z", "2026-05-07T00:00:01Z", NOW, false),
        ("2026-04-30T00:00:00Z", "2026-05-01T11:59:59Z", NOW, false),
        ("2026-05-01T12:00:01Z", "2026-05-02T00:00:00Z", NOW, false),
        ("", "2026-05-02T00:00:00Z", NOW, false),
        ("2026-04-30T00:00:00Z", "soon", NOW, false),
    ] {
        let issued = DelegationKey { start: start.into(), expiry: expiry.into(), ..delegation() };
        let mut token = delegated("");
        (token.skt, token.ske) = (issued.start.clone(), issued.expiry.clone());
        let signing = issued.signing_key(ACCOUNT, &key(), reader());
        assert!(token.sign(Presented::resource(ACCOUNT, "c/x"), &signing));
        let verdict = verdict(&token, Presented::resource(ACCOUNT, "c/x"), now);
        assert_eq!(verdict.is_ok(), good, "{start} {expiry}");
    }
}

/// A key is issued for at most 7 days from now, and never for a past or empty period.
#[test]
fn periods_of_issued_delegation_keys() {
    let start_of = |start: Option<&str>, expiry: &str| {
        let time = |text: &str| DateTime::parse(text).unwrap();
        let user = Delegator { oid: "O", tid: "T", rights: reader() };
        let period = KeyPeriod { start: start.map(time), expiry: time(expiry) };
        issue(Service::Blob, ApiVersion::V2026_04_06, ACCOUNT, &key(), user, period, time(NOW))
            .map(|key| key.start.iso_seconds().as_str().to_owned())
            .map_err(|failure| failure.code)
    };
    let rejected = Err(ErrorCode::InvalidXmlNodeValue);
    assert_eq!(start_of(None, "2026-05-08T12:00:00Z").as_deref(), Ok(NOW), "7 days");
    assert_eq!(start_of(None, "2026-05-08T12:00:01Z"), rejected);
    assert_eq!(start_of(None, "2026-05-01T12:00:01Z").as_deref(), Ok(NOW));
    assert_eq!(start_of(None, NOW), rejected);
    assert_eq!(start_of(Some("2026-05-01T11:00:00Z"), NOW), rejected, "it is over");
    assert_eq!(start_of(Some("2026-05-02T00:00:00Z"), "2026-05-02T00:00:00Z"), rejected, "it is empty");
    let soon = start_of(Some("2026-05-02T00:00:00Z"), "2026-05-02T00:00:01Z");
    assert_eq!(soon.as_deref(), Ok("2026-05-02T00:00:00Z"));
    let long_ago = start_of(Some("2020-01-01T00:00:00Z"), "2026-05-02T00:00:00Z");
    assert_eq!(long_ago.as_deref(), Ok("2026-04-25T00:00:00Z"), "no key lasts longer than 7 days");
}

/// Tokens that name a stored policy or a user, or that are for tables, cannot be delegated.
#[test]
fn illegal_delegation() {
    for more in ["&si=policy", "&sduoid=8b0c3b0e-0000-0000-0000-000000000001"] {
        let mut token = delegated(more);
        let signing = delegation().signing_key(ACCOUNT, &key(), reader());
        assert!(token.sign(Presented::resource(ACCOUNT, "c/x"), &signing));
        assert!(verdict(&token, Presented::resource(ACCOUNT, "c/x"), NOW).is_err(), "{more}");
    }
    assert_eq!(delegated("&tn=t").kind(), None);
    assert_eq!(token("sv=2021-12-02&skoid=O&sks=q").kind(), None, "queues have them from 2025-07-05 on");
}

/// The JavaScript SDK names the resource of a queue's token: `sr=q`. No other token has it.
#[test]
fn a_queue_token_may_say_that_it_is_one() {
    assert_eq!(token("sv=2025-07-05&sr=q&skoid=O&sks=q").kind(), Some(Kind::UserDelegation(Service::Queue)));
    assert_eq!(token("sv=2019-02-02&sr=q&sp=r").kind(), Some(Kind::Service(Service::Queue)));
    for other in ["sv=2019-02-02&sr=q&tn=t", "sv=2019-02-02&sr=q&ss=q&srt=o", "sr=q"] {
        assert_eq!(token(other).kind(), None, "{other}");
    }
}

/// The secret of a delegation key signs nothing by itself.
#[test]
fn a_delegation_secret_is_no_signature() {
    let secret = delegation().secret(ACCOUNT, &key(), reader());
    let account = AccountKey::new(&secret).sign("text");
    assert_ne!(secret, account);
    let other = DelegationKey { oid: "other".into(), ..delegation() };
    assert_ne!(secret, other.secret(ACCOUNT, &key(), reader()));
    assert_ne!(secret, delegation().secret("another", &key(), reader()));
    assert_ne!(secret, delegation().secret(ACCOUNT, &key(), Permissions::of("k")));
}

/// The rights of the user whose key signs a token are determined from the signature, with either key of the
/// account; rights that no roles grant are not found.
#[test]
fn rights_of_a_delegation_key() {
    let blob = || Presented::resource(ACCOUNT, "c/x");
    let rights = |rights: &str, key: AccountKey| {
        let mut token = delegated("");
        assert!(token.sign(blob(), &delegation().signing_key(ACCOUNT, &key, Permissions::of(rights))));
        verdict(&token, blob(), NOW).map(|signed| signed.rights.to_string()).map_err(|failure| failure.code)
    };
    for roles in ["k", "klr", "acdklrwx", "acdfiklrtwxy"] {
        for key in [key(), AccountKey::new(b"second")] {
            assert_eq!(rights(roles, key).as_deref(), Ok(roles));
        }
    }
    for none in ["", "lr", "kr", "abcdefghijklmnopqrstuvwxyz"] {
        assert_eq!(rights(none, key()), Err(ErrorCode::AuthenticationFailed), "{none}");
    }
    assert_eq!(rights("klr", AccountKey::new(b"third")), Err(ErrorCode::AuthenticationFailed));
}

/// Response headers count only if the signature covers them.
#[test]
fn response_headers() {
    let set = |query: &str| token(query).response_headers().count();
    assert_eq!(set("sv=2013-08-15&sr=b&rscc=1&rsct=2"), 2);
    assert_eq!(set("sv=2018-11-09&sr=c&skoid=O&rscc=1"), 1);
    for unsigned in ["sv=2012-02-12&sr=b", "sr=b", "sv=2019-02-02&ss=b&srt=o", "sv=2019-02-02"] {
        assert_eq!(set(&format!("{unsigned}&rscc=1&rsct=2")), 0, "{unsigned}");
    }
    let token = token("sv=2013-08-15&sr=b&rscd=attachment");
    assert_eq!(token.response_headers().next(), Some(("Content-Disposition", "attachment")));
}

/// A stored policy completes a queue token; errors say why.
#[test]
fn queue_policies() {
    let policy = AccessPolicy {
        expiry: DateTime::parse("2026-06-01"),
        permissions: Some("rp".into()),
        ..AccessPolicy::default()
    };
    let policies = [SignedIdentifier { id: "p".into(), policy: Some(policy) }];
    let detail = |query: &str| {
        let failure = token(query).terms(&policies).and_then(|terms| terms.check(&caller(NOW))).unwrap_err();
        assert_eq!(failure.code, ErrorCode::AuthenticationFailed, "{query}");
        failure.details.first().map(|(_, text)| text.clone().into_owned()).unwrap_or_default()
    };
    let good = token("sv=2019-02-02&si=p").terms(&policies).unwrap();
    assert!(good.permissions.allow("rp") && !good.permissions.allow("a"));
    assert_eq!(
        detail("sv=2019-02-02&si=p&sp=r"),
        "Access policy fields can be associated with signature or SAS identifier but not both"
    );
    assert_eq!(detail("sv=2019-02-02&sp=r"), "se is mandatory. Cannot be empty");
    assert_eq!(detail("sv=2019-02-02&se=2026-06-01"), "sp is mandatory. Cannot be empty");
    assert_eq!(
        detail("sv=2019-02-02&sp=r&st=2026-01-01&se=2026-04-01"),
        "Signature not valid in the specified time frame: Start [Thu, 01 Jan 2026 00:00:00 GMT] - Expiry [Wed, 01 Apr 2026 00:00:00 GMT] - Current [Fri, 01 May 2026 12:00:00 GMT]"
    );
    for (query, start) in [
        ("sp=r&se=2026-04-01", "Fri, 01 May 2026 12:00:00 GMT"),
        ("sp=r&st=2026-04-02&se=2026-04-01", "Thu, 02 Apr 2026 00:00:00 GMT"),
    ] {
        assert_eq!(
            detail(&format!("sv=2019-02-02&{query}")),
            format!(
                "Signed expiry time [Wed, 01 Apr 2026 00:00:00 GMT] must be after signed start time [{start}]"
            )
        );
    }
    assert_eq!(detail("sv=2019-02-02&si=gone"), "");
    assert_eq!(detail("sv=2019-02-02&sp=rd&se=2026-06-01"), "", "queues have no permission to delete");
}

/// The version of a request with a queue token: that of the header, or else that of the token.
#[test]
fn versions_of_requests() {
    let of = |query: &str, header: &str| {
        let header = ApiVersion::parse(header).unwrap_or(ApiVersion::NONE);
        token("sv=2019-02-02").request_version(Service::Queue, Query(query), header).unwrap().to_string()
    };
    assert_eq!(of("", ""), "2019-02-02");
    assert_eq!(of("", "2021-12-02"), "2021-12-02");
    assert_eq!(of("api-version=2017-04-17", "2021-12-02"), "2017-04-17");
}
