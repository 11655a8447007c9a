//! Sources of copies, customer-provided keys, and the values that must not reach a log.

use lazuli_model::blob::copy::SourceBlob;
use lazuli_model::blob::operation::CopyBlob;
use lazuli_model::blob::protection::ImmutabilityMode;
use lazuli_model::blob::write::TagOption;
use lazuli_model::blob::{ByteRange, Revision};

use super::*;

fn copy(headers: &[(&str, &str)]) -> Result<Box<CopyBlob>, ErrorCode> {
    match action("PUT /abc/b", headers)? {
        BlobAction::Copy(copy) => Ok(copy),
        other => panic!("{other:?}"),
    }
}

fn source(url: &str) -> Result<Option<SourceBlob>, ErrorCode> {
    copy(&[("x-ms-copy-source", url)]).map(|copy| copy.source.blob)
}

#[test]
fn sources() {
    let found = source("http://127.0.0.1:10000/dev/src/a%20b?sv=x&sig=y%3D").unwrap().unwrap();
    assert_eq!(
        (found.account.as_str(), found.container.as_str(), found.blob.as_str()),
        ("dev", "src", "a b")
    );
    assert!(found.is_same_host && found.query == "sv=x&sig=y%3D");
    let time = "2011-03-09T01:42:34.9360000Z";
    let snapshot = source(&format!("http://127.0.0.1:10000/dev/src/b?snapshot={time}")).unwrap().unwrap();
    assert_eq!(snapshot.revision, Revision::Snapshot(DateTime::parse(time).unwrap()));
    let elsewhere = source("https://dev.blob.core.windows.net/src/b").unwrap().unwrap();
    assert_eq!((elsewhere.is_same_host, elsewhere.account.as_str()), (false, "dev"));
    assert_eq!(source("http://example.org/"), Ok(None), "a URL, but not that of a blob");
    for bad in ["ftp://127.0.0.1/dev/src/b", "nonsense", "http://", &format!("http://h/{}", "x".repeat(2048))]
    {
        assert!(source(bad).is_err(), "{bad}");
    }
}

/// A path without host was treated as a blob of this server in every version.
#[test]
fn a_path_is_a_source_before_2012_only() {
    let source_at = |version| {
        let headers = [("x-ms-copy-source", "/dev/src/b")];
        match decode_at(version, "PUT /abc/b", &headers).map_err(|failure| failure.code)?.0 {
            Intent::Ready(Operation::Blob(request)) => match request.action {
                BlobAction::Copy(copy) => Ok(copy.source.blob),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    let found = source_at(ApiVersion::V2011_08_18).unwrap().unwrap();
    assert!(found.is_same_host && found.blob.as_str() == "b");
    assert_eq!(source_at(ApiVersion::V2012_02_12), Err(ErrorCode::InvalidHeaderValue));
}

#[test]
fn headers() {
    let url = ("x-ms-copy-source", "http://127.0.0.1:10000/dev/src/b");
    let plain = copy(&[url]).unwrap();
    assert!(!plain.is_sync && plain.metadata.is_none() && plain.digests == Digests::default());
    let full = copy(&[
        url,
        ("x-ms-requires-sync", "TRUE"),
        ("x-ms-meta-a", "1"),
        ("x-ms-source-if-match", "0x8D1"),
        ("If-None-Match", "*"),
        ("x-ms-copy-source-authorization", "Bearer token"),
        ("x-ms-copy-source-tag-option", "COPY"),
        ("x-ms-source-content-md5", "sQqNsWTgdUEFt6mb5y4/5Q=="),
    ])
    .unwrap();
    assert!(full.is_sync && full.metadata.is_some() && full.digests.md5);
    assert!(full.source.conditions.if_match.is_some() && full.source.expected.md5.is_some());
    assert_eq!((full.source.bearer.as_deref(), full.tag_option), (Some("token"), TagOption::Copy));
    let both = [
        url,
        ("x-ms-source-content-md5", "sQqNsWTgdUEFt6mb5y4/5Q=="),
        ("x-ms-source-content-crc64", "YeJLfssylmU="),
    ];
    assert_eq!(copy(&both), Err(ErrorCode::BothCrc64AndMd5HeaderPresent));
    assert_eq!(
        copy(&[url, ("x-ms-copy-source-authorization", "Basic x")]),
        Err(ErrorCode::InvalidHeaderValue)
    );
    let block = [url, ("Content-Length", "0"), ("x-ms-source-range", "bytes=5-9")];
    let BlobAction::PutBlockFromUrl(_, source, digests) =
        action("PUT /abc/b?comp=block&blockid=MQ%3D%3D", &block).unwrap()
    else {
        panic!()
    };
    assert_eq!(source.range, Some(ByteRange { first: 5, last: Some(9) }));
    assert_eq!(source.length_max, Some(4000 << 20), "the limit of Put Block");
    assert!(digests.crc64);
    let full = [url, ("Content-Length", "1")];
    rejects("PUT /abc/b?comp=block&blockid=MQ%3D%3D", &full, ErrorCode::InvalidHeaderValue);
}

#[test]
fn aborts() {
    let line = "PUT /abc/b?comp=copy&copyid=c9da6455-213d-42c9-9a79-3e9149a57833";
    let abort = ("x-ms-copy-action", "abort");
    assert!(matches!(action(line, &[abort]), Ok(BlobAction::AbortCopy(_))));
    rejects(line, &[], ErrorCode::MissingRequiredHeader);
    rejects(line, &[("x-ms-copy-action", "pause")], ErrorCode::InvalidHeaderValue);
    rejects("PUT /abc/b?comp=copy", &[abort], ErrorCode::MissingRequiredQueryParameter);
    rejects("PUT /abc/b?comp=copy&copyid=1", &[abort], ErrorCode::InvalidQueryParameterValue);
}

#[test]
fn customer_keys() {
    let key = ("x-ms-encryption-key", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    let sha = ("x-ms-encryption-key-sha256", "Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU=");
    let aes = ("x-ms-encryption-algorithm", "AES256");
    let encryption =
        |headers: &[(&str, &str)]| request("GET /abc/b", headers).map(|request| request.encryption);
    assert!(encryption(&[key, sha, aes]).unwrap().key.is_some());
    assert_eq!(encryption(&[aes]).map(|found| found.key), Ok(None), "old clients send it");
    assert_eq!(encryption(&[key, aes]), Err(ErrorCode::MissingRequiredHeader));
    assert_eq!(encryption(&[key, sha]), Err(ErrorCode::MissingRequiredHeader));
    assert_eq!(encryption(&[sha]), Err(ErrorCode::MissingRequiredHeader));
    assert_eq!(encryption(&[key, (sha.0, key.1), aes]), Err(ErrorCode::InvalidHeaderValue));
    assert_eq!(encryption(&[(key.0, "AAAA"), sha, aes]), Err(ErrorCode::InvalidHeaderValue));
}

/// Neither keys nor signatures of sources show in debug output.
#[test]
fn secrets_do_not_show() {
    let key = ("x-ms-encryption-key", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    let failure = decode_at(NEW, "GET /abc/b", &[(key.0, "secret")]).unwrap_err();
    assert!(!format!("{failure:?}").contains("secret"));
    let url = "http://127.0.0.1:10000/dev/src/b?sig=secret";
    let source = [
        ("x-ms-copy-source", url),
        ("x-ms-source-encryption-key", key.1),
        ("x-ms-source-encryption-key-sha256", "Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU="),
        ("x-ms-source-encryption-algorithm", "AES256"),
    ];
    let shown = format!("{:?}", action("PUT /abc/b", &source).unwrap());
    assert!(!shown.contains("AAAAAAAA"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn immutability() {
    let until = ("x-ms-immutability-policy-until-date", "Mon, 27 Jun 2022 20:11:08 GMT");
    let line = "PUT /abc/b?comp=immutabilityPolicies";
    let locked = action(line, &[until, ("x-ms-immutability-policy-mode", "Locked")]);
    assert!(
        matches!(locked, Ok(BlobAction::SetImmutability(policy)) if policy.mode == ImmutabilityMode::Locked)
    );
    rejects(line, &[], ErrorCode::MissingRequiredHeader);
    rejects(line, &[("x-ms-immutability-policy-mode", "Locked")], ErrorCode::MissingRequiredHeader);
    rejects("PUT /abc/b?comp=legalhold", &[], ErrorCode::MissingRequiredHeader);
    let relative = [("x-ms-expiry-option", "RelativeToNow")];
    rejects("PUT /abc/b?comp=expiry", &relative, ErrorCode::MissingRequiredHeader);
}
