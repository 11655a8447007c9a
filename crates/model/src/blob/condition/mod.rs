//! Conditional requests: the headers as data, the legal combinations, and whether a resource meets them.
//!
//! Two rules apply. From 2013-08-15 on, reads may combine all headers; all other requests may send one header,
//! or one of two pairs, of which the weaker header is ignored. The protocol decides which rule applies; this
//! module implements both.

use crate::blob::etag::{ETag, Stamp};
use crate::blob::tag::{TagExpression, Tags};
use crate::time::TICKS_PER_SECOND;
use crate::{DateTime, ErrorCode, Failure};

/// The value of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ETags {
    /// `*`: any version.
    Any,
    /// One of these. ETags that this service cannot have issued are omitted, since they match nothing.
    Listed(Vec<ETag>),
}

impl ETags {
    /// Is the ETag among them?
    pub fn contains(&self, tag: ETag) -> bool {
        match self {
            ETags::Any => true,
            ETags::Listed(tags) => tags.contains(&tag),
        }
    }
}

/// The conditions of a request. Without any conditions, the last writer wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// `If-Match`.
    pub if_match: Option<ETags>,
    /// `If-None-Match`.
    pub if_none_match: Option<ETags>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<DateTime>,
    /// `If-Unmodified-Since`.
    pub if_unmodified_since: Option<DateTime>,
    /// `x-ms-if-tags`.
    pub if_tags: Option<TagExpression>,
    /// Conditions on the time at which the tier was chosen, for Delete Blob.
    pub tier: TierConditions,
}

/// The conditions of Delete Blob on the time at which the tier of the blob was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierConditions {
    /// `x-ms-access-tier-if-modified-since`.
    pub if_modified_since: Option<DateTime>,
    /// `x-ms-access-tier-if-unmodified-since`.
    pub if_unmodified_since: Option<DateTime>,
}

impl TierConditions {
    /// Does a blob whose tier was chosen at this time meet them? A tier that was never chosen counts as
    /// unmodified.
    pub fn met_by(&self, chosen: Option<DateTime>) -> bool {
        let seconds = |time: DateTime| time.ticks() / TICKS_PER_SECOND;
        let is_later = |since: DateTime| chosen.is_some_and(|chosen| seconds(chosen) > seconds(since));
        self.if_modified_since.is_none_or(is_later) && !self.if_unmodified_since.is_some_and(is_later)
    }
}

/// The legal combinations of headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// All: reads since 2013-08-15.
    Any,
    /// One header, or a pair of an ETag and the corresponding date.
    One,
}

/// The effect of the request on a resource that meets its conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// It reads the resource.
    Read,
    /// It changes a resource that must exist.
    Change,
    /// It creates the resource or replaces it.
    Create,
}

/// The resource to which conditions apply. A blob that has only uncommitted blocks counts as missing.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// ETag and time of the last change.
    pub stamp: Stamp,
    /// Its tags; empty for a container.
    pub tags: &'a Tags,
    /// Does the request have the id of the active lease? Its holder may overwrite an existing resource.
    pub holds_lease: bool,
}

/// The reason why conditions are not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unmet {
    /// A read whose client has the current version: 304.
    NotModified,
    /// Every other condition: 412.
    Failed,
    /// A creation that requires that there is no resource yet: 409.
    Exists,
}

impl From<Unmet> for Failure {
    fn from(unmet: Unmet) -> Self {
        match unmet {
            Unmet::NotModified => ErrorCode::NotModified.into(),
            Unmet::Failed => ErrorCode::ConditionNotMet.into(),
            Unmet::Exists => ErrorCode::BlobAlreadyExists.into(),
        }
    }
}

impl Conditions {
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Are there no conditions except dates? Containers support no others.
    pub fn has_only_dates(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none() && self.if_tags.is_none()
    }

    /// The conditions under a rule for combinations, without the headers that it ignores. Fails with
    /// `MultipleConditionHeadersNotSupported` if the combination is not legal.
    pub fn combined(mut self, rule: Combination) -> Result<Self, Failure> {
        if rule == Combination::Any {
            return Ok(self);
        }
        if self.if_none_match.is_some() {
            self.if_modified_since = None;
        }
        if self.if_match.is_some() {
            self.if_unmodified_since = None;
        }
        let given = [
            self.if_match.is_some(),
            self.if_none_match.is_some(),
            self.if_modified_since.is_some(),
            self.if_unmodified_since.is_some(),
        ];
        if given.into_iter().filter(|given| *given).count() > 1 {
            return Err(ErrorCode::MultipleConditionHeadersNotSupported.into());
        }
        Ok(self)
    }

    /// Does a resource meet them? `None` is a missing resource: a read reports that itself, and a write fails only if
    /// it requires a version.
    pub fn check(&self, purpose: Purpose, resource: Option<Facts<'_>>) -> Result<(), Unmet> {
        let Some(facts) = resource else { return self.check_absent(purpose) };
        let modified = facts.stamp.last_modified.ticks() / TICKS_PER_SECOND;
        let seconds = |time: DateTime| time.ticks() / TICKS_PER_SECOND;
        if self.if_match.as_ref().is_some_and(|tags| !tags.contains(facts.stamp.etag)) {
            return Err(Unmet::Failed);
        }
        if self.if_unmodified_since.is_some_and(|since| modified > seconds(since)) {
            return Err(Unmet::Failed);
        }
        if self.if_tags.as_ref().is_some_and(|expression| !expression.matches(facts.tags)) {
            return Err(Unmet::Failed);
        }
        let other = self.if_none_match.as_ref().map(|tags| !tags.contains(facts.stamp.etag));
        let newer = self.if_modified_since.map(|since| modified > seconds(since));
        match (other, newer) {
            (None, None) | (Some(true), _) | (_, Some(true)) => Ok(()),
            _ => self.check_unchanged(purpose, facts),
        }
    }

    /// The client has the current version, or requires that there is none.
    fn check_unchanged(&self, purpose: Purpose, facts: Facts<'_>) -> Result<(), Unmet> {
        match purpose {
            Purpose::Read => Err(Unmet::NotModified),
            Purpose::Create if self.if_none_match == Some(ETags::Any) => {
                if facts.holds_lease {
                    Ok(())
                } else {
                    Err(Unmet::Exists)
                }
            }
            Purpose::Create | Purpose::Change => Err(Unmet::Failed),
        }
    }

    fn check_absent(&self, purpose: Purpose) -> Result<(), Unmet> {
        let demands = self.if_match.is_some() || self.if_tags.is_some();
        if purpose != Purpose::Read && demands { Err(Unmet::Failed) } else { Ok(()) }
    }
}

/// The conditions of page writes on the sequence number of the blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceConditions {
    /// The number must be at most this.
    pub at_most: Option<u64>,
    /// The number must be less than this.
    pub less_than: Option<u64>,
    /// The number must be equal to this.
    pub equal: Option<u64>,
}

impl SequenceConditions {
    /// Does a blob with this sequence number meet them?
    pub fn met_by(&self, number: u64) -> bool {
        self.at_most.is_none_or(|bound| number <= bound)
            && self.less_than.is_none_or(|bound| number < bound)
            && self.equal.is_none_or(|bound| number == bound)
    }
}

/// The conditions of appends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppendConditions {
    /// The blob must have this length.
    pub position: Option<u64>,
    /// The blob must not grow beyond this length.
    pub max_size: Option<u64>,
}

impl AppendConditions {
    /// Does a blob of `size` bytes meet them, if `added` bytes are appended?
    pub fn check(&self, size: u64, added: u64) -> Result<(), Failure> {
        if self.position.is_some_and(|position| position != size) {
            return Err(ErrorCode::AppendPositionConditionNotMet.into());
        }
        if self.max_size.is_some_and(|max| size.saturating_add(added) > max) {
            return Err(ErrorCode::MaxBlobSizeConditionNotMet.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
