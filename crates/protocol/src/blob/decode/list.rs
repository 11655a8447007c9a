//! Listings of containers and blobs, and searches by tags.

use lazuli_model::blob::container::{ContainerAction, ContainerRequest};
use lazuli_model::blob::limits::LIST_RESULTS_MAX;
use lazuli_model::blob::list::{FindBlobs, Include, ListBlobs, ListContainers};
use lazuli_model::blob::tag::TagQuery;
use lazuli_model::blob::{Conditions, ContainerName, Operation};
use lazuli_model::{ErrorCode, Failure};

use super::{Ask, Intent};
use crate::blob::marker;
use crate::blob::params::{Params, invalid, invalid_because, missing, out_of_range};
use crate::blob::response_format::{Listing, ResponseFormat};

pub(super) fn containers(ask: &Ask<'_>, wanted: &mut ResponseFormat) -> Result<Intent, Failure> {
    let params = ask.params;
    let mut list = ListContainers {
        prefix: params.get("prefix").unwrap_or_default().to_owned(),
        from: params.filled("marker").map(marker::decode_container).transpose()?,
        max_results: max_results(params)?,
        has_metadata: false,
        has_deleted: false,
        has_system: false,
    };
    for name in included(params) {
        match name.as_str() {
            "metadata" => list.has_metadata = true,
            "deleted" => list.has_deleted = true,
            "system" => list.has_system = true,
            _ => return Err(invalid("include", &name)),
        }
    }
    let has_metadata = list.has_metadata;
    wanted.listing = Some(Box::new(Listing { has_metadata, ..Listing::of(params) }));
    Ok(Intent::Ready(Operation::ListContainers(list)))
}

pub(super) fn blobs(
    ask: &Ask<'_>,
    container: ContainerName,
    wanted: &mut ResponseFormat,
) -> Result<Intent, Failure> {
    let params = ask.params;
    let include = include(params)?;
    let delimiter = params.filled("delimiter").map(str::to_owned);
    if delimiter.is_some() && include.snapshots {
        let reason = "The delimiter cannot be combined with snapshots.";
        return Err(invalid_because("include", "snapshots", reason));
    }
    let list = ListBlobs {
        prefix: params.get("prefix").unwrap_or_default().to_owned(),
        delimiter,
        from: params.filled("marker").map(marker::decode_blob).transpose()?,
        start_from: params.filled("startfrom").map(str::to_owned),
        end_before: params.filled("endbefore").map(str::to_owned),
        max_results: max_results(params)?,
        include,
    };
    let echo = Listing { container: Some(container.clone()), include, ..Listing::of(params) };
    wanted.listing = Some(Box::new(echo));
    let action = ContainerAction::ListBlobs(Box::new(list));
    let request = ContainerRequest { container, lease: None, conditions: Conditions::default(), action };
    Ok(Intent::Ready(Operation::Container(Box::new(request))))
}

pub(super) fn found(
    ask: &Ask<'_>,
    container: Option<ContainerName>,
    wanted: &mut ResponseFormat,
) -> Result<Intent, Failure> {
    let params = ask.params;
    let text = params.filled("where").ok_or_else(|| missing("where"))?;
    let query = TagQuery::parse(text).map_err(|error| {
        let text =
            format!("Error parsing query at or near character position {}: unexpected text.", error.at + 1);
        Failure::new(ErrorCode::InvalidQueryParameterValue, text)
            .detail("QueryParameterName", "where")
            .detail("QueryParameterValue", text_of(params, "where"))
    })?;
    let from = params.filled("marker").map(marker::decode_found).transpose()?;
    let find = FindBlobs { query, from, max_results: max_results(params)? };
    wanted.listing = Some(Box::new(Listing::of(params)));
    Ok(Intent::Ready(Operation::FindBlobs(container, Box::new(find))))
}

fn text_of(params: &Params<'_>, name: &str) -> String {
    params.get(name).unwrap_or_default().to_owned()
}

/// Values above 5000 count as 5000; zero and negative values are errors.
fn max_results(params: &Params<'_>) -> Result<u32, Failure> {
    const NAME: &str = "maxresults";
    let Some(text) = params.filled(NAME) else { return Ok(LIST_RESULTS_MAX) };
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid(NAME, text));
    }
    // A number that is too large for the type is valid.
    let number = text.parse::<i64>().unwrap_or(if text.starts_with('-') { 0 } else { i64::MAX });
    match u32::try_from(number.min(LIST_RESULTS_MAX.into())) {
        Ok(number @ 1..) => Ok(number),
        _ => Err(out_of_range(NAME, text, 1, LIST_RESULTS_MAX.into())),
    }
}

/// The names in `include`, which may be repeated or empty.
fn included(params: &Params<'_>) -> Vec<String> {
    let values = params.all("include").flat_map(|value| value.split(','));
    values.map(str::trim).filter(|name| !name.is_empty()).map(str::to_ascii_lowercase).collect()
}

fn include(params: &Params<'_>) -> Result<Include, Failure> {
    let mut include = Include::default();
    for name in included(params) {
        let place = match name.as_str() {
            "snapshots" => &mut include.snapshots,
            "metadata" => &mut include.metadata,
            "uncommittedblobs" => &mut include.uncommitted,
            "copy" => &mut include.copy,
            "deleted" => &mut include.deleted,
            "tags" => &mut include.tags,
            "versions" => &mut include.versions,
            "deletedwithversions" => &mut include.deleted_with_versions,
            "immutabilitypolicy" => &mut include.immutability,
            "legalhold" => &mut include.legal_hold,
            "permissions" => &mut include.permissions,
            _ => return Err(invalid("include", &name)),
        };
        *place = true;
    }
    Ok(include)
}
