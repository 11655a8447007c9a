//! The server over real sockets, with clients that are good, slow, broken or hostile.
//!
//! | a test of | belongs in |
//! |---|---|
//! | keep-alive, pipelining, versions of HTTP | `persistence` |
//! | how requests and responses are spelled | `spelling` |
//! | `Expect: 100-continue` | `expect` |
//! | bounds on requests | `limits` |
//! | slow clients | `slow` |
//! | clients that go away | `vanish` |
//! | chunked bodies | `chunked` |
//! | what two servers in a row could read differently | `smuggling` |
//! | many clients at once | `crowd` |
//! | stopping | `stop` |
//! | queries that explain themselves | `explain` |
//! | logs and metrics of accounts | `analytics`, `blob_analytics`, `queue_analytics`, `logs`, `log_versions` |
//! | counters and their text | `metrics`, read by `prometheus` |
//! | too many requests | `busy` |
//! | memory of responses that are being built | `building` |
//! | health checks | `health` |
//! | the part of an address that names the account | `hosts` |
//! | bearer tokens | `bearer` |
//! | user delegation keys | `delegation` |
//! | who may do what, and when that is checked | `rights` |
//! | the web console's listener | `console` |
//! | copies from other servers | `remote` |
//! | events of blobs | `events` |
//! | when blobs were read last | `access_time` |
//! | TLS | `tls` |
//! | faults that the transcripts must notice | `broken` |
//! | requests that time out | `timeouts`, `uploads` |
//!
//! Nothing here waits for time to pass: a test of a deadline sets a short one and waits for its effect. The read
//! deadline of the clients only turns a hang into a failure.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod access_time;
mod analytics;
mod bearer;
mod blob_analytics;
mod broken;
mod building;
mod busy;
mod chunked;
mod console;
mod crowd;
mod delegation;
mod events;
mod expect;
mod explain;
mod health;
mod hosts;
mod limits;
mod log_versions;
mod logs;
mod metrics;
mod pages;
mod persistence;
mod prometheus;
mod queue_analytics;
mod remote;
mod rights;
mod slow;
mod smuggling;
mod spelling;
mod stop;
mod stuck;
mod support;
mod timeouts;
mod tls;
mod uploads;
mod vanish;
mod website;
