//! A client of the S3 protocol: the five calls that content needs, signed with AWS Signature Version 4.
//!
//! Not the crate `object_store`: without its own HTTP client, which needs cmake, it still brings 37 crates that this project has no
//! other use for, and with them minutes of every build. Beyond that, it only offers credentials from the metadata services of
//! clouds; here keys come from the environment or from a file that may be rotated.
//!
//! Invariants: every call may be repeated. Keys never appear in errors or logs.

mod http;
mod listing;
mod retry;
mod sign;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ::http::{Method, StatusCode};
use bytes::Bytes;
use http_body_util::BodyExt;
use lazuli_engine::Clock;

use self::http::{Http, Request, Response};
use self::sign::Signer;
use crate::credentials::Credentials;
use crate::store::{ObjectBody, ObjectFailure, ObjectPage, Objects, StoreFuture};
use crate::url::ObjectsUrl;

/// Number of objects on one page of a listing.
const LIST_OBJECTS_MAX: usize = 1000;
/// Maximum size of a listing.
const LIST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The region of stores that have none.
const REGION: &str = "us-east-1";

/// A bucket of an S3-compatible store.
pub struct S3 {
    http: Http,
    signer: Signer,
    scheme: String,
    host: String,
    /// The path of the bucket: empty, or with a leading slash.
    path: String,
}

impl fmt::Debug for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S3({}://{}{})", self.scheme, self.host, self.path)
    }
}

impl S3 {
    /// A client. Nothing is sent yet.
    pub fn connect(url: &ObjectsUrl, credentials: Arc<Credentials>, clock: Clock) -> Result<Self, String> {
        let region = url.region.clone().or_else(|| crate::credentials::variable("AWS_REGION"));
        let region = region.unwrap_or_else(|| REGION.into());
        let endpoint = url.endpoint.clone().unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let (scheme, host) = endpoint.split_once("://").ok_or("the endpoint has no scheme")?;
        let (host, path) = match url.is_virtual_hosted {
            true => (format!("{}.{host}", url.bucket), String::new()),
            false => (host.to_owned(), format!("/{}", url.bucket)),
        };
        let roots = url
            .roots
            .as_ref()
            .map(|path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display())));
        Ok(Self {
            http: Http::new(roots.transpose()?.as_deref())?,
            signer: Signer::new(credentials, region, clock),
            scheme: scheme.into(),
            host,
            path,
        })
    }

    fn request(&self, method: Method, name: &str) -> Request {
        Request::new(method, format!("{}/{name}", self.path))
    }

    /// Sends a request and checks the status; retries transient failures for a limited time.
    async fn send(&self, request: &Request) -> Result<Response, ObjectFailure> {
        let hash = request.hash().await?;
        retry::send(|| async {
            let headers = self.signer.sign(request, &self.host, &hash);
            let uri = format!("{}://{}{}", self.scheme, self.host, request.target());
            let response = self.http.send(request, &uri, headers).await?;
            failure_of(response.status()).map_or(Ok(response), Err)
        })
        .await
    }
}

/// Classifies a status. Bodies of error responses are not read.
fn failure_of(status: StatusCode) -> Option<ObjectFailure> {
    match status.as_u16() {
        200..=299 => None,
        401 | 403 => Some(ObjectFailure::Denied),
        404 => Some(ObjectFailure::Missing),
        409 | 412 => Some(ObjectFailure::Exists),
        status => Some(ObjectFailure::Status(status)),
    }
}

fn length_of(response: &Response) -> Option<u64> {
    response.headers().get(::http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl Objects for S3 {
    fn put<'a>(&'a self, name: &'a str, parts: Vec<Bytes>, is_new: bool) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut request = self.request(Method::PUT, name).body(parts);
            if is_new {
                request = request.header("if-none-match", "*".into());
            }
            self.send(&request).await.map(drop)
        })
    }

    fn get<'a>(&'a self, name: &'a str, range: Range<u64>) -> StoreFuture<'a, ObjectBody> {
        Box::pin(async move {
            let last = range.end.saturating_sub(1);
            let request =
                self.request(Method::GET, name).header("range", format!("bytes={}-{last}", range.start));
            let response = match self.send(&request).await {
                // The object ends before the range: it is incomplete.
                Err(ObjectFailure::Status(416)) => return Err(ObjectFailure::Missing),
                other => other?,
            };
            match (response.status(), length_of(&response)) {
                (StatusCode::PARTIAL_CONTENT, Some(length)) if length == range.end - range.start => {
                    Ok(response.into_body())
                }
                (StatusCode::OK, Some(length)) if range == (0..length) => Ok(response.into_body()),
                (StatusCode::PARTIAL_CONTENT, Some(_)) => Err(ObjectFailure::Missing),
                _ => Err(ObjectFailure::Unclear),
            }
        })
    }

    fn head<'a>(&'a self, name: &'a str) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let response = self.send(&self.request(Method::HEAD, name)).await?;
            length_of(&response).ok_or(ObjectFailure::Unclear)
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            match self.send(&self.request(Method::DELETE, name)).await {
                Ok(_) | Err(ObjectFailure::Missing) => Ok(()),
                Err(failure) => Err(failure),
            }
        })
    }

    fn list<'a>(&'a self, prefix: &'a str, after: &'a str) -> StoreFuture<'a, ObjectPage> {
        Box::pin(async move {
            let mut request = self
                .request(Method::GET, "")
                .query("list-type", "2")
                .query("max-keys", &LIST_OBJECTS_MAX.to_string())
                .query("prefix", prefix);
            if !after.is_empty() {
                request = request.query("start-after", after);
            }
            let body = self.send(&request).await?.into_body();
            let body = http_body_util::Limited::new(body, LIST_BYTES_MAX).collect().await;
            let text = body.map_err(|_| ObjectFailure::Broken)?.to_bytes();
            listing::parse(&text).ok_or(ObjectFailure::Unclear)
        })
    }
}
