//! The client on blocking streams: plain sockets, TLS, or anything else that reads and writes.

mod client;
mod connection;
mod tls;

#[cfg(test)]
mod tests;

pub use client::Client;
pub use connection::{Connection, dial};
pub use tls::ExtraRoots;
