//! The table of all wire error codes, and the failure with one of them that is sent to the client.

use std::borrow::Cow;
use std::fmt;

/// Is it useful to send the same request again?
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{ErrorCode, Retry};
///
/// assert_eq!(ErrorCode::ServerBusy.retry(), Retry::Later);
/// assert_eq!(ErrorCode::InvalidInput.retry(), Retry::Never);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// A repeated request gets the same response.
    Never,
    /// It may succeed later.
    Later,
}

/// Could the failed request have changed something?
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{ErrorCode, WasApplied};
///
/// assert_eq!(ErrorCode::EntityAlreadyExists.applied(), WasApplied::No);
/// assert_eq!(ErrorCode::OperationTimedOut.applied(), WasApplied::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WasApplied {
    /// Nothing was changed.
    No,
    /// The outcome is unknown.
    Unknown,
}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $status:literal, $retry:ident, $applied:ident, $message:literal;)*) => {
        /// A code of the service's error vocabulary. One wire name may stand for several variants that differ in status.
        ///
        /// ```
        /// # use lazuli_model as lazuli_client;
        /// use lazuli_client::ErrorCode;
        ///
        /// let code = ErrorCode::UpdateConditionNotSatisfied;
        /// assert_eq!((code.name(), code.status()), ("UpdateConditionNotSatisfied", 412));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* #[doc = concat!($status, ", `", $name, "`: ", $message)] $variant,)* }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The name in the error body.
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::ErrorCode;
            ///
            /// assert_eq!(ErrorCode::TableNotFound.name(), "TableNotFound");
            /// ```
            pub fn name(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name,)* }
            }

            /// The HTTP status that it is sent with.
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::ErrorCode;
            ///
            /// assert_eq!(ErrorCode::TableNotFound.status(), 404);
            /// ```
            pub fn status(self) -> u16 {
                match self { $(ErrorCode::$variant => $status,)* }
            }

            /// Should the request be retried?
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::{ErrorCode, Retry};
            ///
            /// assert_eq!(ErrorCode::TableBeingDeleted.retry(), Retry::Later);
            /// ```
            pub fn retry(self) -> Retry {
                match self { $(ErrorCode::$variant => Retry::$retry,)* }
            }

            /// May the request have been applied?
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::{ErrorCode, WasApplied};
            ///
            /// assert_eq!(ErrorCode::TableAlreadyExists.applied(), WasApplied::No);
            /// ```
            pub fn applied(self) -> WasApplied {
                match self { $(ErrorCode::$variant => WasApplied::$applied,)* }
            }

            /// The default message for the caller.
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::ErrorCode;
            ///
            /// assert_eq!(ErrorCode::TableNotFound.message(), "The table specified does not exist.");
            /// ```
            pub fn message(self) -> &'static str {
                match self { $(ErrorCode::$variant => $message,)* }
            }
        }
    };
}

// Messages are Azure's where recorded (including the misspelling "specifed"), else those of the documentation.
error_codes! {
    AccessTierChangeTimeConditionNotMet, "AccessTierChangeTimeConditionNotMet", 412, Never, No, "The access tier change time condition specified using HTTP conditional header(s) is not met.";
    AccessTierNotSupportedForBlobType, "AccessTierNotSupportedForBlobType", 400, Never, No, "The access tier is not supported for this blob type.";
    AccountIsDisabled, "AccountIsDisabled", 403, Never, No, "The specified account is disabled.";
    AccountRequiresHttps, "AccountRequiresHttps", 400, Never, No, "The account being accessed does not support http.";
    AllBatchSubRequestsShouldBeSameApi, "AllBatchSubRequestsShouldBeSameApi", 400, Never, No, "All batch subrequests should be the same api.";
    AppendPositionConditionNotMet, "AppendPositionConditionNotMet", 412, Never, No, "The append position condition specified was not met.";
    AtomFormatNotSupported, "AtomFormatNotSupported", 415, Never, No, "Atom format is not supported.";
    AuthenticationFailed, "AuthenticationFailed", 403, Never, No, "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
    AuthorizationFailure, "AuthorizationFailure", 403, Never, No, "This request is not authorized to perform this operation.";
    AuthorizationPermissionMismatch, "AuthorizationPermissionMismatch", 403, Never, No, "This request is not authorized to perform this operation using this permission.";
    AuthorizationProtocolMismatch, "AuthorizationProtocolMismatch", 403, Never, No, "This request is not authorized to perform this operation using this protocol.";
    AuthorizationResourceTypeMismatch, "AuthorizationResourceTypeMismatch", 403, Never, No, "This request is not authorized to perform this operation using this resource type.";
    AuthorizationServiceMismatch, "AuthorizationServiceMismatch", 403, Never, No, "This request is not authorized to perform this operation using this service.";
    AuthorizationSourceIPMismatch, "AuthorizationSourceIPMismatch", 403, Never, No, "This request is not authorized to perform this operation using this source IP.";
    BlobAlreadyExists, "BlobAlreadyExists", 409, Never, No, "The specified blob already exists.";
    BlobArchived, "BlobArchived", 409, Never, No, "This operation is not permitted on an archived blob.";
    BlobBeingRehydrated, "BlobBeingRehydrated", 409, Never, No, "This operation is not permitted because the blob is being rehydrated.";
    BlobCustomerSpecifiedEncryptionMismatch, "BlobCustomerSpecifiedEncryptionMismatch", 409, Never, No, "The given customer specified encryption does not match the encryption used to encrypt the blob.";
    BlobDoesNotUseCustomerSpecifiedEncryption, "BlobDoesNotUseCustomerSpecifiedEncryption", 409, Never, No, "The blob is not encrypted with customer specified encryption, but one was provided in the request.";
    BlobImmutableDueToLegalHold, "BlobImmutableDueToLegalHold", 409, Never, No, "This operation is not permitted as the blob is immutable due to one or more legal holds.";
    BlobImmutableDueToPolicy, "BlobImmutableDueToPolicy", 409, Never, No, "This operation is not permitted as the blob is immutable due to a policy.";
    BlobIsSealed, "BlobIsSealed", 409, Never, No, "The blob is sealed and its contents cannot be modified.";
    BlobNotArchived, "BlobNotArchived", 409, Never, No, "This operation is not permitted because the blob is not in the archive tier.";
    BlobNotFound, "BlobNotFound", 404, Never, No, "The specified blob does not exist.";
    BlobOperationNotSupported, "BlobOperationNotSupported", 409, Never, No, "The operation is not supported in this scenario.";
    BlobOverwritten, "BlobOverwritten", 409, Never, No, "The blob has been recreated since the previous snapshot was taken.";
    BlobTierInadequateForContentLength, "BlobTierInadequateForContentLength", 409, Never, No, "The specified blob tier size limit cannot be less than content length.";
    BlobUsesCustomerSpecifiedEncryption, "BlobUsesCustomerSpecifiedEncryption", 409, Never, No, "The blob is encrypted with customer specified encryption, but it was not provided in the request.";
    BlockCountExceedsLimit, "BlockCountExceedsLimit", 409, Never, No, "The committed block count cannot exceed the maximum limit of 50,000 blocks.";
    BlockListTooLong, "BlockListTooLong", 400, Never, No, "The block list may not contain more than 50,000 blocks.";
    BothCrc64AndMd5HeaderPresent, "BothCrc64AndMd5HeaderPresent", 400, Never, No, "Both x-ms-content-crc64 header and Content-MD5 header are present.";
    BothCrc64AndMd5RangeHeaderPresent, "BothCrc64AndMd5RangeHeaderPresent", 400, Never, No, "Both x-ms-range-get-content-crc64 header and x-ms-range-get-content-md5 header are present.";
    OperationNotAllowedOnRootBlob, "OperationNotAllowedOnRootBlob", 403, Never, No, "The specified operation is not allowed on root blob.";
    CannotChangeToLowerTier, "CannotChangeToLowerTier", 409, Never, No, "A higher blob tier has already been explicitly set.";
    CommandsInBatchActOnDifferentPartitions, "CommandsInBatchActOnDifferentPartitions", 400, Never, No, "All commands in a batch must operate on same entity group.";
    ConditionHeadersNotSupported, "ConditionHeadersNotSupported", 400, Never, No, "Condition headers are not supported.";
    ConditionNotMet, "ConditionNotMet", 412, Never, No, "The condition specified using HTTP conditional header(s) is not met.";
    ContainerAlreadyExists, "ContainerAlreadyExists", 409, Never, No, "The specified container already exists.";
    ContainerBeingDeleted, "ContainerBeingDeleted", 409, Later, No, "The specified container is being deleted. Try operation later.";
    ContainerDisabled, "ContainerDisabled", 409, Never, No, "The specified container has been disabled by the administrator.";
    ContainerImmutableStorageWithVersioningEnabled, "ContainerImmutableStorageWithVersioningEnabled", 409, Never, No, "The requested operation is not allowed as the container has a immutable storage with versioning enabled.";
    ContainerNotFound, "ContainerNotFound", 404, Never, No, "The specified container does not exist.";
    ContentLengthLargerThanTierLimit, "ContentLengthLargerThanTierLimit", 409, Never, No, "The blob's content length cannot exceed its tier limit.";
    CopyAcrossAccountsNotSupported, "CopyAcrossAccountsNotSupported", 400, Never, No, "The copy source account and destination account must be the same.";
    CopyIdMismatch, "CopyIdMismatch", 409, Never, No, "The specified copy ID did not match the copy ID for the pending copy operation.";
    /// A copy source that the server cannot read because it does not exist.
    CopySourceNotFound, "CannotVerifyCopySource", 404, Never, No, "The specified resource does not exist.";
    /// A copy source that the server must not read.
    CopySourceForbidden, "CannotVerifyCopySource", 403, Never, No, "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    /// A copy source that requires other credentials.
    CopySourceUnauthorized, "CannotVerifyCopySource", 401, Never, No, "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    /// A copy source in a state in which it cannot be read, such as an archived blob.
    CopySourceConflict, "CannotVerifyCopySource", 409, Never, No, "The copy source cannot be read in its current state.";
    /// A copy source whose response cannot be used.
    CopySourceUnusable, "CannotVerifyCopySource", 400, Never, No, "The response of the copy source cannot be used.";
    /// A copy source that no longer has the requested version.
    CopySourceConditionNotMet, "CannotVerifyCopySource", 412, Never, No, "The condition specified using HTTP conditional header(s) is not met.";
    /// A copy source that has not changed although the request requires it.
    CopySourceNotModified, "CannotVerifyCopySource", 304, Never, No, "The condition specified using HTTP conditional header(s) is not met.";
    /// A copy source that is too large for a synchronous copy.
    CopySourceTooLarge, "CannotVerifyCopySource", 409, Never, No, "The source request body for copy source is too large and exceeds the maximum permissible limit (256MB).";
    /// A copy source that cannot be reached.
    CopySourceUnreachable, "CannotVerifyCopySource", 500, Later, No, "Could not verify the copy source within the specified time.";
    /// A copy source that the operator does not allow.
    CopySourceNotAllowed, "CannotVerifyCopySource", 400, Never, No, "The copy source is not among the hosts that this server is allowed to copy from.";
    Crc64Mismatch, "Crc64Mismatch", 400, Never, No, "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.";
    DuplicateTagNames, "DuplicateTagNames", 400, Never, No, "The tags specified contain duplicate names.";
    EmptyTagName, "EmptyTagName", 400, Never, No, "The name of one of the tag key-value pairs is empty.";
    ExceedsMaxBatchRequestCount, "ExceedsMaxBatchRequestCount", 400, Never, No, "The batch operation exceeds maximum number of allowed subrequests.";
    FeatureVersionMismatch, "FeatureVersionMismatch", 409, Never, No, "The operation for AppendBlob requires at least version 2015-02-21.";
    HierarchicalNamespaceNotEnabled, "HierarchicalNamespaceNotEnabled", 400, Never, No, "Hierarchical namespace is not enabled for this account.";
    ImmutabilityPolicyDeleteOnLockedPolicy, "ImmutabilityPolicyDeleteOnLockedPolicy", 409, Never, No, "This operation is not permitted as the immutability policy is locked.";
    IncrementalCopyBlobMismatch, "IncrementalCopyBlobMismatch", 409, Never, No, "The specified source blob is different than the copy source of the existing incremental copy blob.";
    IncrementalCopyOfEarlierSnapshotNotAllowed, "IncrementalCopyOfEarlierSnapshotNotAllowed", 409, Never, No, "The specified snapshot is earlier than the last snapshot copied into the incremental copy blob.";
    IncrementalCopySourceMustBeSnapshot, "IncrementalCopySourceMustBeSnapshot", 409, Never, No, "The source for incremental copy request must be a snapshot.";
    InfiniteLeaseDurationRequired, "InfiniteLeaseDurationRequired", 412, Never, No, "The lease ID matched, but the specified lease must be an infinite-duration lease.";
    InvalidBlobOrBlock, "InvalidBlobOrBlock", 400, Never, No, "The specified blob or block content is invalid.";
    InvalidBlobTier, "InvalidBlobTier", 400, Never, No, "The specified blob tier is invalid.";
    InvalidBlobType, "InvalidBlobType", 409, Never, No, "The blob type is invalid for this operation.";
    InvalidBlockId, "InvalidBlockId", 400, Never, No, "The specified block ID is invalid. The block ID must be Base64-encoded.";
    InvalidBlockList, "InvalidBlockList", 400, Never, No, "The specified block list is invalid.";
    InvalidOperation, "InvalidOperation", 400, Never, No, "Invalid operation against a blob snapshot.";
    InvalidPageRange, "InvalidPageRange", 416, Never, No, "The page range specified is invalid.";
    InvalidSourceBlobType, "InvalidSourceBlobType", 409, Never, No, "The copy source blob type is invalid for this operation.";
    InvalidSourceBlobUrl, "InvalidSourceBlobUrl", 409, Never, No, "The source URL for incremental copy request must be valid Azure Storage blob URL.";
    InvalidTag, "InvalidTag", 400, Never, No, "The tags specified are invalid. It contains characters that are not permitted.";
    InvalidVersionForPageBlobOperation, "InvalidVersionForPageBlobOperation", 400, Never, No, "All operations on page blobs require at least version 2009-09-19.";
    LeaseAlreadyBroken, "LeaseAlreadyBroken", 409, Never, No, "The lease has already been broken and cannot be broken again.";
    LeaseAlreadyPresent, "LeaseAlreadyPresent", 409, Never, No, "There is already a lease present.";
    LeaseIdMismatchWithBlobOperation, "LeaseIdMismatchWithBlobOperation", 412, Never, No, "The lease ID specified did not match the lease ID for the blob.";
    LeaseIdMismatchWithContainerOperation, "LeaseIdMismatchWithContainerOperation", 412, Never, No, "The lease ID specified did not match the lease ID for the container.";
    LeaseIdMismatchWithLeaseOperation, "LeaseIdMismatchWithLeaseOperation", 409, Never, No, "The lease ID specified did not match the lease ID for the blob.";
    LeaseIdMissing, "LeaseIdMissing", 412, Never, No, "There is currently a lease on the blob and no lease ID was specified in the request.";
    LeaseIsBreakingAndCannotBeAcquired, "LeaseIsBreakingAndCannotBeAcquired", 409, Never, No, "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.";
    LeaseIsBreakingAndCannotBeChanged, "LeaseIsBreakingAndCannotBeChanged", 409, Never, No, "The lease ID matched, but the lease is currently in breaking state and cannot be changed.";
    LeaseIsBrokenAndCannotBeRenewed, "LeaseIsBrokenAndCannotBeRenewed", 409, Never, No, "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.";
    LeaseLost, "LeaseLost", 412, Never, No, "A lease ID was specified, but the lease for the blob has expired.";
    LeaseNotPresentWithBlobOperation, "LeaseNotPresentWithBlobOperation", 412, Never, No, "There is currently no lease on the blob.";
    LeaseNotPresentWithContainerOperation, "LeaseNotPresentWithContainerOperation", 412, Never, No, "There is currently no lease on the container.";
    LeaseNotPresentWithLeaseOperation, "LeaseNotPresentWithLeaseOperation", 409, Never, No, "There is currently no lease on the blob.";
    MaxBlobSizeConditionNotMet, "MaxBlobSizeConditionNotMet", 412, Never, No, "The max blob size condition specified was not met.";
    NoPendingCopyOperation, "NoPendingCopyOperation", 409, Never, No, "There is currently no pending copy operation.";
    /// A read whose condition says that the client has the current version.
    NotModified, "ConditionNotMet", 304, Never, No, "The condition specified using HTTP conditional header(s) is not met.";
    CorsPreflightFailure, "CorsPreflightFailure", 403, Never, No, "CORS not enabled or no matching rule found for this request.";
    DuplicatePropertiesSpecified, "DuplicatePropertiesSpecified", 400, Never, No, "A property is specified more than one time.";
    EmptyMetadataKey, "EmptyMetadataKey", 400, Never, No, "The key for one of the metadata key-value pairs is empty.";
    EntityAlreadyExists, "EntityAlreadyExists", 409, Never, No, "The specified entity already exists.";
    EntityTooLarge, "EntityTooLarge", 400, Never, No, "The entity is larger than the maximum allowed size (1MB).";
    HostInformationNotPresent, "HostInformationNotPresent", 400, Never, No, "The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.";
    InsufficientAccountPermissions, "InsufficientAccountPermissions", 403, Never, No, "The account being accessed does not have sufficient permissions to execute this operation.";
    InternalError, "InternalError", 500, Later, Unknown, "The server encountered an internal error. Please retry the request.";
    InvalidAuthenticationInfo, "InvalidAuthenticationInfo", 400, Never, No, "The authentication information was not provided in the correct format. Verify the value of Authorization header.";
    /// A bearer token that is not accepted.
    InvalidBearerToken, "InvalidAuthenticationInfo", 401, Never, No, "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    InvalidDuplicateRow, "InvalidDuplicateRow", 400, Never, No, "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.";
    /// An unsupported expectation.
    ExpectationFailed, "InvalidHeaderValue", 417, Never, No, "The value for one of the HTTP headers is not in the correct format.";
    InvalidHeaderValue, "InvalidHeaderValue", 400, Never, No, "The value for one of the HTTP headers is not in the correct format.";
    InvalidHttpVerb, "InvalidHttpVerb", 400, Never, No, "The HTTP verb specified was not recognized by the server.";
    InvalidInput, "InvalidInput", 400, Never, No, "One of the request inputs is not valid.";
    InvalidMd5, "InvalidMd5", 400, Never, No, "The MD5 value specified in the request is invalid. The MD5 value must be 128 bits and Base64-encoded.";
    InvalidMetadata, "InvalidMetadata", 400, Never, No, "The metadata specified is invalid. It has characters that are not permitted.";
    InvalidQueryParameterValue, "InvalidQueryParameterValue", 400, Never, No, "Value for one of the query parameters specified in the request URI is invalid.";
    InvalidRange, "InvalidRange", 416, Never, No, "The range specified is invalid for the current size of the resource.";
    InvalidResourceName, "InvalidResourceName", 400, Never, No, "The specifed resource name contains invalid characters.";
    InvalidUri, "InvalidUri", 400, Never, No, "The requested URI does not represent any resource on the server.";
    InvalidValueType, "InvalidValueType", 400, Never, No, "The value specified is invalid.";
    InvalidXmlDocument, "InvalidXmlDocument", 400, Never, No, "XML specified is not syntactically valid.";
    InvalidXmlNodeValue, "InvalidXmlNodeValue", 400, Never, No, "The value for one of the XML nodes is not in the correct format.";
    JsonFormatNotSupported, "JsonFormatNotSupported", 415, Never, No, "JSON format is not supported.";
    JsonVerboseFormatNotSupported, "JsonVerboseFormatNotSupported", 415, Never, No, "JSON Verbose format is not supported.";
    KeyValueTooLarge, "KeyValueTooLarge", 400, Never, No, "The key value exceeds the maximum allowed size (1KB).";
    Md5Mismatch, "Md5Mismatch", 400, Never, No, "The MD5 value specified in the request did not match the MD5 value calculated by the server.";
    MediaTypeNotSupported, "MediaTypeNotSupported", 415, Never, No, "None of the provided media types are supported.";
    MessageNotFound, "MessageNotFound", 404, Never, No, "The specified message does not exist.";
    MessageTooLarge, "MessageTooLarge", 400, Never, No, "The message exceeds the maximum allowed size.";
    MetadataTooLarge, "MetadataTooLarge", 400, Never, No, "The metadata specified exceeds the maximum permissible limit.";
    MethodNotAllowed, "MethodNotAllowed", 405, Never, No, "The requested method is not allowed on the specified resource.";
    MissingContentLengthHeader, "MissingContentLengthHeader", 411, Never, No, "The Content-Length header was not specified.";
    RequestForbiddenByContainerEncryptionPolicy, "RequestForbiddenByContainerEncryptionPolicy", 403, Never, No, "The request is forbidden by the container's encryption policy.";
    MissingRequiredHeader, "MissingRequiredHeader", 400, Never, No, "A required HTTP header was not specified.";
    MissingRequiredQueryParameter, "MissingRequiredQueryParameter", 400, Never, No, "A query parameter that's mandatory for this request is not specified.";
    MissingRequiredXmlNode, "MissingRequiredXmlNode", 400, Never, No, "Required XML node is not specified in the request body.";
    MutuallyExclusiveQueryParameters, "MutuallyExclusiveQueryParameters", 400, Never, No, "Mutually exclusive query parameters are specified.";
    MultipleConditionHeadersNotSupported, "MultipleConditionHeadersNotSupported", 400, Never, No, "Multiple condition headers are not supported.";
    NoAuthenticationInformation, "NoAuthenticationInformation", 401, Never, No, "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    NotImplemented, "NotImplemented", 501, Never, No, "The requested operation is not implemented on the specified resource.";
    OperationNotAllowedOnIncrementalCopyBlob, "OperationNotAllowedOnIncrementalCopyBlob", 409, Never, No, "The specified operation is not allowed on an incremental copy blob.";
    OperationTimedOut, "OperationTimedOut", 500, Later, Unknown, "Operation could not be completed within the specified time.";
    OutOfRangeInput, "OutOfRangeInput", 400, Never, No, "One of the request inputs is out of range.";
    OutOfRangeQueryParameterValue, "OutOfRangeQueryParameterValue", 400, Never, No, "One of the query parameters specified in the request URI is outside the permissible range.";
    PermanentDeleteIsOff, "PermanentDeleteIsOff", 409, Never, No, "Permanent delete is off on the storage account.";
    PendingCopyOperation, "PendingCopyOperation", 409, Never, No, "There is currently a pending copy operation.";
    PopReceiptMismatch, "PopReceiptMismatch", 400, Never, No, "The specified pop receipt did not match the pop receipt for a dequeued message.";
    PreviousSnapshotCannotBeNewer, "PreviousSnapshotCannotBeNewer", 400, Never, No, "The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.";
    PreviousSnapshotNotFound, "PreviousSnapshotNotFound", 409, Never, No, "The previous snapshot is not found.";
    PreviousSnapshotOperationNotSupported, "PreviousSnapshotOperationNotSupported", 409, Never, No, "Differential Get Page Ranges is not supported on the previous snapshot.";
    PropertiesNeedValue, "PropertiesNeedValue", 400, Never, No, "The values are not specified for all properties in the entity.";
    PropertyNameInvalid, "PropertyNameInvalid", 400, Never, No, "The property name is invalid.";
    PropertyNameTooLong, "PropertyNameTooLong", 400, Never, No, "The property name exceeds the maximum allowed length (255).";
    PropertyValueTooLarge, "PropertyValueTooLarge", 400, Never, No, "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";
    PublicAccessNotPermitted, "PublicAccessNotPermitted", 409, Never, No, "Public access is not permitted on this storage account.";
    QueueAlreadyExists, "QueueAlreadyExists", 409, Never, No, "The specified queue already exists.";
    QueueBeingDeleted, "QueueBeingDeleted", 409, Later, No, "The specified queue is being deleted.";
    QueueDisabled, "QueueDisabled", 409, Never, No, "The specified queue has been disabled by the administrator.";
    QueueNotEmpty, "QueueNotEmpty", 409, Never, No, "The specified queue is not empty.";
    QueueNotFound, "QueueNotFound", 404, Never, No, "The specified queue does not exist.";
    RequestBodyTooLarge, "RequestBodyTooLarge", 413, Never, No, "The request body is too large and exceeds the maximum permissible limit.";
    RequestHeaderTooLarge, "RequestHeaderTooLarge", 431, Never, No, "The headers of the request exceed the maximum permissible size.";
    RequestTimeout, "RequestTimeout", 408, Later, No, "The request was not received within the permitted time.";
    RequestUrlFailedToParse, "RequestUrlFailedToParse", 400, Never, No, "The url in the request could not be parsed.";
    ResourceAlreadyExists, "ResourceAlreadyExists", 409, Never, No, "The specified resource already exists.";
    ResourceNotFound, "ResourceNotFound", 404, Never, No, "The specified resource does not exist.";
    ResourceTypeMismatch, "ResourceTypeMismatch", 409, Never, No, "The specified resource type does not match the type of the existing resource.";
    SequenceNumberConditionNotMet, "SequenceNumberConditionNotMet", 412, Never, No, "The sequence number condition specified was not met.";
    SequenceNumberIncrementTooLarge, "SequenceNumberIncrementTooLarge", 409, Never, No, "The sequence number increment cannot be performed because it would result in overflow of the sequence number.";
    ServerBusy, "ServerBusy", 503, Later, No, "The server is currently unable to receive requests. Please retry your request.";
    SnapshotCountExceeded, "SnapshotCountExceeded", 409, Never, No, "The snapshot count against this blob has been exceeded.";
    SnapshotOperationRateExceeded, "SnapshotOperationRateExceeded", 409, Never, No, "The rate of snapshot calls against this blob has been exceeded.";
    SnapshotsPresent, "SnapshotsPresent", 409, Never, No, "This operation is not permitted because the blob has snapshots.";
    SourceConditionNotMet, "SourceConditionNotMet", 412, Never, No, "The source condition specified using HTTP conditional header(s) is not met.";
    SystemInUse, "SystemInUse", 409, Never, No, "This blob is in use by the system.";
    TableAlreadyExists, "TableAlreadyExists", 409, Never, No, "The table specified already exists.";
    TableBeingDeleted, "TableBeingDeleted", 409, Later, No, "The specified table is being deleted. Try operation later.";
    TableNotFound, "TableNotFound", 404, Never, No, "The table specified does not exist.";
    TagsTooLarge, "TagsTooLarge", 400, Never, No, "The tags specified exceeds the maximum permissible limit.";
    TargetConditionNotMet, "TargetConditionNotMet", 412, Never, No, "The target condition specified using HTTP conditional header(s) is not met.";
    TooManyProperties, "TooManyProperties", 400, Never, No, "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.";
    UnauthorizedBlobOverwrite, "UnauthorizedBlobOverwrite", 403, Never, No, "This request is not authorized to perform blob overwrites.";
    UnsatisfiableCondition, "UnsatisfiableCondition", 400, Never, No, "The request includes an unsatisfiable condition for this operation.";
    UnsupportedHeader, "UnsupportedHeader", 400, Never, No, "One of the HTTP headers specified in the request is not supported.";
    WebContentNotFound, "WebContentNotFound", 404, Never, No, "The requested content does not exist.";
    UnsupportedHttpVerb, "UnsupportedHttpVerb", 405, Never, No, "The resource doesn't support specified Http Verb.";
    UnsupportedQueryParameter, "UnsupportedQueryParameter", 400, Never, No, "One of the query parameters specified in the request URI is not supported.";
    UnsupportedXmlNode, "UnsupportedXmlNode", 400, Never, No, "One of the XML nodes specified in the request body is not supported.";
    UpdateConditionNotSatisfied, "UpdateConditionNotSatisfied", 412, Never, No, "The update condition specified in the request was not satisfied.";
    XMethodIncorrectCount, "XMethodIncorrectCount", 400, Never, No, "More than one X-HTTP-Method is specified.";
    XMethodIncorrectValue, "XMethodIncorrectValue", 400, Never, No, "The specified X-HTTP-Method is invalid.";
    XMethodNotUsingPost, "XMethodNotUsingPost", 400, Never, No, "The request uses X-HTTP-Method with an HTTP verb other than POST.";
}

/// The layer in which a request failed. It affects the response headers, as in Azure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Rejected by the front end: authentication, framing, a service operation on the wrong path.
    FrontEnd,
    /// Rejected while finding the resource of the URL, or while reading the body.
    Routing,
    /// Rejected by the operation itself.
    Operation,
}

/// An error response: its code, message and details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code, which determines the status.
    pub code: ErrorCode,
    /// The message.
    pub message: Cow<'static, str>,
    /// The index of the operation in its batch.
    pub index: Option<usize>,
    /// The layer in which the request failed.
    pub origin: Origin,
    /// Further elements of the error body of the Blob and Queue services, such as `HeaderName`. A name with a
    /// hyphen is the name of a header, such as `Content-Range`.
    pub details: Vec<(&'static str, Cow<'static, str>)>,
}

impl Failure {
    /// A failure with a custom message.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), index: None, origin: Origin::Operation, details: Vec::new() }
    }

    /// Adds an element to the error body of the Blob and Queue services.
    pub fn detail(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.details.push((name, value.into()));
        self
    }

    /// `InvalidInput` for a body that cannot be parsed.
    pub fn unreadable_body() -> Self {
        Self::new(ErrorCode::InvalidInput, "An error occurred while processing this request.")
            .found_in(Origin::Routing)
    }

    /// `InvalidInput` for a key or query in the URL that cannot be parsed.
    pub fn query_syntax() -> Self {
        Self::new(ErrorCode::InvalidInput, "Bad Request - Error in query syntax.")
    }

    /// `OutOfRangeInput` that names the parameter.
    pub fn out_of_range(parameter: &str, value: &str) -> Self {
        let text = format!("The '{parameter}' parameter of value '{value}' is out of range.");
        Self::new(ErrorCode::OutOfRangeInput, text)
    }

    /// The same failure, for the batch operation at `index`.
    pub fn at(mut self, index: usize) -> Self {
        self.index = Some(index);
        self
    }

    /// The same failure, but found earlier than in the operation.
    pub fn found_in(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Self::new(code, code.message())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    /// ER-01.
    #[test]
    fn every_code_has_an_error_status_and_a_text() {
        for code in ErrorCode::ALL {
            let status = code.status();
            assert!(status == 304 || (400..600).contains(&status), "{code:?}");
            assert!(code.message().ends_with('.'), "{code:?}");
        }
    }

    /// Clients of every language retry 500 and 503; a permanent failure must not have one of these.
    #[test]
    fn only_what_may_succeed_later_looks_transient() {
        for code in ErrorCode::ALL {
            let transient = matches!(code.status(), 408 | 500 | 503);
            let waiting = matches!(
                code,
                ErrorCode::TableBeingDeleted
                    | ErrorCode::QueueBeingDeleted
                    | ErrorCode::ContainerBeingDeleted
            );
            assert_eq!(transient || waiting, code.retry() == Retry::Later, "{code:?}");
        }
    }
}
