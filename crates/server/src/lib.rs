//! The server as a library: sockets, limits, accounts and the pipeline that processes requests.
//!
//! It never sees a row: it hands operations to the service and outcomes to the protocol.

pub mod accounts;
pub mod admin;
pub mod analytics;
mod blob;
pub mod clock;
pub mod config;
mod console;
mod entropy;
pub mod events;
pub mod health;
pub mod http;
mod listen;
pub mod memory;
pub mod metrics;
pub mod oauth;
pub mod outbound;
pub mod pipeline;
pub mod ports;
mod queue;
mod run;
pub mod state;
mod table;
pub mod throttle;
pub mod tls;

pub use accounts::Directory;
pub use config::{Config, Limits};
pub use lazuli_model::Service;
pub use pipeline::Endpoint;
pub use ports::Ports;
pub use run::{Running, serve_bare, start, start_on};
pub use state::State;
