//! What goes over the wire, request and answer, as the clients of each time write and read it.
//!
//! | module | what it holds |
//! |---|---|
//! | `clients` | a batch in the form of each client family |
//! | `samples` | the samples of the founding documents |
//! | `answers` | the responses to batches, byte for byte |
//! | `violations` | malformed batches and their errors |
//! | `roundtrip` | what is written reads back, for all values |

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod clients;
mod roundtrip;
mod samples;
mod support;
mod violations;
