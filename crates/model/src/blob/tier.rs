//! Access tiers, and the state of a blob that is being rehydrated from the archive.

use crate::DateTime;

// Rows store the position of a tier in this list: append new tiers at its end.
macro_rules! tiers {
    ($($variant:ident, $name:literal;)*) => {
        /// An access tier. Those of page blobs stand for the size of a premium disk.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each tier is documented by its name")]
        pub enum AccessTier { $($variant,)* }

        impl AccessTier {
            /// Every tier.
            pub const ALL: &[AccessTier] = &[$(AccessTier::$variant,)*];

            /// The name in headers and listings.
            pub const fn name(self) -> &'static str {
                match self { $(AccessTier::$variant => $name,)* }
            }
        }
    };
}

tiers! {
    Hot, "Hot";
    Cool, "Cool";
    Cold, "Cold";
    Archive, "Archive";
    P4, "P4";
    P6, "P6";
    P10, "P10";
    P15, "P15";
    P20, "P20";
    P30, "P30";
    P40, "P40";
    P50, "P50";
    P60, "P60";
    P70, "P70";
    P80, "P80";
    Smart, "Smart";
}

impl AccessTier {
    /// Reads a name in any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tier| tier.name().eq_ignore_ascii_case(text))
    }

    /// Is it a tier of block blobs?
    pub const fn is_for_block_blobs(self) -> bool {
        use AccessTier::{Archive, Cold, Cool, Hot, Smart};
        matches!(self, Hot | Cool | Cold | Archive | Smart)
    }

    /// The current tier of a blob in the smart tier. Lazuli never moves it, so it stays in the first one.
    pub const fn within_smart(self) -> Option<AccessTier> {
        match self {
            AccessTier::Smart => Some(AccessTier::Hot),
            _ => None,
        }
    }
}

/// The priority of moving a blob out of the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RehydratePriority {
    /// Within hours.
    #[default]
    Standard,
    /// Within an hour.
    High,
}

impl RehydratePriority {
    /// The name in headers and listings.
    pub const fn name(self) -> &'static str {
        match self {
            RehydratePriority::Standard => "Standard",
            RehydratePriority::High => "High",
        }
    }

    /// Reads a name in any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        let all = [RehydratePriority::Standard, RehydratePriority::High];
        all.into_iter().find(|priority| priority.name().eq_ignore_ascii_case(text))
    }
}

/// The tier of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierInfo {
    /// The tier that it is in.
    pub tier: AccessTier,
    /// Is it the default of the account, rather than chosen for this blob?
    pub is_inferred: bool,
    /// When it was chosen.
    pub changed: Option<DateTime>,
    /// The tier to which it moves from the archive, and the priority.
    pub rehydrating: Option<(AccessTier, RehydratePriority)>,
}

impl Default for TierInfo {
    fn default() -> Self {
        Self { tier: AccessTier::Hot, is_inferred: true, changed: None, rehydrating: None }
    }
}

impl TierInfo {
    /// The value of `x-ms-archive-status`, while the blob leaves the archive.
    pub fn archive_status(&self) -> Option<&'static str> {
        match self.rehydrating?.0 {
            AccessTier::Hot => Some("rehydrate-pending-to-hot"),
            AccessTier::Cool => Some("rehydrate-pending-to-cool"),
            AccessTier::Cold => Some("rehydrate-pending-to-cold"),
            AccessTier::Smart => Some("rehydrate-pending-to-smart"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for tier in AccessTier::ALL {
            assert_eq!(AccessTier::parse(&tier.name().to_lowercase()), Some(*tier));
        }
        assert_eq!(AccessTier::parse("Lukewarm"), None);
        assert_eq!(RehydratePriority::parse("high"), Some(RehydratePriority::High));
    }
}
