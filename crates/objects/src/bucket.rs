//! The bucket: its client, and the object with the number of the database that its content belongs to.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use lazuli_engine::{Clock, Error, Result};

use crate::credentials::Credentials;
use crate::name::Names;
use crate::s3::S3;
use crate::store::{ObjectFailure, Objects};
use crate::url::ObjectsUrl;

/// Bytes of the object with the number: hexadecimal digits.
const NUMBER_BYTES: u64 = 16;

/// Where the objects are.
#[derive(Clone, Debug)]
pub struct Bucket {
    pub(crate) store: Arc<dyn Objects>,
    pub(crate) names: Names,
}

impl Bucket {
    /// A bucket of an S3-compatible store. Nothing is sent yet.
    pub fn connect(url: &ObjectsUrl, clock: Clock) -> std::result::Result<Self, String> {
        let credentials = Arc::new(Credentials::find(url.credentials.as_deref())?);
        Ok(Self::over(Arc::new(S3::connect(url, credentials, clock)?), &url.prefix))
    }

    /// A bucket of any store, such as one in memory for tests. Names start with the prefix.
    pub fn over(store: Arc<dyn Objects>, prefix: &str) -> Self {
        Self { store, names: Names::new(prefix) }
    }

    /// The number of the content in the bucket; `None` if there is none.
    pub async fn number(&self) -> Result<Option<u64>> {
        let during = |failure: ObjectFailure| failure.during("opening the bucket");
        let name = self.names.marker();
        match self.store.head(&name).await {
            Ok(NUMBER_BYTES) => {}
            Ok(_) => return Err(unreadable(&name)),
            Err(ObjectFailure::Missing) => return Ok(None),
            Err(failure) => return Err(during(failure)),
        }
        let body = self.store.get(&name, 0..NUMBER_BYTES).await.map_err(during)?;
        let body = Limited::new(body, NUMBER_BYTES as usize).collect().await;
        let bytes = body.map_err(|_| during(ObjectFailure::Broken))?.to_bytes();
        let number = std::str::from_utf8(&bytes).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
        number.map(Some).ok_or_else(|| unreadable(&name))
    }

    /// Assigns a number to the content in the bucket, unless it has one. Returns its number.
    pub async fn mark(&self, number: u64) -> Result<u64> {
        let object = Bytes::from(format!("{number:016x}"));
        match self.store.put(&self.names.marker(), vec![object], true).await {
            // It exists after a lost response, or because another front end has stored it.
            Ok(()) | Err(ObjectFailure::Exists) => {}
            Err(failure) => return Err(failure.during("marking the bucket")),
        }
        let found = self.number().await?;
        found.ok_or_else(|| {
            Error::Unavailable("the bucket does not return an object that was just stored".into())
        })
    }
}

fn unreadable(name: &str) -> Error {
    Error::Corrupt(format!(
        "the object {name} does not contain the number of a database; check the bucket and the prefix"
    ))
}
