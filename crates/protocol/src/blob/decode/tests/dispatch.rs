//! The operation for each kind of request, one row each.

use lazuli_model::delegation::KeyPeriod;

use super::*;

const EMPTY: (&str, &str) = ("Content-Length", "0");
const SOURCE: (&str, &str) = ("x-ms-copy-source", "http://127.0.0.1:10000/dev/abc/source");
const ID: (&str, &str) = ("x-ms-lease-id", "c9da6455-213d-42c9-9a79-3e9149a57833");
const PROPOSED: (&str, &str) = ("x-ms-proposed-lease-id", "c9da6455-213d-42c9-9a79-3e9149a57834");

fn lease(action: &'static str) -> (&'static str, &'static str) {
    ("x-ms-lease-action", action)
}

#[track_caller]
fn check(line: &str, headers: &[(&str, &str)], kind: OperationKind) {
    assert_eq!(intent(line, headers).map(|intent| intent.kind()), Ok(kind), "{line} {headers:?}");
}

#[test]
fn operations_of_the_service() {
    use OperationKind as Kind;
    check("GET /?comp=list", &[], Kind::ListContainers);
    check("GET /?Comp=List&include=", &[], Kind::ListContainers);
    check("GET /?restype=service&comp=properties", &[], Kind::GetBlobServiceProperties);
    check("PUT /?restype=service&comp=properties", &[], Kind::SetBlobServiceProperties);
    check("GET /?restype=account&comp=properties", &[], Kind::GetAccountInformation);
    check("HEAD /?restype=account&comp=properties", &[], Kind::GetAccountInformation);
    check("POST /?restype=service&comp=userdelegationkey", &[], Kind::GetUserDelegationKey);
    check("GET /?comp=blobs&where=a%3D'b'", &[], Kind::FindBlobsByTags);
    check("POST /?comp=batch", &[], Kind::BlobBatch);
    check("POST /?restype=container&comp=batch", &[], Kind::BlobBatch);
    rejects("GET /", &[], ErrorCode::InvalidQueryParameterValue);
    rejects("GET /?comp=nonsense", &[], ErrorCode::InvalidQueryParameterValue);
    rejects("POST /?comp=list", &[], ErrorCode::UnsupportedHttpVerb);
    rejects("DELETE /?restype=service&comp=properties", &[], ErrorCode::UnsupportedHttpVerb);
    rejects("OPTIONS /", &[], ErrorCode::CorsPreflightFailure);
    rejects("GET /?restype=service&comp=stats", &[], ErrorCode::InvalidQueryParameterValue);
}

#[test]
fn stats_come_from_the_secondary() {
    let fields = [Field { name: "Host", value: "127.0.0.1:10000" }];
    let target = "/dev-secondary/?restype=service&comp=stats";
    let head = Head { method: "GET", target, fields: &fields };
    let address = Address::parse(&head, Service::Blob, |name| name == "dev").unwrap();
    let (intent, _) = super::decode(&head, &address, NEW, &|_| true).unwrap();
    assert_eq!(intent, Intent::Ready(Operation::GetStats));
}

/// BL-05: the nine operations in the documentation, and the others.
#[test]
fn operations_of_containers() {
    use OperationKind as Kind;
    let meta = ("x-ms-meta-a", "1");
    let duration = ("x-ms-lease-duration", "15");
    for path in ["/abc?restype=container", "/abc/?restype=container", "/$root?restype=container"] {
        check(&format!("PUT {path}"), &[meta], Kind::CreateContainer);
        check(&format!("GET {path}"), &[], Kind::GetContainerProperties);
        check(&format!("HEAD {path}"), &[], Kind::GetContainerProperties);
        check(&format!("DELETE {path}"), &[ID], Kind::DeleteContainer);
        check(&format!("GET {path}&comp=metadata"), &[], Kind::GetContainerMetadata);
        check(&format!("HEAD {path}&comp=metadata"), &[], Kind::GetContainerMetadata);
        check(&format!("PUT {path}&comp=metadata"), &[meta], Kind::SetContainerMetadata);
        check(&format!("GET {path}&comp=acl"), &[], Kind::GetContainerAcl);
        check(&format!("PUT {path}&comp=acl"), &[], Kind::SetContainerAcl);
        check(&format!("GET {path}&comp=list"), &[], Kind::ListBlobs);
        check(&format!("GET {path}&comp=blobs&where=a%3D'b'"), &[], Kind::FindBlobsByTags);
        check(&format!("POST {path}&comp=batch"), &[], Kind::BlobBatch);
        let line = format!("PUT {path}&comp=lease");
        check(&line, &[lease("acquire"), duration], Kind::AcquireContainerLease);
        check(&line, &[lease("renew"), ID], Kind::RenewContainerLease);
        check(&line, &[lease("change"), ID, PROPOSED], Kind::ChangeContainerLease);
        check(&line, &[lease("release"), ID], Kind::ReleaseContainerLease);
        check(&line, &[lease("break")], Kind::BreakContainerLease);
    }
    let deleted = [("x-ms-deleted-container-name", "old"), ("x-ms-deleted-container-version", "01D6")];
    check("PUT /abc?restype=container&comp=undelete", &deleted, Kind::RestoreContainer);
    check("GET /abc?restype=account&comp=properties", &[], Kind::GetAccountInformation);
    rejects("POST /abc?restype=container", &[], ErrorCode::UnsupportedHttpVerb);
    rejects("GET /abc?restype=container&comp=lease", &[], ErrorCode::UnsupportedHttpVerb);
    rejects("GET /abc?restype=container&comp=nonsense", &[], ErrorCode::InvalidQueryParameterValue);
    rejects("GET /abc/", &[], ErrorCode::InvalidUri);
}

/// BL-06, LS-08: the sixteen operations in the documentation, and the others.
#[test]
fn operations_of_blobs() {
    use OperationKind as Kind;
    let block = ("x-ms-blob-type", "BlockBlob");
    let one = ("Content-Length", "1");
    let page = ("x-ms-range", "bytes=0-511");
    let meta = ("x-ms-meta-a", "1");
    for path in ["/abc/b", "/abc/d/e%2Ff", "/b"] {
        let put = |comp: &str| format!("PUT {path}?comp={comp}");
        check(&format!("GET {path}"), &[], Kind::GetBlob);
        check(&format!("HEAD {path}"), &[], Kind::GetBlobProperties);
        check(&format!("GET {path}?comp=metadata"), &[], Kind::GetBlobMetadata);
        check(&format!("HEAD {path}?comp=metadata"), &[], Kind::GetBlobMetadata);
        check(&format!("GET {path}?comp=blocklist&blocklisttype=all"), &[], Kind::GetBlockList);
        check(&format!("GET {path}?comp=pagelist"), &[], Kind::GetPageRegions);
        check(&format!("GET {path}?comp=tags"), &[], Kind::GetBlobTags);
        check(&format!("DELETE {path}"), &[], Kind::DeleteBlob);
        check(&format!("PUT {path}"), &[block, one], Kind::PutBlob);
        check(&format!("PUT {path}"), &[("x-ms-blob-type", "AppendBlob"), EMPTY], Kind::PutBlob);
        let size = ("x-ms-blob-content-length", "1024");
        check(&format!("PUT {path}"), &[("x-ms-blob-type", "PageBlob"), EMPTY, size], Kind::PutBlob);
        check(&format!("PUT {path}"), &[block, EMPTY, SOURCE], Kind::PutBlobFromUrl);
        check(&format!("PUT {path}"), &[EMPTY, SOURCE], Kind::CopyBlob);
        check(
            &format!("PUT {path}"),
            &[EMPTY, SOURCE, ("x-ms-requires-sync", "True")],
            Kind::CopyBlobFromUrl,
        );
        check(&put("block&blockid=MQ%3D%3D"), &[one], Kind::PutBlock);
        check(&put("block&blockid=MQ%3D%3D"), &[EMPTY, SOURCE], Kind::PutBlockFromUrl);
        check(&put("blocklist"), &[one], Kind::PutBlockList);
        check(&put("appendblock"), &[one], Kind::AppendBlock);
        check(&put("appendblock"), &[EMPTY, SOURCE], Kind::AppendBlockFromUrl);
        check(&put("seal"), &[EMPTY], Kind::SealBlob);
        let pages = [("x-ms-page-write", "update"), page, ("Content-Length", "512")];
        check(&put("page"), &pages, Kind::PutPage);
        check(&put("page"), &[("x-ms-page-write", "clear"), page, EMPTY], Kind::ClearPage);
        check(&put("page"), &[("x-ms-page-write", "update"), page, EMPTY, SOURCE], Kind::PutPageFromUrl);
        check(&put("incrementalcopy"), &[SOURCE], Kind::IncrementalCopyBlob);
        let abort = ("x-ms-copy-action", "abort");
        check(&put("copy&copyid=c9da6455-213d-42c9-9a79-3e9149a57833"), &[abort], Kind::AbortCopyBlob);
        check(&put("properties"), &[], Kind::SetBlobProperties);
        check(&put("metadata"), &[meta], Kind::SetBlobMetadata);
        check(&put("tags"), &[], Kind::SetBlobTags);
        check(&put("tier"), &[("x-ms-access-tier", "Cool")], Kind::SetBlobTier);
        check(&put("snapshot"), &[], Kind::SnapshotBlob);
        check(&put("undelete"), &[], Kind::UndeleteBlob);
        check(&put("expiry"), &[("x-ms-expiry-option", "NeverExpire")], Kind::SetBlobExpiry);
        let until = ("x-ms-immutability-policy-until-date", "Mon, 27 Jun 2022 20:11:08 GMT");
        check(&put("immutabilityPolicies"), &[until], Kind::SetBlobImmutabilityPolicy);
        check(&put("legalhold"), &[("x-ms-legal-hold", "true")], Kind::SetBlobLegalHold);
        check(&put("lease"), &[lease("acquire"), ("x-ms-lease-duration", "-1")], Kind::AcquireBlobLease);
        check(&put("lease"), &[lease("renew"), ID], Kind::RenewBlobLease);
        check(&put("lease"), &[lease("change"), ID, PROPOSED], Kind::ChangeBlobLease);
        check(&put("lease"), &[lease("release"), ID], Kind::ReleaseBlobLease);
        check(&put("lease"), &[lease("break")], Kind::BreakBlobLease);
    }
    check("DELETE /abc/b?comp=immutabilityPolicies", &[], Kind::DeleteBlobImmutabilityPolicy);
    check("GET /abc/b?restype=account&comp=properties", &[], Kind::GetAccountInformation);
    rejects("POST /abc/b?comp=query", &[], ErrorCode::NotImplemented);
    rejects("POST /abc/b", &[], ErrorCode::UnsupportedHttpVerb);
    rejects("GET /abc/b?comp=seal", &[], ErrorCode::UnsupportedHttpVerb);
    rejects("GET /abc/b?comp=nonsense", &[], ErrorCode::InvalidQueryParameterValue);
    rejects("PUT /abc/b", &[EMPTY], ErrorCode::MissingRequiredHeader);
    rejects("PUT /abc/b", &[EMPTY, ("x-ms-blob-type", "Blob")], ErrorCode::InvalidHeaderValue);
}

/// Clients that probe for a hierarchical namespace depend on the error code.
#[test]
fn a_flat_account_says_so() {
    for line in [
        "HEAD /abc/?action=getAccessControl",
        "HEAD /abc?action=getAccessControl&upn=false",
        "HEAD /abc/dir?action=getStatus",
        "PUT /abc?resource=filesystem",
        "PATCH /abc/b?action=append&position=0",
    ] {
        rejects(line, &[], ErrorCode::HierarchicalNamespaceNotEnabled);
    }
}

#[test]
fn bodies() {
    let (put, _) =
        decode_at(NEW, "PUT /abc/b", &[("x-ms-blob-type", "BlockBlob"), ("Content-Length", "7")]).unwrap();
    assert_eq!(put.streams().map(|body| body.length), Some(7));
    assert!(!put.needs_body());
    assert_eq!(put.body_max(ApiVersion::NONE), 64 << 20);
    assert_eq!(put.container().map(ContainerName::as_str), Some("abc"));
    assert_eq!(put.blob().map(BlobName::as_str), Some("b"));
    let commit = intent("PUT /abc/b?comp=blocklist", &[]).unwrap();
    assert!(commit.needs_body() && commit.streams().is_none());
    let batch = intent("POST /abc?restype=container&comp=batch", &[]).unwrap();
    assert!(batch.needs_body() && batch.operation().is_none() && batch.container().is_some());
    let line = "PUT /abc/b";
    let block = ("x-ms-blob-type", "BlockBlob");
    rejects(line, &[block], ErrorCode::MissingContentLengthHeader);
    rejects(line, &[block, ("Content-Length", "5242880001")], ErrorCode::RequestBodyTooLarge);
    rejects("PUT /abc/b?comp=block&blockid=MQ%3D%3D", &[EMPTY], ErrorCode::InvalidHeaderValue);
    rejects("PUT /abc/b?comp=appendblock", &[EMPTY], ErrorCode::InvalidHeaderValue);
}

/// A document completes an operation, and its checksum is verified first.
#[test]
fn documents() {
    let complete = |line: &str, headers: &[(&str, &str)], body: &str| {
        let (intent, mut wanted) = decode_at(NEW, line, headers).unwrap();
        let fields: Vec<Field<'_>> = headers.iter().map(|&(name, value)| Field { name, value }).collect();
        let head = Head { method: "PUT", target: "/", fields: &fields };
        let operation = intent.with_body(&head, NEW, body.as_bytes(), &mut wanted);
        operation.map(|operation| (operation, wanted)).map_err(|failure| failure.code)
    };
    let list = "<BlockList><Latest>MQ==</Latest></BlockList>";
    let line = "PUT /abc/b?comp=blocklist";
    let (operation, wanted) = complete(line, &[], list).unwrap();
    assert!(wanted.document.crc64.is_some() && wanted.document.md5.is_none());
    assert!(matches!(operation, Operation::Blob(request)
        if matches!(&request.action, BlobAction::PutBlockList(blocks, _) if blocks.len() == 1)));
    let wrong = ("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==");
    assert_eq!(complete(line, &[wrong], list).map(|_| ()), Err(ErrorCode::Md5Mismatch));
    let right = ("Content-MD5", "ftuSEAPmpGp4HARUUSyCsQ==");
    let sent = complete(line, &[right], list).map(|(_, wanted)| wanted.document);
    assert!(sent.is_ok_and(|sent| sent.md5.is_none() && sent.crc64.is_some()), "recorded: not both");
    assert_eq!(complete(line, &[], "<X/>").map(|_| ()), Err(ErrorCode::InvalidXmlDocument));
    let (operation, _) = complete(
        "POST /?restype=service&comp=userdelegationkey",
        &[],
        "<KeyInfo><Start>2024-01-01T00:00:00Z</Start><Expiry>2024-01-02T00:00:00Z</Expiry></KeyInfo>",
    )
    .unwrap();
    let time = DateTime::parse;
    let expiry = time("2024-01-02").unwrap();
    assert_eq!(operation, Operation::GetUserDelegationKey(KeyPeriod { start: time("2024-01-01"), expiry }));
    let acl = "PUT /abc?restype=container&comp=acl";
    let identifiers = "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>rl</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
    let (operation, _) = complete(acl, &[("x-ms-blob-public-access", "blob")], identifiers).unwrap();
    assert!(matches!(operation, Operation::Container(request)
        if matches!(&request.action, ContainerAction::SetAcl { policies, .. } if policies.len() == 1)));
    let (operation, _) = complete(acl, &[], "").unwrap();
    assert!(matches!(operation, Operation::Container(_)), "no body means no policies");
}
