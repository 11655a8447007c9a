//! Checks that everything acknowledged is present, based on the store's records rather than on the data: missing data
//! leaves no trace.

use lazuli_engine::Version;

use crate::acknowledged::Acknowledged;
use crate::directory::Directory;
use crate::error::OpenError;

/// Do the store's records prove that its creation was completed, so that all its files must exist? Always `false` if
/// data loss is accepted.
pub fn was_created(directory: &Directory, accepts_loss: bool) -> Result<bool, OpenError> {
    if accepts_loss {
        return Ok(false);
    }
    Ok(directory.closed_at()?.is_some() || Acknowledged::read(directory.path())?.is_some())
}

/// Fails if a store whose last version is `last` lacks something. If the loss is accepted, it is only logged.
pub fn verify(directory: &Directory, last: Version, accepts_loss: bool) -> Result<(), OpenError> {
    // An unreadable record proves nothing; the operator must decide whether to accept that.
    let acknowledged = match Acknowledged::read(directory.path()) {
        Err(_) if accepts_loss => None,
        other => other?,
    };
    match since(directory.closed_at()?, acknowledged, last) {
        None => Ok(()),
        Some(why) if accepts_loss => {
            tracing::warn!("acknowledged data is missing; continuing because its loss is accepted: {why}");
            Ok(())
        }
        Some(why) => Err(OpenError::Lost(why)),
    }
}

/// Describes the data that a store with the last version `found` lacks.
pub fn since(closed: Option<Version>, acknowledged: Option<Version>, found: Version) -> Option<String> {
    let is_missing = |known: &Version| found < *known;
    let Version(last) = found;
    if let Some(Version(closed)) = closed.filter(is_missing) {
        return Some(format!("the store was closed at version {closed}, but only version {last} is found"));
    }
    let Version(acknowledged) = acknowledged.filter(is_missing)?;
    Some(format!("version {acknowledged} was acknowledged, but only version {last} is found"))
}
