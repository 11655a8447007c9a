//! Tokens: reference vectors, changes of every parameter, times, addresses, protocols, versions, policies.

mod random;

use std::net::IpAddr;

use super::*;
use lazuli_model::{AccessPolicy, DateTime, SignedIdentifier};

const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const NOW: &str = "2026-06-15T12:00:00Z";

fn key() -> AccountKey {
    AccountKey::from_base64(KEY).unwrap()
}

fn token(query: &str) -> Token {
    Token::parse(Query(&format!("{query}&sig="))).unwrap()
}

fn signed(query: &str) -> Token {
    let mut token = token(query);
    assert!(token.sign(ACCOUNT, &key()), "{query}");
    token
}

fn caller() -> Caller {
    Caller { now: DateTime::parse(NOW).unwrap(), address: IpAddr::from([10, 0, 0, 5]), is_https: false }
}

fn verdict(token: &Token, policies: &[SignedIdentifier], caller: &Caller) -> Result<(), ErrorCode> {
    let other = AccountKey::new(b"the second key");
    token
        .check_signature(ACCOUNT, &[other, key()])
        .and_then(|_| token.terms(policies))
        .and_then(|terms| terms.check(caller))
        .map_err(|failure| failure.code)
}

#[track_caller]
fn check(query: &str, expected: Result<(), ErrorCode>) {
    assert_eq!(verdict(&signed(query), &[], &caller()), expected, "{query}");
}

const FAILED: Result<(), ErrorCode> = Err(ErrorCode::AuthenticationFailed);
const ACCOUNT_TOKEN: &str = "sv=2019-02-02&ss=bt&srt=sco&sp=rwdlacu&st=2026-01-01T00:00:00Z&se=2030-01-01T00:00:00Z&sip=10.0.0.1-10.0.0.9&spr=https,http";
const TABLE_TOKEN: &str = "sv=2019-02-02&tn=mytable&sp=raud&st=2026-01-01&se=2030-01-01&sip=10.0.0.5&spr=https,http&spk=a&srk=1&epk=b&erk=9";

/// Reference vectors: the string to sign and the signature of each token.
#[test]
fn vectors() {
    for (query, text, signature) in [
        (
            "sv=2019-02-02&ss=t&srt=sco&sp=rwdlacu&se=2030-01-01T00:00:00Z&spr=https,http",
            "devstoreaccount1\nrwdlacu\nt\nsco\n\n2030-01-01T00:00:00Z\n\nhttps,http\n2019-02-02\n",
            "dKEa4zPUq/dWdOLrCYusn1Jnz45OJCCdBPi+hMWeijk=",
        ),
        (
            "sv=2020-12-06&ss=t&srt=sco&sp=rwdlacu&se=2030-01-01T00:00:00Z&spr=https,http",
            "devstoreaccount1\nrwdlacu\nt\nsco\n\n2030-01-01T00:00:00Z\n\nhttps,http\n2020-12-06\n\n",
            "aQbb1uM9CNZPJhjuzMWpvrja5t6VW2FlvCUFVvjctAk=",
        ),
        (
            "sp=raud&se=2030-01-01T00:00:00Z&sv=2019-02-02&tn=mytable",
            "raud\n\n2030-01-01T00:00:00Z\n/table/devstoreaccount1/mytable\n\n\n\n2019-02-02\n\n\n\n",
            "VH1kJ2dMcGJPJnFMefVZ3HMd1fedSci/031kWIgJz0w=",
        ),
        (
            "sp=r&st=2022-01-01T00:00:00Z&se=2030-01-01T00:00:00Z&sv=2019-02-02&tn=mytable&si=pol1&sip=10.0.0.1-10.0.0.9&spr=https&spk=a&srk=1&epk=b&erk=9",
            "r\n2022-01-01T00:00:00Z\n2030-01-01T00:00:00Z\n/table/devstoreaccount1/mytable\npol1\n10.0.0.1-10.0.0.9\nhttps\n2019-02-02\na\n1\nb\n9",
            "VLiYYujaEnl5Dk84+VL4AElfcjFnNYGW8uRSe7s6FXo=",
        ),
        (
            "sp=r&se=2030-01-01T00:00:00Z&sv=2013-08-15&tn=mytable",
            "r\n\n2030-01-01T00:00:00Z\n/devstoreaccount1/mytable\n\n2013-08-15\n\n\n\n",
            "c00v2CQEAVbFrIq2ft+GYjp3/UOs0dKAQ+X/Kda/D3k=",
        ),
        // An account signature for several services.
        (
            "sp=rwdlacup&ss=bqt&srt=sco&se=2030-01-01T00:00:00Z&sv=2021-12-02",
            "devstoreaccount1\nrwdlacup\nbqt\nsco\n\n2030-01-01T00:00:00Z\n\n\n2021-12-02\n\n",
            "gpeah2khtzVEz5l8NIEfOCdqpAnLiD7Cvg1BDARbaNg=",
        ),
    ] {
        let token = signed(query);
        assert_eq!(token.texts_to_sign(ACCOUNT)[0], text);
        assert_eq!(token.sig, signature, "{query}");
        let again = Token::parse(Query(&token.to_query())).unwrap();
        assert_eq!(again, token);
    }
}

/// SA-01: signed fields cannot be changed, neither by other values nor by omitting or adding parameters, in any of the
/// forms that the versions of the protocol sign.
#[test]
fn tampering() {
    let mut cases = 0;
    let scoped = ACCOUNT_TOKEN.replace("2019-02-02", "2020-12-06") + "&ses=scope";
    let old = "sv=2013-08-15&tn=mytable&sp=raud&st=2026-01-01&se=2030-01-01&spk=a&srk=1&epk=b&erk=9";
    for query in [ACCOUNT_TOKEN, TABLE_TOKEN, scoped.as_str(), old, &old.replace("2013-08-15", "2015-02-21")]
    {
        check(query, Ok(()));
        let good = signed(query);
        for name in Token::NAMES {
            let current = good.get(name).unwrap();
            let swapped: String = current.chars().rev().collect();
            let changes = [
                format!("{current}x"),
                format!("x{current}"),
                current.chars().skip(1).collect(),
                String::new(),
                swapped,
                current.to_uppercase(),
            ];
            // Table names are not case-sensitive.
            for changed in changes
                .iter()
                .filter(|text| *text != current && (*name != "tn" || text.to_lowercase() != current))
            {
                let mut bad = good.clone();
                *bad.get_mut(name).unwrap() = changed.clone();
                if !is_signed(&good, name) {
                    assert_eq!(bad.texts_to_sign(ACCOUNT), good.texts_to_sign(ACCOUNT), "{name}={changed}");
                    continue;
                }
                assert_eq!(verdict(&bad, &[], &caller()), FAILED, "{name}={changed}");
                cases += 1;
            }
        }
        for at in 0..good.sig.len() - 2 {
            let mut bad = good.clone();
            let replacement = if good.sig.as_bytes()[at] == b'A' { "B" } else { "A" };
            bad.sig.replace_range(at..=at, replacement);
            assert_eq!(verdict(&bad, &[], &caller()), FAILED, "{at}");
            cases += 1;
        }
    }
    assert!(cases > 450, "{cases}");
}

/// The parameters that each form signs. The others can be added: they have no effect, or restrict what the
/// token allowed.
fn is_signed(token: &Token, name: &str) -> bool {
    let account = token.kind() == Some(Kind::Account);
    match name {
        "ses" => account && token.sv.as_str() >= "2020-12-06",
        "sip" | "spr" => token.sv.as_str() >= "2015-04-05",
        "si" | "spk" | "srk" | "epk" | "erk" => !account,
        // A token with one of these is of another kind.
        "sr" | "skoid" => true,
        _ => !ELSEWHERE.contains(&name),
    }
}

/// Parameters that tokens for accounts and tables do not have.
const ELSEWHERE: [&str; 20] = [
    "sr", "sdd", "skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid", "sduoid", "saoid", "suoid", "scid",
    "srh", "srq", "rscc", "rscd", "rsce", "rscl", "rsct",
];

/// Both keys of the account are valid, others are not; the signature also covers the account.
#[test]
fn keys() {
    for query in [ACCOUNT_TOKEN, TABLE_TOKEN] {
        let token = signed(query);
        assert!(token.check_signature(ACCOUNT, &[key()]).is_ok());
        assert!(token.check_signature(ACCOUNT, &[]).is_err());
        assert!(token.check_signature(ACCOUNT, &[AccountKey::new(b"rotated")]).is_err());
        assert!(token.check_signature("another", &[key()]).is_err());
    }
}

/// SA-02.
#[test]
fn times() {
    let table = |rest: &str| format!("sv=2019-02-02&tn=t1t&sp=r&{rest}");
    for good in [
        "se=2026-06-16",
        "se=2026-06-15T12:01Z",
        "se=2026-06-15T12:00:01Z",
        "se=2026-06-15T12:00:00.0000001Z",
        "se=2026-06-15T14:00:01%2B02:00",
        "se=2026-06-15T10:00:01-02:00",
        "se=9999-12-31T23:59:59Z",
        "st=2026-06-15&se=2027-01-01",
        "st=2026-06-15T12:00Z&se=2027-01-01",
        "st=2026-06-15T13:59:59%2B02:00&se=2027-01-01",
        "st=2000-01-01&se=2027-01-01",
    ] {
        check(&table(good), Ok(()));
        check(&format!("sv=2019-02-02&ss=t&srt=o&sp=r&{good}"), Ok(()));
    }
    for bad in [
        "",
        "se=",
        "st=2026-01-01",
        "se=2026-06-15",
        "se=2026-06-15T11:59Z",
        "se=2026-06-15T11:59:59.9999999Z",
        "se=2026-06-15T13:59:59%2B02:00",
        "se=2030-01-01T00:00:00",
        "se=2030-01-01 00:00:00Z",
        "se=2030-01-01Z",
        "se=2030-1-1",
        "se=tomorrow",
        "se=2030-02-30",
        "st=2026-06-15T12:00:01Z&se=2027-01-01",
        "st=2026-06-16&se=2027-01-01",
        "st=soon&se=2027-01-01",
        "st=2027-01-01&se=2026-01-01",
    ] {
        check(&table(bad), FAILED);
        check(&format!("sv=2019-02-02&ss=t&srt=o&sp=r&{bad}"), FAILED);
    }
}

#[test]
fn addresses() {
    let with = |range: &str, address: &str| {
        let token = signed(&format!("sv=2019-02-02&tn=t1t&sp=r&se=2030-01-01&sip={range}"));
        verdict(&token, &[], &Caller { address: address.parse().unwrap(), ..caller() })
    };
    let elsewhere = Err(ErrorCode::AuthorizationSourceIPMismatch);
    for (range, address, expected) in [
        ("10.0.0.5", "10.0.0.5", Ok(())),
        ("10.0.0.5", "::ffff:10.0.0.5", Ok(())),
        ("10.0.0.5", "10.0.0.6", elsewhere),
        ("10.0.0.5", "::1", elsewhere),
        ("10.0.0.1-10.0.0.9", "10.0.0.1", Ok(())),
        ("10.0.0.1-10.0.0.9", "10.0.0.9", Ok(())),
        ("10.0.0.1-10.0.0.9", "10.0.0.10", elsewhere),
        ("10.0.0.1-10.0.0.9", "10.0.0.0", elsewhere),
        ("10.0.0.9-10.0.0.1", "10.0.0.5", elsewhere),
        ("0.0.0.0-255.255.255.255", "1.2.3.4", Ok(())),
        ("9.255.255.255-10.1.0.0", "10.0.200.200", Ok(())),
        ("::1", "::1", Ok(())),
        ("10.0.0", "10.0.0.1", FAILED),
        ("10.0.0.1-", "10.0.0.1", FAILED),
        ("10.0.0.0/8", "10.0.0.1", FAILED),
        ("10.0.0.1-::1", "10.0.0.1", FAILED),
        ("anywhere", "10.0.0.1", FAILED),
    ] {
        assert_eq!(with(range, address), expected, "{range} {address}");
    }
    let token = signed("sv=2019-02-02&tn=t1t&sp=r&se=2030-01-01&sip=1.2.3.4");
    let failure = token.terms(&[]).unwrap().check(&caller()).unwrap_err();
    assert!(failure.message.ends_with("using this source IP 10.0.0.5."), "{failure}");
}

#[test]
fn protocols() {
    for (spr, http, https) in [
        ("", Ok(()), Ok(())),
        ("https,http", Ok(()), Ok(())),
        ("https", Err(ErrorCode::AuthorizationProtocolMismatch), Ok(())),
        ("http", FAILED, FAILED),
        ("HTTPS", FAILED, FAILED),
        ("http,https", FAILED, FAILED),
    ] {
        for kind in ["tn=t1t", "ss=t&srt=o"] {
            let token = signed(&format!("sv=2019-02-02&{kind}&sp=r&se=2030-01-01&spr={spr}"));
            assert_eq!(verdict(&token, &[], &caller()), http, "{spr}");
            assert_eq!(verdict(&token, &[], &Caller { is_https: true, ..caller() }), https, "{spr}");
        }
    }
}

/// The versions that support each kind of token, and how each one signs it.
#[test]
fn versions() {
    let rest = "sp=r&se=2030-01-01";
    for sv in [
        "2012-02-12",
        "2013-08-15",
        "2014-02-14",
        "2015-02-21",
        "2015-04-05",
        "2019-02-02",
        "2020-12-06",
        "2026-02-06",
    ] {
        check(&format!("sv={sv}&tn=T1T&{rest}"), Ok(()));
    }
    for sv in ["2015-04-05", "2015-12-11", "2019-07-07", "2020-04-08", "2020-12-06", "2026-02-06"] {
        check(&format!("sv={sv}&ss=t&srt=o&{rest}"), Ok(()));
    }
    for (query, kind) in [
        ("sv=2011-08-18&tn=t1t", None),
        ("sv=2015-02-21&ss=t&srt=o", None),
        ("sv=&tn=t1t", None),
        ("tn=t1t", None),
        ("sv=latest&tn=t1t", None),
        ("sv=2011-08-18", None),
        ("sv=2019-02-02", Some(Kind::Service(Service::Queue))),
        ("sv=2019-02-02&tn=t1t&ss=t&srt=o", None),
        ("sv=2019-02-02&sr=b", Some(Kind::Service(Service::Blob))),
        ("sv=2019-02-02&sr=x", None),
        ("sv=2019-02-02&sr=b&tn=t1t", None),
        ("sv=2012-02-12&tn=t1t", Some(Kind::Service(Service::Table))),
        ("sv=2015-04-05&srt=o", Some(Kind::Account)),
    ] {
        assert_eq!(token(query).kind(), kind, "{query}");
        if kind.is_none() {
            assert_eq!(verdict(&token(query), &[], &caller()), FAILED);
        }
    }
    let resource = |sv: &str| signed(&format!("sv={sv}&tn=MyTable&{rest}")).texts_to_sign(ACCOUNT)[0].clone();
    assert!(resource("2014-02-14").contains("\n/devstoreaccount1/mytable\n\n2014-02-14\n"));
    assert!(resource("2015-02-21").contains("\n/table/devstoreaccount1/mytable\n\n2015-02-21\n"));
    assert!(resource("2015-04-05").contains("\n/table/devstoreaccount1/mytable\n\n\n\n2015-04-05\n"));
}

/// SDKs for tables sign account tokens of any version without the line of the encryption scope.
#[test]
fn the_short_form_of_new_account_tokens() {
    let query = "sv=2020-12-06&ss=t&srt=o&sp=r&se=2030-01-01";
    let mut short = token(query);
    let text = format!("{ACCOUNT}\nr\nt\no\n\n2030-01-01\n\n\n2020-12-06\n");
    short.sig = signature_text(&key().sign(&text));
    assert_eq!(verdict(&short, &[], &caller()), Ok(()));
    let mut scoped = short.clone();
    scoped.ses = "scope".into();
    assert_eq!(verdict(&scoped, &[], &caller()), FAILED);
    check(&format!("{query}&ses=scope"), Ok(()));
    let mut stripped = signed(&format!("{query}&ses=scope"));
    stripped.ses.clear();
    assert_eq!(verdict(&stripped, &[], &caller()), FAILED);
}

#[test]
fn permissions_and_ranges_must_make_sense() {
    let table = |rest: &str| format!("sv=2019-02-02&tn=t1t&se=2030-01-01&{rest}");
    for good in ["sp=r", "sp=raud", "sp=duar", "sp=r&spk=a", "sp=r&epk=a&erk=b", "sp=r&spk=a&srk=b&epk=c"] {
        check(&table(good), Ok(()));
    }
    for bad in ["", "sp=", "sp=w", "sp=rl", "sp=R", "sp=r&srk=a", "sp=r&erk=a", "sp=r&epk=a&srk=b"] {
        check(&table(bad), FAILED);
    }
    let account = |rest: &str| format!("sv=2019-02-02&ss=t&srt=o&se=2030-01-01&{rest}");
    for good in ["sp=r", "sp=rwdlacup", "sp=rwdxylacupitf", "sp=lr"] {
        check(&account(good), Ok(()));
    }
    for bad in ["", "sp=", "sp=z", "sp=R", "sp=r&si=policy"] {
        check(&account(bad), FAILED);
    }
}

/// OP-22: a field is set either by the policy or by the token, never by both.
#[test]
fn policies() {
    let time = |text: &str| DateTime::parse(text);
    let policy = |id: &str, start, expiry, permissions: Option<&str>| SignedIdentifier {
        id: id.into(),
        policy: Some(AccessPolicy { start, expiry, permissions: permissions.map(str::to_owned) }),
    };
    let policies = [
        policy("all", time("2026-01-01"), time("2030-01-01"), Some("r")),
        policy("expiry", None, time("2030-01-01"), None),
        policy("rights", None, None, Some("raud")),
        policy("over", None, time("2026-06-01"), None),
        policy("later", time("2026-07-01"), None, None),
        SignedIdentifier { id: "empty".into(), policy: None },
    ];
    for (rest, expected) in [
        ("si=all", Ok(())),
        ("si=all&sp=r", FAILED),
        ("si=all&se=2030-01-01", FAILED),
        ("si=all&st=2026-01-01", FAILED),
        ("si=expiry&sp=r", Ok(())),
        ("si=expiry&sp=r&st=2026-01-01", Ok(())),
        ("si=expiry", FAILED),
        ("si=expiry&sp=r&se=2030-01-01", FAILED),
        ("si=rights&se=2030-01-01", Ok(())),
        ("si=rights", FAILED),
        ("si=rights&se=2026-01-01", FAILED),
        ("si=over&sp=r", FAILED),
        ("si=later&sp=r&se=2030-01-01", FAILED),
        ("si=empty&sp=r&se=2030-01-01", Ok(())),
        ("si=empty", FAILED),
        ("si=All&sp=r&se=2030-01-01", FAILED),
        ("si=missing&sp=r&se=2030-01-01", FAILED),
    ] {
        let token = signed(&format!("sv=2019-02-02&tn=t1t&{rest}"));
        assert_eq!(verdict(&token, &policies, &caller()), expected, "{rest}");
        assert_eq!(verdict(&token, &[], &caller()), FAILED, "revoked: {rest}");
    }
}

#[test]
fn reading() {
    assert_eq!(Token::parse(Query("$filter=a&sv=2019-02-02")), None);
    let found = Token::parse(Query("sig=a%2Bb%3D&sp=r&x=1&sp=raud&tn=a%20b&spk=%C3%A4")).unwrap();
    assert_eq!((found.sig.as_str(), found.sp.as_str(), found.tn.as_str()), ("a+b=", "r", "a b"));
    assert_eq!(found.spk, "ä");
    assert_eq!(Token::parse(Query("sig=a+b")).unwrap().sig, "a+b");
    assert_eq!(found.to_query(), "tn=a%20b&sp=r&spk=%C3%A4&sig=a%2Bb%3D");
}

#[test]
fn versions_of_requests() {
    let of = |sv: &str, query: &str, header: &str| {
        let header = ApiVersion::parse(header).unwrap_or(ApiVersion::NONE);
        let found = token(&format!("sv={sv}&tn=t1t")).request_version(Service::Table, Query(query), header);
        found.map(|version| version.to_string()).map_err(|failure| failure.code)
    };
    for (sv, query, header, expected) in [
        ("2019-02-02", "", "", "2019-02-02"),
        ("2019-02-02", "", "2020-12-06", "2019-02-02"),
        ("2019-02-02", "api-version=2017-04-17", "2020-12-06", "2017-04-17"),
        ("2014-02-14", "", "2019-02-02", "2014-02-14"),
        ("2013-08-15", "", "2019-02-02", "2019-02-02"),
        ("2013-08-15", "", "", "2013-08-15"),
    ] {
        assert_eq!(of(sv, query, header), Ok(expected.to_owned()), "{sv} {query} {header}");
    }
    assert_eq!(of("2019-02-02", "api-version=x", ""), Err(ErrorCode::InvalidQueryParameterValue));
}
