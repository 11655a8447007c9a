//! A small HTTP/1.1 client on a plain socket.
//!
//! Ours because it must see header names in the case in which they were sent, must be able to send what a proper client
//! would not, and must see an answer that comes before the request is complete. One connection is kept as long as the
//! server keeps it.

use std::io::{self, BufReader};
use std::net::TcpStream;

use crate::connection::{dial, exchange};
use crate::http::{Request, Response, Transport};

/// A server at an address.
#[derive(Debug)]
pub struct Tcp {
    authority: String,
    connection: Option<BufReader<TcpStream>>,
}

impl Tcp {
    /// A server at `host:port`; connects when it is first needed.
    pub fn new(authority: impl Into<String>) -> Self {
        Self { authority: authority.into(), connection: None }
    }
}

impl Transport for Tcp {
    fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        exchange(&mut self.connection, || dial(&self.authority), request)
    }
}

#[cfg(test)]
mod tests;
