//! The parts of a request that its response repeats.

use crate::http::params::Params;

/// The format of the response to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseFormat {
    /// The parameters that a listing repeats.
    pub listing: Option<Box<Listing>>,
}

/// The parameters of List Queues as they were sent; `None` for absent ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// `prefix`.
    pub prefix: Option<String>,
    /// `marker`.
    pub marker: Option<String>,
    /// `maxresults`.
    pub max_results: Option<String>,
}

impl Listing {
    pub(super) fn of(params: &Params<'_>) -> Self {
        let sent = |name| params.filled(name).map(str::to_owned);
        Self { prefix: sent("prefix"), marker: sent("marker"), max_results: sent("maxresults") }
    }
}
