//! Limits that depend on the version of the request.

use lazuli_model::blob::limits::{
    APPEND_BLOCK_BYTES_MAX, BATCH_BYTES_MAX, BLOCK_LIST_BYTES_MAX, PUT_BLOB_BYTES_MAX, PUT_BLOCK_BYTES_MAX,
    PUT_PAGE_BYTES_MAX,
};
use lazuli_model::{ErrorCode, Failure, OperationKind};

use crate::ApiVersion;
use crate::xml::DOCUMENT_BYTES_MAX;

/// The maximum body size of an operation.
pub fn body_max(kind: OperationKind, version: ApiVersion) -> u64 {
    let era =
        usize::from(version >= ApiVersion::V2016_05_31) + usize::from(version >= ApiVersion::V2019_12_12);
    match kind {
        OperationKind::PutBlob => PUT_BLOB_BYTES_MAX[era],
        OperationKind::PutBlock => PUT_BLOCK_BYTES_MAX[era],
        OperationKind::AppendBlock => APPEND_BLOCK_BYTES_MAX[usize::from(version >= ApiVersion::V2022_11_02)],
        OperationKind::PutPage => PUT_PAGE_BYTES_MAX,
        OperationKind::PutBlockList => BLOCK_LIST_BYTES_MAX,
        OperationKind::BlobBatch => BATCH_BYTES_MAX,
        _ => DOCUMENT_BYTES_MAX as u64,
    }
}

/// Fails with `RequestBodyTooLarge` if a body of this length is too large.
pub fn check_body(kind: OperationKind, version: ApiVersion, length: u64) -> Result<(), Failure> {
    let max = body_max(kind, version);
    if length <= max {
        return Ok(());
    }
    Err(Failure::from(ErrorCode::RequestBodyTooLarge).detail("MaxLimit", max.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_grow_with_versions() {
        const MIB: u64 = 1 << 20;
        for (version, blob, block, append) in [
            (ApiVersion::NONE, 64, 4, 4),
            (ApiVersion::V2015_12_11, 64, 4, 4),
            (ApiVersion::V2016_05_31, 256, 100, 4),
            (ApiVersion::V2019_02_02, 256, 100, 4),
            (ApiVersion::V2019_12_12, 5000, 4000, 4),
            (ApiVersion::V2022_11_02, 5000, 4000, 100),
        ] {
            assert_eq!(body_max(OperationKind::PutBlob, version), blob * MIB, "{version}");
            assert_eq!(body_max(OperationKind::PutBlock, version), block * MIB, "{version}");
            assert_eq!(body_max(OperationKind::AppendBlock, version), append * MIB, "{version}");
        }
        let failure = check_body(OperationKind::PutPage, ApiVersion::NONE, 4 * MIB + 1).unwrap_err();
        assert_eq!(failure.details, [("MaxLimit", "4194304".into())]);
    }
}
