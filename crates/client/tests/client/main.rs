//! The client against services: every case runs on Lazuli over HTTP, on Lazuli in the same process, and on the endpoint
//! that `LAZULI_CLIENT_ENDPOINT` names (Azurite, in `tests/run client`).
//!
//! | file | about |
//! |---|---|
//! | `tables.rs` | tables, policies, properties, tokens |
//! | `entities.rs` | single entities and their versions |
//! | `batches.rs` | entity group transactions, work in bulk |
//! | `pages.rs` | queries, page by page, and explanations |
//! | `context.rs` | tracked objects |
//! | `queries.rs` | typed entities and queries, references |
//! | `examples.rs` | the examples, which assert what they show |
//! | `retries.rs` | busy services, deadlines: on a scripted transport, with a clock of its own (`line.rs`) |
//! | `repeats.rs` | lost answers, on the same |
//! | `garbage.rs` | answers that no service gives |
//! | `transport.rs` | sockets: pools, limits, TLS, hooks, credentials |

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::duplicate_mod, reason = "each example brings what it shares with the others")]

mod batches;
mod context;
mod entities;
mod examples;
mod garbage;
mod line;
mod pages;
mod queries;
mod repeats;
mod retries;
mod support;
mod tables;
mod transport;
