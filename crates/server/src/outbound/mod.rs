//! Requests that the server itself sends, to hosts that the operator allows and to nothing else.
//!
//! Invariants:
//! - Only http and https, without user information in the URL. Redirects are responses like any other.
//! - A name is resolved once per request. The addresses are checked, and the connection goes to one of them, so
//!   a name whose address changes in between cannot lead to an unchecked address.
//! - There are bounds on the number of requests, the size of a response head, the time until it arrives, and
//!   the minimum rate of its body.

mod allow;
mod connect;
mod exchange;
mod url;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;

pub use allow::AllowedHost;
pub(crate) use connect::{Stream, connect, tls_config};
pub(crate) use exchange::{OutboundRequest, OutboundResponse};
pub(crate) use url::OutboundUrl;

/// Maximum number of concurrent requests. Each holds at most two pieces of a body.
const REQUESTS_MAX: usize = 64;
/// Timeout from resolving the name to the head of the response.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);

/// The reason why there is no response.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The operator does not allow this host or its address.
    NotAllowed,
    /// Too many requests are in progress.
    Busy,
    /// The host cannot be reached, or does not speak HTTP.
    Failed(io::Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Failed(error)
    }
}

/// Sends requests to the hosts that the operator allows.
pub(crate) struct Outbound {
    allowed: Vec<AllowedHost>,
    permits: Arc<Semaphore>,
    tls: OnceCell<Arc<ClientConfig>>,
    /// The window in which a body must make progress.
    window: Duration,
}

impl Outbound {
    /// Requests to these hosts.
    pub fn new(allowed: Vec<AllowedHost>, window: Duration) -> Self {
        Self { allowed, permits: Arc::new(Semaphore::new(REQUESTS_MAX)), tls: OnceCell::new(), window }
    }

    /// Sends a request and reads the head of the response.
    pub async fn send(
        &self,
        url: &OutboundUrl,
        request: &OutboundRequest,
    ) -> Result<OutboundResponse, Problem> {
        if !self.allowed.iter().any(|host| host.covers(url)) {
            return Err(Problem::NotAllowed);
        }
        let permit = self.permits.clone().try_acquire_owned().map_err(|_| Problem::Busy)?;
        let exchange = async {
            let stream = self.open(url).await?;
            Ok(exchange::exchange(stream, url, request, self.window).await?.holding(permit))
        };
        timeout(HEAD_TIME_MAX, exchange).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    async fn open(&self, url: &OutboundUrl) -> Result<Stream, Problem> {
        let addresses = connect::resolve(url).await?;
        if addresses.is_empty() {
            return Err(Problem::NotAllowed);
        }
        let tls = match url.is_https {
            true => Some(self.tls.get_or_try_init(tls_config).await?.clone()),
            false => None,
        };
        Ok(connect(url, &addresses, tls).await?)
    }
}
