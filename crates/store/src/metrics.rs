//! The metrics of the store. Those of its content are in `content`.

use lazuli_engine::Metric;
use lazuli_engine::metric::COUNTS;

use crate::files::Files;
use crate::health::Health;

/// The metrics of the store. The hit rate of the block cache is not counted: it would cost every read of a block.
pub fn metrics(health: &Health, files: &Files) -> Vec<Metric> {
    let (commits, groups) = health.commits_and_groups();
    vec![
        Metric::counter("commits_total", "Commits made.", commits),
        Metric::counter("commit_groups_total", "Batches in which commits were made durable.", groups),
        Metric::histogram(
            "commit_group_commits",
            "Commits that shared one sync.",
            health.group_commits.distribution(&COUNTS, 1.0),
        ),
        Metric::gauge("largest_commit_group_bytes", "Bytes of the largest batch.", health.largest_group()),
        Metric::histogram(
            "sync_seconds",
            "Time to make a group of commits durable, including waits for background work.",
            health.sync_time.times(),
        ),
        Metric::gauge("cache_bytes", "Blocks of sorted files and rows held in memory.", files.cached_bytes()),
        Metric::gauge("cache_capacity_bytes", "Maximum size of these caches.", files.cached_bytes_max()),
        Metric::gauge(
            "write_buffer_bytes",
            "Size of rows that are not in a sorted file yet.",
            files.db.write_buffer_size(),
        ),
        Metric::gauge("journal_bytes", "Size of the log.", files.db.journal_disk_space().unwrap_or(0)),
        Metric::gauge("sorted_files", "Sorted files.", files.rows.table_count() as u64),
        Metric::gauge(
            "unmerged_files",
            "Sorted files waiting to be merged; writes wait if there are too many.",
            files.rows.l0_table_count() as u64,
        ),
        Metric::counter(
            "merges_total",
            "Number of merges of sorted files.",
            files.db.compactions_completed() as u64,
        ),
        Metric::counter(
            "merge_seconds_total",
            "Time spent on merging sorted files.",
            files.db.time_compacting().as_secs(),
        ),
    ]
}
