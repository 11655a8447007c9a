//! A page of a query as received: the seam between requesting entities and decoding them.
//!
//! Queries are built on [`PageSource`]. It returns the body of a response unparsed, so that decoding goes directly from
//! the bytes to the caller's types.
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use lazuli_client::decode::decode_page;
//! use lazuli_client::{Dynamic, PageRequest, PageSource};
//!
//! let people = service.create_table("People").await?;
//! for name in ["Ann", "Bob", "Cid"] {
//!     people.insert(&Dynamic::new("Delft", name)).await?;
//! }
//! let mut request = PageRequest::new(people.table_name().clone());
//! request.top = Some(2);
//! let first = people.page(request.clone()).await?;
//! request.continuation = first.continuation;
//! let second = people.page(request).await?;
//! assert_eq!(decode_page::<Dynamic>(&first.body)?.len(), 2);
//! assert_eq!(decode_page::<Dynamic>(&second.body)?[0].row_key, "Cid");
//! # Ok(()) })
//! ```

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use lazuli_model::TableName;
use lazuli_protocol::http::percent;
use lazuli_protocol::http::query::Query;

use crate::error::{Error, Result};
use crate::transport::BoxFuture;

/// Returns one page of a query at a time. [`crate::Table`] is a source; tests use their own.
///
/// Nothing is sent before the future is polled. The source is responsible for signing, retries and errors.
///
/// ```
/// # lazuli_embedded::doc_test(async |_| {
/// use std::sync::Arc;
/// use lazuli_client::{BoxFuture, Dynamic, PageRequest, PageSource, Query, RawPage, Result, TableName, prop};
///
/// /// A source that returns the same page for every request.
/// struct Recorded(&'static str);
///
/// impl PageSource for Recorded {
///     fn page<'a>(&'a self, request: PageRequest) -> BoxFuture<'a, Result<RawPage>> {
///         assert_eq!(request.filter.as_deref(), Some("Age gt 30"));
///         Box::pin(async { Ok(RawPage::new(self.0)) })
///     }
/// }
///
/// let source = Recorded(r#"{"value": [{"PartitionKey": "Delft", "RowKey": "Ann", "Age": 41}]}"#);
/// let all = Query::<Dynamic>::new(Arc::new(source), TableName::new("People").unwrap());
/// assert_eq!(all.filter(prop("Age").gt(30)).first().await?.unwrap().row_key, "Ann");
/// # Ok(()) });
/// ```
pub trait PageSource: Send + Sync {
    /// Reads one page.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// use lazuli_client::{PageRequest, PageSource};
    ///
    /// let request = PageRequest { top: Some(3), ..PageRequest::new(people.table_name().clone()) };
    /// let page = people.page(request).await?; // a table is a source of pages
    /// assert!(page.body.starts_with(b"{\"odata.metadata\""));
    /// assert!(page.continuation.is_some());
    /// # Ok(()) });
    /// ```
    fn page<'a>(&'a self, request: PageRequest) -> BoxFuture<'a, Result<RawPage>>;
}

/// A request for one page of a query.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::{PageRequest, PageSource, decode::decode_page};
///
/// let mut request = PageRequest::new(people.table_name().clone());
/// request.filter = Some("Age gt 40".into());
/// let page = people.page(request).await?;
/// assert_eq!(decode_page::<Person>(&page.body)?, [Person::new("Delft", "Ann", 41)]);
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PageRequest {
    /// The table.
    pub table: TableName,
    /// The `$filter`, not yet escaped for the URL.
    pub filter: Option<String>,
    /// The names of `$select`; empty for all properties.
    pub select: Vec<String>,
    /// `$top`: maximum number of entities on this page.
    pub top: Option<u32>,
    /// The end of the previous page; `None` for the first page.
    pub continuation: Option<Continuation>,
    /// Request the cost of the page (`x-lazuli-explain: 1`).
    pub explain: bool,
    /// Read from the secondary endpoint, if the account has one.
    pub secondary: bool,
}

impl PageRequest {
    /// The first page of all entities of a table.
    ///
    /// ```
    /// use lazuli_client::{PageRequest, TableName};
    ///
    /// let request = PageRequest::new(TableName::new("People").unwrap());
    /// assert!(request.filter.is_none() && request.select.is_empty() && request.continuation.is_none());
    /// ```
    pub fn new(table: TableName) -> Self {
        Self {
            table,
            filter: None,
            select: Vec::new(),
            top: None,
            continuation: None,
            explain: false,
            secondary: false,
        }
    }
}

/// The response to a request for one page.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::{PageRequest, PageSource, decode::decode_page};
///
/// let mut request = PageRequest { top: Some(3), ..PageRequest::new(people.table_name().clone()) };
/// let first = people.page(request.clone()).await?;
/// request.continuation = first.continuation;
/// let last = people.page(request).await?;
/// assert_eq!(decode_page::<Person>(&last.body)?[0].name, "Dee");
/// assert!(last.continuation.is_none());
/// # Ok(()) });
/// ```
#[derive(Clone, Debug)]
pub struct RawPage {
    /// The JSON of the response at the level `odata=minimalmetadata`:
    ///
    /// ```json
    /// {"odata.metadata":"http://…/$metadata#People",
    ///  "value":[{"odata.etag":"W/\"datetime'…'\"","PartitionKey":"p","RowKey":"r","Timestamp":"2022-…Z",
    ///            "Big@odata.type":"Edm.Int64","Big":"5","Age":30}, …]}
    /// ```
    ///
    /// Members are in any order, annotations before or after their property, and other services add members
    /// whose names start with `odata.`. A selected name that an entity does not have is `null`.
    pub body: Bytes,
    /// The start of the next page; `None` after the last page. A page may be empty and still have a successor.
    pub continuation: Option<Continuation>,
    /// The cost of the page, if requested and reported by the service.
    pub explain: Option<Explain>,
    /// `x-ms-request-id`.
    pub request_id: Option<String>,
}

impl RawPage {
    /// The only page, or the last one.
    ///
    /// ```
    /// use lazuli_client::RawPage;
    ///
    /// let page = RawPage::new(r#"{"value": []}"#);
    /// assert!(page.continuation.is_none());
    /// ```
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), continuation: None, explain: None, request_id: None }
    }
}

/// The position at which a query continues. It is opaque; its string form can be stored and used after a
/// restart.
///
/// ```
/// use lazuli_client::Continuation;
///
/// let stored = Continuation { partition: "1!4!YQ--".into(), row: Some("1!4!Yg--".into()) }.to_string();
/// let read: Continuation = stored.parse()?;
/// assert_eq!(read.row.as_deref(), Some("1!4!Yg--"));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Continuation {
    /// `NextPartitionKey`.
    pub partition: String,
    /// `NextRowKey`.
    pub row: Option<String>,
}

const NEXT_PARTITION_KEY: &str = "NextPartitionKey";
const NEXT_ROW_KEY: &str = "NextRowKey";

/// The parameters of the next request: `NextPartitionKey=…&NextRowKey=…`.
impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |text: &str| {
            let mut out = Vec::new();
            percent::encode_into(&mut out, text);
            String::from_utf8(out).unwrap_or_default()
        };
        write!(f, "{NEXT_PARTITION_KEY}={}", escaped(&self.partition))?;
        match &self.row {
            Some(row) => write!(f, "&{NEXT_ROW_KEY}={}", escaped(row)),
            None => Ok(()),
        }
    }
}

impl FromStr for Continuation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let query = Query(text);
        let partition = query.get(NEXT_PARTITION_KEY);
        let partition = partition.ok_or_else(|| Error::input("not a continuation"))?;
        Ok(Self {
            partition: partition.into_owned(),
            row: query.get(NEXT_ROW_KEY).map(|row| row.into_owned()),
        })
    }
}

/// The cost of a page, reported by a Lazuli server on request.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::{PageRequest, PageSource};
///
/// let mut request = PageRequest::new(people.table_name().clone());
/// request.filter = Some("PartitionKey eq 'Delft' and Age gt 30".into());
/// request.explain = true;
/// let explain = people.page(request).await?.explain.unwrap();
/// assert_eq!((explain.rows_read, explain.rows_returned), (2, 1));
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explain {
    /// Kind of read: a point, a range, a partition, the table.
    pub plan: String,
    /// The key ranges that were read.
    pub ranges: String,
    /// Number of entities examined.
    pub rows_read: u64,
    /// Number of entities returned.
    pub rows_returned: u64,
    /// Microseconds for planning.
    pub plan_us: u64,
    /// Microseconds for reading.
    pub scan_us: u64,
    /// Microseconds for encoding the response.
    pub encode_us: u64,
}

impl Explain {
    /// From the headers of a response; `None` if they have no explanation.
    pub(crate) fn from_headers(headers: &http::HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let number = |name: &str| text(name).and_then(|value| value.parse().ok()).unwrap_or_default();
        let plan = text("x-lazuli-plan")?.to_owned();
        Some(Self {
            plan,
            ranges: text("x-lazuli-ranges").unwrap_or_default().to_owned(),
            rows_read: number("x-lazuli-rows-read"),
            rows_returned: number("x-lazuli-rows-returned"),
            plan_us: number("x-lazuli-us-plan"),
            scan_us: number("x-lazuli-us-scan"),
            encode_us: number("x-lazuli-us-encode"),
        })
    }
}
