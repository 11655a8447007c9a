//! The parts of a request that determine the format of its response.

use lazuli_model::blob::ContainerName;
use lazuli_model::blob::list::Include;
use lazuli_model::blob::write::Digested;

use super::params::Params;
use crate::Head;

/// The format of the response to a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseFormat {
    /// Is it a response to HEAD?
    pub is_head: bool,
    /// Did the client send the MD5 of the body or of the source? If so, the response repeats it instead of the
    /// CRC-64.
    pub sent_md5: bool,
    /// The checksums of the document in the request.
    pub document: Digested,
    /// The response headers that a shared access signature overrides.
    pub overrides: Overrides,
    /// The parameters that a listing repeats.
    pub listing: Option<Box<Listing>>,
}

/// The response headers of a blob that parameters of a shared access signature override.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `rscc`.
    pub cache_control: Option<String>,
    /// `rscd`.
    pub content_disposition: Option<String>,
    /// `rsce`.
    pub content_encoding: Option<String>,
    /// `rscl`.
    pub content_language: Option<String>,
    /// `rsct`.
    pub content_type: Option<String>,
}

/// The parameters that a listing repeats, as they were sent; `None` for absent ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The container whose blobs are listed.
    pub container: Option<ContainerName>,
    /// `prefix`.
    pub prefix: Option<String>,
    /// `marker`.
    pub marker: Option<String>,
    /// `startFrom`.
    pub start_from: Option<String>,
    /// `maxresults`.
    pub max_results: Option<String>,
    /// `delimiter`.
    pub delimiter: Option<String>,
    /// `where`.
    pub filter: Option<String>,
    /// `include`, of a listing of blobs.
    pub include: Include,
    /// Does a listing of containers include metadata?
    pub has_metadata: bool,
}

impl ResponseFormat {
    pub(super) fn of(head: &Head<'_>, params: &Params<'_>) -> Self {
        let sent_md5 =
            ["Content-MD5", "x-ms-source-content-md5"].iter().any(|name| head.get_filled(name).is_some());
        Self { is_head: head.method == "HEAD", sent_md5, overrides: Overrides::of(params), ..Self::default() }
    }
}

impl Overrides {
    /// They have an effect only in a signed URL: otherwise anyone could make a blob look like a web page.
    fn of(params: &Params<'_>) -> Self {
        if params.get("sig").is_none() {
            return Self::default();
        }
        // Line ends would let a signer forge response headers.
        let value = |name| {
            params.filled(name).filter(|text| !text.contains(|c: char| c.is_control())).map(str::to_owned)
        };
        Self {
            cache_control: value("rscc"),
            content_disposition: value("rscd"),
            content_encoding: value("rsce"),
            content_language: value("rscl"),
            content_type: value("rsct"),
        }
    }
}

impl Listing {
    pub(super) fn of(params: &Params<'_>) -> Self {
        let sent = |name| params.get(name).map(str::to_owned);
        let filled = |name| params.filled(name).map(str::to_owned);
        Self {
            prefix: sent("prefix"),
            marker: sent("marker"),
            start_from: sent("startfrom"),
            max_results: filled("maxresults"),
            delimiter: sent("delimiter"),
            filter: filled("where"),
            ..Self::default()
        }
    }
}
