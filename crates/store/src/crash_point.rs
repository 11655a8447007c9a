//! Crash points: named steps at which a crash test can end the process.
//!
//! `LAZULI_CRASH_AT=name:count` aborts when the crash point `name` is passed for the `count`th time. Without it a crash
//! point costs one load of a static.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that arms one crash point.
pub const VARIABLE: &str = "LAZULI_CRASH_AT";

/// A step at which the process can be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The directory of a new store exists and is locked, but is empty.
    Created,
    /// A group is decided, but not written.
    BeforeAppend,
    /// The system has the group; the disk may not have it.
    AfterAppend,
    /// The disk has the group; no reader sees it.
    AfterSync,
    /// Readers see the group; no caller has its result.
    BeforeReply,
    /// The first callers of the group have their results; the others do not.
    AmidReplies,
    /// Rows of a dropped table are about to be removed.
    BeforeErase,
    /// Some rows of a dropped table are removed.
    AfterErase,
    /// A change of the catalog is decided, but not written.
    BeforeCatalog,
    /// The disk has a change of the catalog; no reader sees it.
    AfterCatalog,
    /// A group is on the disk while rows before it are being written to a sorted file.
    WritingOut,
    /// A group is on the disk while sorted files are being merged.
    Merging,
    /// The store is being closed; its log is synced.
    Closing,
    /// Some rows of a backup are about to be read.
    DumpPage,
    /// A block of a backup is about to be written.
    BackupBlock,
    /// All parts of a backup are written; its manifest is not.
    BackupSealed,
    /// Rows of a backup are about to be put into a new store.
    RestoreRows,
    /// A new store has all rows of a backup, but is not usable yet.
    RestoreLoaded,
    /// A range of a pack is reserved for content, but not written.
    ContentReserved,
    /// The system has some content; the disk may not have it.
    ContentWritten,
    /// A pack is about to be synced.
    BeforeContentSync,
    /// A pack is synced; no upload is notified yet.
    AfterContentSync,
    /// The name of a new pack is about to be synced.
    BeforeContentEntry,
    /// The name of a new pack is synced; no upload is notified yet.
    AfterContentEntry,
    /// A dead range of a pack is about to be freed.
    BeforeContentPunch,
    /// A dead range of a pack is freed.
    AfterContentPunch,
    /// A dead pack is about to be removed.
    BeforeContentUnlink,
    /// A dead pack is removed.
    AfterContentUnlink,
}

impl Point {
    /// Crash points of writes, in the order in which a commit passes them.
    pub const COMMIT: [Point; 13] = [
        Point::Created,
        Point::BeforeAppend,
        Point::AfterAppend,
        Point::AfterSync,
        Point::BeforeReply,
        Point::AmidReplies,
        Point::BeforeErase,
        Point::AfterErase,
        Point::BeforeCatalog,
        Point::AfterCatalog,
        Point::WritingOut,
        Point::Merging,
        Point::Closing,
    ];

    /// Crash points of a backup.
    pub const BACKUP: [Point; 5] =
        [Point::DumpPage, Point::BackupBlock, Point::BackupSealed, Point::RestoreRows, Point::RestoreLoaded];

    /// Crash points of content, from the upload to the removal of its pack.
    pub const CONTENT: [Point; 10] = [
        Point::ContentReserved,
        Point::ContentWritten,
        Point::BeforeContentSync,
        Point::BeforeContentEntry,
        Point::AfterContentEntry,
        Point::AfterContentSync,
        Point::BeforeContentPunch,
        Point::AfterContentPunch,
        Point::BeforeContentUnlink,
        Point::AfterContentUnlink,
    ];

    fn all() -> impl Iterator<Item = Point> {
        Self::COMMIT.into_iter().chain(Self::BACKUP).chain(Self::CONTENT)
    }

    /// The name of the crash point in [`VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Point::Created => "created",
            Point::BeforeAppend => "before-append",
            Point::AfterAppend => "after-append",
            Point::AfterSync => "after-sync",
            Point::BeforeReply => "before-reply",
            Point::AmidReplies => "amid-replies",
            Point::BeforeErase => "before-erase",
            Point::AfterErase => "after-erase",
            Point::BeforeCatalog => "before-catalog",
            Point::AfterCatalog => "after-catalog",
            Point::WritingOut => "writing-out",
            Point::Merging => "merging",
            Point::Closing => "closing",
            Point::DumpPage => "dump-page",
            Point::BackupBlock => "backup-block",
            Point::BackupSealed => "backup-sealed",
            Point::RestoreRows => "restore-rows",
            Point::RestoreLoaded => "restore-loaded",
            Point::ContentReserved => "content-reserved",
            Point::ContentWritten => "content-written",
            Point::BeforeContentSync => "before-content-sync",
            Point::AfterContentSync => "after-content-sync",
            Point::BeforeContentEntry => "before-content-entry",
            Point::AfterContentEntry => "after-content-entry",
            Point::BeforeContentPunch => "before-content-punch",
            Point::AfterContentPunch => "after-content-punch",
            Point::BeforeContentUnlink => "before-content-unlink",
            Point::AfterContentUnlink => "after-content-unlink",
        }
    }
}

struct Armed {
    point: Point,
    passes_left: AtomicU64,
}

static ARMED: OnceLock<Option<Armed>> = OnceLock::new();

/// Passes a crash point; does not return if the process must end here.
pub fn pass(point: Point) {
    if is_due(point) {
        std::process::abort();
    }
}

/// Passes a crash point that counts only while a condition holds, which is checked only if the point is armed.
pub(crate) fn pass_while(point: Point, is_going_on: impl FnOnce() -> bool) {
    if armed().is_some_and(|armed| armed.point == point) && is_going_on() {
        pass(point);
    }
}

/// Counts a pass; `true` if the process must end here, which is up to the caller.
pub(crate) fn is_due(point: Point) -> bool {
    armed()
        .is_some_and(|armed| armed.point == point && armed.passes_left.fetch_sub(1, Ordering::Relaxed) == 1)
}

fn armed() -> Option<&'static Armed> {
    ARMED.get_or_init(|| parse(&std::env::var(VARIABLE).ok()?)).as_ref()
}

fn parse(text: &str) -> Option<Armed> {
    let (name, count) = text.split_once(':').unwrap_or((text, "1"));
    let point = Point::all().find(|point| point.name() == name)?;
    Some(Armed { point, passes_left: AtomicU64::new(count.parse().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crash_point_can_be_named() {
        for point in Point::all() {
            assert_eq!(parse(point.name()).unwrap().point, point);
            let armed = parse(&format!("{}:7", point.name())).unwrap();
            assert_eq!(armed.passes_left.into_inner(), 7);
        }
        assert!(parse("nowhere:1").is_none());
        assert!(parse("created:x").is_none());
    }
}
