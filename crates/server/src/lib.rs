//! The server as a library: sockets, limits, accounts and the pipeline that a request goes through.
//!
//! It never sees a row: it hands operations to the service and outcomes to the protocol.

pub mod accounts;
pub mod admin;
pub mod analytics;
pub mod clock;
pub mod config;
mod entropy;
pub mod frontend;
pub mod http;
mod listen;
pub mod metrics;
pub mod oauth;
pub mod ports;
mod run;
pub mod throttle;
pub mod tls;

pub use accounts::Directory;
pub use config::{Config, Limits};
pub use frontend::Frontend;
pub use ports::Ports;
pub use run::{Running, serve_bare, start, start_on};
