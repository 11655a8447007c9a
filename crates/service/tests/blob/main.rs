//! The rules of the blob service, over memory with a clock that the test sets.
//!
//! | what | where |
//! |---|---|
//! | rights | `access.rs` |
//! | bodies, ranges, checksums, downloads that outlive their version | `content.rs` |
//! | changes of ETags, settings of a blob, missing blobs | `blobs.rs` |
//! | conditional requests, sequential and concurrent | `conditions.rs` |
//! | uploads of blocks during which the blob changes | `block_uploads.rs` |
//! | block lists that are committed during uploads | `gathered.rs` |
//! | what the limit of uncommitted blocks costs | `counted.rs` |
//! | leases of blobs, across restarts | `leases.rs` |
//! | listings | `listing.rs` |
//! | tags, and searches by them | `tags.rs` |
//! | soft delete | `deleted.rs` |
//! | versions | `versions.rs` |
//! | policies and legal holds of snapshots and containers | `protection.rs` |
//! | tiers and the way out of the archive | `tiers.rs` |
//! | appends that share a commit | `append_batches.rs` |
//! | append blobs: concurrent appends, folding, seal | `appends.rs` |
//! | page blobs, by example and beside a model | `pages.rs`, `page_model.rs` |
//! | copies within the server that continue in the background | `copies.rs` |
//! | copies from other servers | `remote.rs` |
//! | events | `events.rs` |
//! | the time of the last access | `access_time.rs` |
//! | sweeps that meet changes half way | `sweeps.rs` |
//! | what sweeps of many generations cost | `garbage.rs` |
//! | sweeps of blobs that are in use all the time | `busy.rs` |
//! | sweeps that can free nothing at the moment | `in_use.rs` |
//! | crashes and failures at every call of the stores | `crash.rs`, `crash_kinds.rs` |

#![allow(clippy::unwrap_used, reason = "a failed step fails its test")]

mod access;
mod access_time;
mod append_batches;
mod appends;
mod between;
mod blobs;
mod block_uploads;
mod busy;
mod conditions;
mod content;
mod copies;
mod counted;
mod crash;
mod crash_kinds;
mod deleted;
mod events;
mod fused;
mod garbage;
mod gathered;
mod in_use;
mod interrupted;
mod leases;
mod listed;
mod listing;
mod page_model;
mod pages;
mod protection;
mod remote;
mod requests;
mod sweeps;
mod tags;
mod tiers;
mod versions;
mod world;
