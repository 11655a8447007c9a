//! The pipeline: sign, send, interpret the response, and retry.
//!
//! Every request of the client goes through [`Pipeline::send`]. Its errors say whether any of the attempts can have
//! been applied.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use lazuli_protocol::auth::{self, SignedParts};
use lazuli_protocol::reply;
use lazuli_protocol::reply::ErrorBody;
use lazuli_protocol::table::batch::send as batch;
use tracing::Instrument;

use crate::account::{Account, Credential, Endpoint};
use crate::batch::error_body;
use crate::environment::Environment;
use crate::error::{Applied, Error, Result, Said};
use crate::request::TableRequest;
use crate::retry::RetryOptions;
use crate::transport::{Transport, TransportError};

/// Protocol version of the client.
pub(crate) const VERSION: &str = "2019-02-02";

const X_MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");
const X_MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
const REQUEST_ID: &str = "x-ms-request-id";

/// Called with every request before it is signed; may add headers (CL-13).
///
/// ```
/// use std::sync::Arc;
/// use lazuli_client::RequestHook;
///
/// let hook: RequestHook = Arc::new(|request| {
///     request.headers_mut().insert("x-team", http::HeaderValue::from_static("billing"));
/// });
/// let mut request = http::Request::new(bytes::Bytes::new());
/// hook(&mut request);
/// assert_eq!(request.headers()["x-team"], "billing");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub type RequestHook = Arc<dyn Fn(&mut http::Request<Bytes>) + Send + Sync>;

/// Endpoint for reads.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Account, Credential, ReadFrom, TableService};
///
/// let transport = lazuli_embedded::Embedded::memory().expect("entropy is available");
/// let builder = TableService::builder(lazuli_embedded::account()).transport(transport);
/// let service = builder.read_from(ReadFrom::Secondary).build()?;
/// assert!(service.table_names().await?.is_empty());
///
/// // An account without a secondary has none to read from.
/// let alone = Account::new("shop", "http://embedded/shop".parse()?, Credential::Anonymous);
/// assert!(service.with_account(alone).table_names().await.is_err());
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadFrom {
    /// The primary.
    #[default]
    Primary,
    /// The primary, and on failure the secondary, alternating.
    PrimaryThenSecondary,
    /// The secondary, which may have older data.
    Secondary,
}

/// State that all handles of a service share.
pub(crate) struct Pipeline {
    pub account: Account,
    pub transport: Arc<dyn Transport>,
    pub environment: Arc<dyn Environment>,
    pub retry: RetryOptions,
    pub read_from: ReadFrom,
    pub hooks: Vec<RequestHook>,
}

/// A successful response.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Response {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A header of a page that must not be ignored: a value that is not text is an error.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned);
        let unreadable =
            |_| Error::unreadable(format!("the header {name} of the response is not valid text"));
        self.headers.get(name).map(text).transpose().map_err(unreadable)
    }

    pub fn request_id(&self) -> Option<String> {
        self.get(REQUEST_ID).map(str::to_owned)
    }
}

/// A failed attempt.
struct Failed {
    error: Error,
    retry_after: Option<Duration>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, retry_after: None }
    }
}

impl Pipeline {
    /// Sends a request, and retries it if useful.
    pub async fn send(&self, call: &TableRequest) -> Result<Response> {
        self.send_reading(call, Ok).await
    }

    /// Sends a batch. If an operation of the batch fails, the attempt fails with its error, because that error can be
    /// retryable (`ServerBusy`).
    pub async fn send_batch<T>(
        &self,
        call: TableRequest,
        read: impl Fn(&[batch::PartResponse<'_>]) -> Result<T> + Send + Sync,
    ) -> Result<T> {
        let read_parts = |response: Response| {
            let content_type = response.get("content-type").unwrap_or_default();
            let responses = batch::part_responses(content_type, &response.body)
                .map_err(|_| Error::unclear("the response to a batch cannot be parsed"))?;
            match responses.iter().find_map(|part| error_body(part, response.request_id())) {
                Some(error) => Err(error),
                None => read(&responses),
            }
        };
        self.send_reading(&call, read_parts).await
    }

    async fn send_reading<T>(
        &self,
        call: &TableRequest,
        read: impl Fn(Response) -> Result<T> + Send + Sync,
    ) -> Result<T> {
        let span = tracing::debug_span!("lazuli.request", operation = call.operation, path = %call.path);
        let sent = self.send_retrying(call, read).instrument(span).await;
        sent.map_err(|error| error.of_request(&call.method, self.account.endpoint().as_str(), &call.path))
    }

    async fn send_retrying<T>(&self, call: &TableRequest, read: impl Fn(Response) -> Result<T>) -> Result<T> {
        let start = self.environment.elapsed();
        let mut uncertain = call.uncertain;
        let mut done = 0;
        loop {
            let left = self.retry.deadline.saturating_sub(self.environment.elapsed().saturating_sub(start));
            let attempt = self.attempt(call, done, left.min(self.retry.attempt_time_max)).await;
            done += 1;
            let read = attempt.and_then(|response| read(response).map_err(Failed::from));
            let Failed { error, retry_after } = match read {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            uncertain |= error.applied() == Applied::Unknown && !call.reads;
            let settle = |error: Error| match (call.reads, uncertain) {
                (true, _) => error.with_applied(Applied::No),
                (false, true) => error.with_applied(Applied::Unknown),
                (false, false) => error,
            };
            let Some(delay) = self.retry.delay(done, &error, retry_after, self.environment.random()) else {
                return Err(settle(error));
            };
            let spent = self.environment.elapsed().saturating_sub(start);
            if spent.saturating_add(delay) >= self.retry.deadline {
                return Err(settle(error.past_deadline()));
            }
            tracing::warn!(attempt = done, delay_ms = delay.as_millis() as u64, %error, "retrying");
            self.environment.sleep(delay).await;
        }
    }

    /// One attempt. It is signed again, since the signature contains the time.
    async fn attempt(&self, call: &TableRequest, done: u32, time: Duration) -> Result<Response, Failed> {
        let (endpoint, _) = self.endpoint(call, done)?;
        let too_long = || format!("no response within {} ms", time.as_millis());
        let start = self.environment.elapsed();
        let request = self.within(time, self.signed(call, endpoint)).await;
        let request = request.unwrap_or_else(|| Err(TransportError::not_sent(too_long()).into()))?;
        let left = time.saturating_sub(self.environment.elapsed().saturating_sub(start));
        let response = self.within(left, self.transport.send(request)).await;
        let response =
            response.unwrap_or_else(|| Err(TransportError::lost(too_long()))).map_err(Error::from)?;
        let (parts, body) = response.into_parts();
        let response = Response { status: parts.status.as_u16(), headers: parts.headers, body };
        tracing::debug!(status = response.status, request_id = response.get(REQUEST_ID), "response received");
        match parts.status {
            // No service responds to a change in this way, but proxies and login pages do.
            http::StatusCode::OK if !call.reads => {
                Err(Error::unclear("unexpected status 200 in response to a change").into())
            }
            status if status.is_success() => Ok(response),
            _ => Err(failed(&response)),
        }
    }

    /// Runs a future with a timeout.
    async fn within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = self.environment.sleep(time) => None,
        }
    }

    /// The endpoint of an attempt, and whether it is the secondary.
    fn endpoint(&self, call: &TableRequest, done: u32) -> Result<(&Endpoint, bool)> {
        let primary = || (self.account.endpoint(), false);
        let secondary = self.account.secondary().map(|endpoint| (endpoint, true));
        let none = || Error::input("the account has no secondary endpoint");
        match (call.reads, self.read_from) {
            _ if call.secondary => secondary.ok_or_else(none),
            (true, ReadFrom::Secondary) => secondary.ok_or_else(none),
            (true, ReadFrom::PrimaryThenSecondary) if done % 2 == 1 => Ok(secondary.unwrap_or_else(primary)),
            _ => Ok(primary()),
        }
    }

    async fn signed(&self, call: &TableRequest, endpoint: &Endpoint) -> Result<http::Request<Bytes>> {
        let credential = self.account.credential();
        let token = match credential {
            Credential::Sas(token) => Some(&**token),
            _ => None,
        };
        let mut request = call.at(endpoint, token)?;
        let date = self.environment.now().http();
        let id = format!("{:016x}{:016x}", self.environment.random(), self.environment.random());
        let headers = request.headers_mut();
        let mut add = |name: HeaderName, text: &str| -> Result<()> {
            let value =
                HeaderValue::from_str(text).map_err(|_| Error::input(format!("invalid header {name}")))?;
            headers.insert(name, value);
            Ok(())
        };
        add(X_MS_DATE, date.as_str())?;
        add(X_MS_VERSION, VERSION)?;
        add(CLIENT_REQUEST_ID, &id)?;
        add(HeaderName::from_static("dataserviceversion"), "3.0;NetFx")?;
        add(HeaderName::from_static("maxdataserviceversion"), "3.0;NetFx")?;
        for hook in &self.hooks {
            hook(&mut request);
        }
        if let Some(value) = self.authorization(call, endpoint, &request, date.as_str()).await? {
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| Error::input("the credential is not valid in a header"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        Ok(request)
    }

    async fn authorization(
        &self,
        call: &TableRequest,
        endpoint: &Endpoint,
        request: &http::Request<Bytes>,
        date: &str,
    ) -> Result<Option<String>> {
        match self.account.credential() {
            Credential::Anonymous | Credential::Sas(_) => Ok(None),
            Credential::Bearer(provider) => {
                if !endpoint.is_https() && !endpoint.is_loopback() {
                    return Err(Error::input("bearer tokens require https"));
                }
                Ok(Some(format!("Bearer {}", provider.token().await?)))
            }
            Credential::Key { key, scheme } => {
                let account = self.account.name();
                let account = account.ok_or_else(|| Error::input("signing requires the account's name"))?;
                let field = |name: &str| {
                    request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
                };
                let parts = SignedParts {
                    method: request.method().as_str(),
                    content_md5: field("content-md5"),
                    content_type: field("content-type"),
                    date,
                    account,
                    path: request.uri().path(),
                    comp: call
                        .query
                        .iter()
                        .find(|(name, _)| *name == "comp")
                        .map(|(_, value)| value.as_str()),
                };
                Ok(Some(auth::authorization(key, *scheme, &parts)))
            }
        }
    }
}

/// The error of a failed response. Even without a readable body, as proxies send them, it has a status.
fn failed(response: &Response) -> Failed {
    let rejection = reply::error_body(&response.body).unwrap_or_else(|| ErrorBody {
        code: response.get("x-ms-error-code").unwrap_or_default().to_owned(),
        message: format!("the service responded with status {}", response.status),
    });
    let said = Said {
        status: response.status,
        code: rejection.code,
        message: rejection.message,
        request_id: response.request_id(),
        in_batch: false,
    };
    let seconds = response.get("retry-after").and_then(|text| text.trim().parse().ok());
    Failed { error: Error::service(said), retry_after: seconds.map(Duration::from_secs) }
}
