//! The flags for the limits of the server.

use std::time::Duration;

use clap::Args;
use lazuli_server::Limits;
use lazuli_server::throttle::{Rate, Rates};

use super::{SECONDS_MAX, up_to};

// The largest useful values of a flag; with larger ones, memory arithmetic could overflow.
const HEAD_KIB_MAX: i64 = 64 * 1024;
const BODY_KIB_MAX: i64 = 1024 * 1024;
const CONNECTIONS_MAX: i64 = 1_000_000;
const IN_FLIGHT_MIB_MAX: i64 = 1024 * 1024;
const RATE_MAX: i64 = 1_000_000_000;
const MIB: usize = 1024 * 1024;

/// Limits of the server.
#[derive(Args)]
pub struct LimitArgs {
    /// Largest request head
    #[arg(long, value_name = "KIB", default_value_t = 64, value_parser = up_to(HEAD_KIB_MAX))]
    max_head_kib: u32,
    /// Largest body of a table request; queue and blob requests have the limits of the protocol
    #[arg(long, value_name = "KIB", default_value_t = 4096 + 64, value_parser = up_to(BODY_KIB_MAX))]
    max_body_kib: u32,
    /// Maximum number of connections
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = up_to(CONNECTIONS_MAX))]
    max_connections: u32,
    /// Maximum seconds to send a request head
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = up_to(SECONDS_MAX))]
    head_timeout: u32,
    /// Maximum seconds for each 256 KiB of a request body, or for the rest of it
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = up_to(SECONDS_MAX))]
    body_timeout: u32,
    /// Maximum seconds that a connection may be idle
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = up_to(SECONDS_MAX))]
    idle_timeout: u32,
    /// Maximum seconds to process a request
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = up_to(SECONDS_MAX))]
    request_timeout: u32,
    /// Memory for large requests in flight, and the same amount for large responses; beyond it, requests get
    /// 503. It must be large enough for the largest request and a page: at least 8 MiB, or more if
    /// --max-body-kib is raised
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 512,
        value_parser = up_to(IN_FLIGHT_MIB_MAX)
    )]
    max_in_flight_mib: u32,
    /// Maximum requests per second of one account [default: no limit]
    #[arg(long, value_name = "COUNT", value_parser = up_to(RATE_MAX))]
    account_rate: Option<u32>,
    /// Maximum burst of requests of one account [default: the requests of one second]
    #[arg(long, value_name = "COUNT", value_parser = up_to(RATE_MAX), requires = "account_rate")]
    account_burst: Option<u32>,
    /// Maximum entities per second of one partition [default: no limit]
    #[arg(long, value_name = "COUNT", value_parser = up_to(RATE_MAX))]
    partition_rate: Option<u32>,
    /// Maximum burst of entities of one partition [default: the entities of one second]
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = up_to(RATE_MAX),
        requires = "partition_rate"
    )]
    partition_burst: Option<u32>,
}

impl LimitArgs {
    /// The limits.
    pub fn limits(&self) -> Limits {
        let seconds = |count: u32| Duration::from_secs(count.into());
        Limits {
            head_bytes_max: self.max_head_kib as usize * 1024,
            body_bytes_max: self.max_body_kib as usize * 1024,
            connections_max: self.max_connections as usize,
            head_time_max: seconds(self.head_timeout),
            body_time_max: seconds(self.body_timeout),
            idle_time_max: seconds(self.idle_timeout),
            request_time_max: seconds(self.request_timeout),
            bodies_bytes_max: self.max_in_flight_mib as usize * MIB,
            ..Limits::default()
        }
    }

    /// Reports an error if the largest request needs more memory than configured: the server would always
    /// reject it.
    pub fn too_little_memory(&self) -> Option<String> {
        let limits = self.limits();
        let needed = limits.bodies_bytes_min();
        (limits.bodies_bytes_max < needed).then(|| {
            format!(
                "{} MiB is too small: at least {} MiB are needed for the largest request (--max-body-kib {}, --max-head-kib {}) and for a page being built",
                self.max_in_flight_mib,
                needed.div_ceil(MIB),
                self.max_body_kib,
                self.max_head_kib
            )
        })
    }

    /// The rate limits of accounts and partitions.
    pub fn rates(&self) -> Rates {
        let rate = |per_second: Option<u32>, burst: Option<u32>| {
            per_second.map(|per_second| Rate { per_second, burst: burst.unwrap_or(per_second) })
        };
        Rates {
            account: rate(self.account_rate, self.account_burst),
            partition: rate(self.partition_rate, self.partition_burst),
        }
    }
}
