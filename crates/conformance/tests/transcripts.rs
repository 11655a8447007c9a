//! The transcripts themselves: all can be parsed, all state the source of their expectations, and together they cover
//! every error code.

use std::collections::BTreeSet;

use lazuli_conformance::{TRANSCRIPTS, Transcript};
use lazuli_model::ErrorCode;

/// Fewer exchanges than this mean that transcripts are missing.
const EXCHANGES_MIN: usize = 500;

/// Codes that no request can provoke at will, or that belong to operations without transcripts.
const UNTRIED: &[ErrorCode] = &[
    ErrorCode::AccountIsDisabled,
    ErrorCode::AccountRequiresHttps,
    ErrorCode::InternalError,
    ErrorCode::OperationTimedOut,
    ErrorCode::PopReceiptMismatch,
    ErrorCode::QueueBeingDeleted,
    ErrorCode::QueueDisabled,
    ErrorCode::QueueNotEmpty,
    ErrorCode::RequestHeaderTooLarge,
    ErrorCode::RequestTimeout,
    ErrorCode::ServerBusy,
    ErrorCode::TableBeingDeleted,
    // Of static websites, which are not part of an account's endpoint.
    ErrorCode::WebContentNotFound,
];

/// Codes that only requests of the Blob service provoke. Its transcripts shorten this list.
const BLOB: &str = "
    AccessTierNotSupportedForBlobType AppendPositionConditionNotMet OperationNotAllowedOnRootBlob BlobArchived BlobBeingRehydrated
    BlobImmutableDueToPolicy BlobIsSealed BlobNotArchived BlobOverwritten BlobTierInadequateForContentLength
    BlobUsesCustomerSpecifiedEncryption BlockCountExceedsLimit BlockListTooLong CannotChangeToLowerTier
    ContainerBeingDeleted ContainerDisabled ContentLengthLargerThanTierLimit CopyAcrossAccountsNotSupported
    CopyIdMismatch DuplicateTagNames EmptyTagName FeatureVersionMismatch IncrementalCopyBlobMismatch
    IncrementalCopyOfEarlierSnapshotNotAllowed IncrementalCopySourceMustBeSnapshot
    InfiniteLeaseDurationRequired InvalidBlobTier InvalidBlobType InvalidBlockId InvalidPageRange
    InvalidSourceBlobType InvalidSourceBlobUrl InvalidTag InvalidVersionForPageBlobOperation
    InvalidXmlNodeValue LeaseAlreadyBroken LeaseIsBreakingAndCannotBeAcquired
    LeaseIsBreakingAndCannotBeChanged LeaseIsBrokenAndCannotBeRenewed LeaseNotPresentWithBlobOperation
    LeaseNotPresentWithContainerOperation LeaseNotPresentWithLeaseOperation MaxBlobSizeConditionNotMet
    MissingRequiredXmlNode OperationNotAllowedOnIncrementalCopyBlob PreviousSnapshotCannotBeNewer
    PreviousSnapshotNotFound PreviousSnapshotOperationNotSupported PublicAccessNotPermitted
    ResourceAlreadyExists SequenceNumberConditionNotMet SequenceNumberIncrementTooLarge SnapshotCountExceeded
    SnapshotOperationRateExceeded SourceConditionNotMet SystemInUse TagsTooLarge TargetConditionNotMet
    UnauthorizedBlobOverwrite UnsupportedHeader UnsupportedQueryParameter UnsupportedXmlNode
";

fn all() -> Vec<Transcript> {
    let parse = |&(name, file): &(&str, &str)| {
        Transcript::parse(name, file).unwrap_or_else(|error| panic!("{name}.http: {error}"))
    };
    TRANSCRIPTS.iter().map(parse).collect()
}

#[test]
fn every_file_is_a_transcript() {
    let transcripts = all();
    let exchanges: usize = transcripts.iter().map(|transcript| transcript.exchanges.len()).sum();
    assert!(exchanges >= EXCHANGES_MIN, "{exchanges} exchanges");
    for transcript in &transcripts {
        assert!(!transcript.exchanges.is_empty(), "{}", transcript.name);
        assert_eq!(transcript.name.split('/').count(), 3, "{}", transcript.name);
    }
}

#[test]
fn every_truth_has_a_known_source() {
    const SOURCES: &[&str] = &["recorded", "documentation", "decided", "inferred", "public reports"];
    for transcript in all() {
        let known = SOURCES.iter().any(|source| transcript.truth.starts_with(source));
        assert!(known, "{}: {}", transcript.name, transcript.truth);
    }
}

#[test]
fn requirements_are_cited_by_id() {
    let is_id = |id: &String| {
        id.split_once('-').is_some_and(|(group, number)| {
            group.len() == 2
                && group.bytes().all(|b| b.is_ascii_uppercase())
                && number.len() == 2
                && number.bytes().all(|b| b.is_ascii_digit())
        })
    };
    for transcript in all() {
        assert!(!transcript.requirements.is_empty(), "{} cites nothing", transcript.name);
        let bad: Vec<_> = transcript.requirements.iter().filter(|id| !is_id(id)).collect();
        assert!(bad.is_empty(), "{}: {bad:?}", transcript.name);
    }
}

#[test]
fn every_error_code_is_tried() {
    let text: String = TRANSCRIPTS.iter().map(|(_, file)| *file).collect();
    let tried = |code: &ErrorCode| text.contains(code.name());
    let later = |code: &ErrorCode| BLOB.split_whitespace().any(|name| name == code.name());
    let untried: BTreeSet<_> =
        ErrorCode::ALL.iter().filter(|code| !tried(code) && !later(code)).map(|code| code.name()).collect();
    let excused: BTreeSet<_> = UNTRIED.iter().map(|code| code.name()).collect();
    assert_eq!(untried, excused);
}
