//! Requests and responses on the wire, as the clients of each era write and read them.
//! |
//! module | contents |
//! |---|---|
//! | `clients` | a batch in the form of each client family |
//! | `samples` | the samples of the founding documents |
//! | `responses` | the responses to batches, byte for byte |
//! | `violations` | malformed batches and their errors |
//! | `roundtrip` | written values are read back, for all values |

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod clients;
mod responses;
mod roundtrip;
mod samples;
mod support;
mod violations;
