//! Requests over a network that delays and reorders them, interrupts uploads, and disconnects clients before
//! they have their response.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, Service};
use lazuli_probe::{Request, Signer};
use lazuli_protocol::Head;
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::http::head::Field;
use lazuli_protocol::http::response::ResponseField;
use lazuli_server::http::{Body, Peer, Reading, Reply};
use tokio::time::timeout;

use crate::front::Front;
use crate::rng::SharedRng;
use crate::time::pass;
use crate::world::World;

/// The address of every server, as used by clients.
pub const AUTHORITY: &str = "127.0.0.1:10000";
/// Timeout of a client, unless it gives up early: longer than any request takes.
const TIMEOUT: Duration = Duration::from_secs(100);
/// Timeout of a client that gives up early, in milliseconds.
const EARLY_MAX: u64 = 100;
/// Number of clients in 1000 that give up early.
const EARLY_PER_MILLE: u64 = 15;
/// Number of clients in 1000 that interrupt their upload.
const BROKEN_PER_MILLE: u64 = 15;
/// Longest piece in which a body arrives.
const PIECE_BYTES_MAX: u64 = 200;

/// The outcome of a request, as known to its client.
#[derive(Clone, Debug)]
pub enum RequestOutcome {
    /// It has a response.
    Got(Got),
    /// The outcome is unknown: the request may be applied now, later or never.
    Unknown,
    /// The server was down, or did not get the whole body: the request is not applied.
    NotSent,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Got {
    /// The status.
    pub status: u16,
    /// The error.
    pub error: Option<ErrorCode>,
    /// Its header fields.
    pub fields: Vec<ResponseField>,
    /// The body, streamed content included.
    pub body: Bytes,
    /// The streamed content ended before its announced length.
    pub is_broken: bool,
    /// The request's body ended before its announced length.
    pub is_cut: bool,
}

/// The outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was made.
    Applied,
    /// It was not applied, and will not be.
    Rejected,
    /// Unknown.
    Unknown,
}

impl RequestOutcome {
    /// The status; 0 if there is no response.
    pub fn status(&self) -> u16 {
        match self {
            RequestOutcome::Got(got) => got.status,
            RequestOutcome::Unknown | RequestOutcome::NotSent => 0,
        }
    }

    /// The body as a string; empty if there is none.
    pub fn text(&self) -> String {
        match self {
            RequestOutcome::Got(got) => String::from_utf8_lossy(&got.body).into_owned(),
            RequestOutcome::Unknown | RequestOutcome::NotSent => String::new(),
        }
    }

    /// The value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        let RequestOutcome::Got(got) = self else { return None };
        got.fields.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
    }

    /// The outcome of a change.
    pub fn fate(&self) -> Fate {
        match self {
            RequestOutcome::Got(got) if got.status < 400 => Fate::Applied,
            RequestOutcome::Got(Got { status: 400..=499 | 503, .. }) | RequestOutcome::NotSent => {
                Fate::Rejected
            }
            RequestOutcome::Got(_) | RequestOutcome::Unknown => Fate::Unknown,
        }
    }
}

impl World {
    /// Sends a request, signed with a key in Base64, and waits for the outcome.
    pub async fn send(&self, service: Service, account: &str, key: &str, request: Request) -> RequestOutcome {
        let mut request = request.with("Host", AUTHORITY);
        if let Some(key) = AccountKey::from_base64(key) {
            Signer::new(service, account, key).sign(&mut request, self.time.now());
        }
        self.deliver(service, request).await
    }

    /// Sends a request whose signature is in its URL, and waits for the outcome.
    pub async fn send_unsigned(&self, service: Service, request: Request) -> RequestOutcome {
        self.deliver(service, request.with("Host", AUTHORITY)).await
    }

    async fn deliver(&self, service: Service, request: Request) -> RequestOutcome {
        self.travel().await;
        let number = self.any_front();
        let Some(front) = self.fronts()[number].clone() else { return RequestOutcome::NotSent };
        let rng = self.rng.clone();
        let breaks_at = self.break_of(request.body.len());
        // Signatures in URLs are long and of no interest in a trace.
        let target = request.target.split("&sig=").next().unwrap_or_default();
        let name = format!("{} {target} to {number}", request.method);
        let exchange = tokio::spawn(async move { exchange(&front, service, &request, breaks_at, rng).await });
        let mut got = self.wait(exchange).await;
        self.travel().await;
        self.trace.note(format_args!("{name}: {}", describe(&got)));
        if let RequestOutcome::Got(Got { status, is_cut: true, .. }) = got {
            if status < 400 {
                self.trace.fail(format!("{name} succeeded without the end of its body"));
            }
            // This client is gone.
            got = RequestOutcome::NotSent;
        }
        got
    }

    /// Number of bytes of a body that arrive, if its client interrupts the upload.
    fn break_of(&self, bytes: usize) -> Option<usize> {
        let breaks = bytes > 0 && !self.is_calm() && self.rng.chance(BROKEN_PER_MILLE);
        breaks.then(|| self.rng.below(bytes as u64) as usize)
    }

    /// Makes an admin call and waits for the outcome.
    pub async fn administer(&self, method: &'static str, path: String, body: String) -> RequestOutcome {
        self.travel().await;
        let number = self.any_front();
        let Some(front) = self.fronts()[number].clone() else { return RequestOutcome::NotSent };
        let name = format!("{method} {path} to admin of {number}");
        let call = tokio::spawn(async move {
            let (status, value) = front.admin.call(method, &path, body.as_bytes()).await;
            let body = value.to_string().into();
            Got { status, error: None, fields: Vec::new(), body, is_broken: false, is_cut: false }
        });
        let got = self.wait(call).await;
        self.travel().await;
        self.trace.note(format_args!("{name}: {}", describe(&got)));
        got
    }

    async fn wait(&self, exchange: tokio::task::JoinHandle<Got>) -> RequestOutcome {
        let is_early = !self.is_calm() && self.rng.chance(EARLY_PER_MILLE);
        let time = if is_early { Duration::from_millis(self.rng.below(EARLY_MAX)) } else { TIMEOUT };
        match timeout(time, exchange).await {
            Ok(Ok(got)) => RequestOutcome::Got(got),
            Ok(Err(error)) => {
                self.trace.fail(format!("a request panicked: {error}"));
                RequestOutcome::Unknown
            }
            Err(_) => RequestOutcome::Unknown,
        }
    }

    async fn travel(&self) {
        let time = if self.rng.chance(50) { self.rng.below(200) } else { self.rng.below(3) };
        pass(time).await;
    }
}

fn describe(outcome: &RequestOutcome) -> String {
    match outcome {
        RequestOutcome::Got(Got { status, error: None, body, .. }) => {
            format!("{status}, {} bytes", body.len())
        }
        RequestOutcome::Got(Got { status, error: Some(error), .. }) => format!("{status} {error:?}"),
        RequestOutcome::Unknown => "no response".into(),
        RequestOutcome::NotSent => "not sent".into(),
    }
}

async fn exchange(
    front: &Arc<Front>,
    service: Service,
    request: &Request,
    breaks_at: Option<usize>,
    rng: SharedRng,
) -> Got {
    let fields: Vec<Field<'_>> = request.headers.iter().map(|(name, value)| Field { name, value }).collect();
    let head = Head { method: &request.method, target: &request.target, fields: &fields };
    let peer = Peer { address: (Ipv4Addr::LOCALHOST, 40_000).into(), is_tls: false };
    let length = request.body.len();
    let (rest, missing) = (request.body.clone().into(), breaks_at.map_or(0, |end| length - end));
    let mut body = Arriving { rest, missing, is_cut: false, rng: rng.clone() };
    let Reply { response, content } = front.endpoint(service).respond(&head, peer, &mut body).await;
    let mut got = Got {
        status: response.status,
        error: response.error,
        fields: response.fields,
        body: response.body.into(),
        is_broken: false,
        is_cut: body.is_cut,
    };
    if let Some(mut content) = content {
        let mut whole = Vec::new();
        loop {
            match content.next().await {
                Ok(Some(piece)) => whole.extend_from_slice(&piece),
                Ok(None) => break,
                Err(_) => {
                    got.is_broken = true;
                    break;
                }
            }
            // A client that reads slowly.
            pass(if rng.chance(30) { rng.below(10_000) } else { 0 }).await;
        }
        got.is_broken |= response.content_length.is_some_and(|length| length != whole.len() as u64);
        got.body = whole.into();
    }
    got
}

/// A body that arrives piece by piece.
struct Arriving {
    rest: Bytes,
    /// Bytes at its end that never arrive.
    missing: usize,
    /// Does the server know that they do not arrive?
    is_cut: bool,
    rng: SharedRng,
}

impl Arriving {
    /// The error for a connection that ended within a body.
    fn cut(&mut self) -> Failure {
        self.is_cut = true;
        Failure::from(ErrorCode::InvalidInput).found_in(Origin::FrontEnd)
    }
}

impl Body for Arriving {
    fn length(&self) -> Option<u64> {
        Some(self.rest.len() as u64)
    }

    fn collect(&mut self, max: usize) -> Reading<'_, Vec<u8>> {
        Reading::waiting(async move {
            pass(self.rng.below(3)).await;
            if self.rest.len() > max {
                return Err(Failure::from(ErrorCode::RequestBodyTooLarge).found_in(Origin::FrontEnd));
            }
            if self.missing > 0 {
                return Err(self.cut());
            }
            Ok(std::mem::take(&mut self.rest).into())
        })
    }

    fn next(&mut self) -> Reading<'_, Option<Bytes>> {
        Reading::waiting(async move {
            if self.rest.is_empty() {
                return Ok(None);
            }
            pass(self.rng.below(3)).await;
            let there = self.rest.len().saturating_sub(self.missing) as u64;
            if there == 0 {
                return Err(self.cut());
            }
            let bytes = (1 + self.rng.below(PIECE_BYTES_MAX)).min(there);
            Ok(Some(self.rest.split_to(bytes as usize)))
        })
    }

    fn hold(&mut self, _bytes: usize) -> Result<(), Failure> {
        Ok(())
    }
}
