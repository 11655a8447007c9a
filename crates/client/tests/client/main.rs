//! The client against services: every case runs on Lazuli over HTTP, on Lazuli in the same process, and on the endpoint
//! in `LAZULI_CLIENT_ENDPOINT` (Azurite, in `tests/run client`).
//!
//! | file | about |
//! |---|---|
//! | `tables.rs` | tables, policies, properties, tokens |
//! | `entities.rs` | single entities and their versions |
//! | `batches.rs` | entity group transactions, bulk writes |
//! | `pages.rs` | queries, page by page, and explanations |
//! | `context.rs` | tracked objects |
//! | `queries.rs` | typed entities and queries, references |
//! | `examples.rs` | the examples, which assert what they show |
//! | `retries.rs` | busy services and deadlines, on a scripted transport with its own clock (`line.rs`) |
//! | `repeats.rs` | lost responses, on the same transport |
//! | `garbage.rs` | invalid responses |
//! | `transport.rs` | sockets: pools, limits, TLS, hooks, credentials |

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]
#![allow(clippy::duplicate_mod, reason = "each example includes the module that they share")]

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
