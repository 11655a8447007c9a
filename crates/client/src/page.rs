//! A page of a query as it comes off the wire: the seam between asking for entities and making sense of them.
//!
//! [`PageSource`] is what queries are built on. It hands out the body of an answer as it came, so that decoding can walk
//! the bytes straight into the caller's types.
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
use lazuli_protocol::address::Query;
use lazuli_protocol::percent;

use crate::error::{Error, Result};
use crate::transport::BoxFuture;

/// Answers one page of a query at a time. [`crate::Table`] is one; tests bring their own.
///
/// Nothing is sent before the future is polled. Signing, retries and errors are the source's work.
///
/// ```
/// # lazuli_embedded::doc_test(async |_| {
/// use std::sync::Arc;
/// use lazuli_client::{BoxFuture, Dynamic, PageRequest, PageSource, Query, RawPage, Result, TableName, prop};
///
/// /// A service that gives the same answer to everyone.
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
    /// let page = people.page(request).await?; // a table is a source of its own pages
    /// assert!(page.body.starts_with(b"{\"odata.metadata\""));
    /// assert!(page.continuation.is_some());
    /// # Ok(()) });
    /// ```
    fn page<'a>(&'a self, request: PageRequest) -> BoxFuture<'a, Result<RawPage>>;
}

/// One page of a query, asked for.
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
    /// The `$filter`, as text, not yet escaped for the URL.
    pub filter: Option<String>,
    /// The names of `$select`; empty for all properties.
    pub select: Vec<String>,
    /// `$top`: at most so many entities on this page.
    pub top: Option<u32>,
    /// Where the page before ended; `None` for the first page.
    pub continuation: Option<Continuation>,
    /// Ask what the page cost (`x-lazuli-explain: 1`).
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

/// One page of a query, answered.
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
    /// The JSON of the answer at the level `odata=minimalmetadata`:
    ///
    /// ```json
    /// {"odata.metadata":"http://…/$metadata#People",
    ///  "value":[{"odata.etag":"W/\"datetime'…'\"","PartitionKey":"p","RowKey":"r","Timestamp":"2022-…Z",
    ///            "Big@odata.type":"Edm.Int64","Big":"5","Age":30}, …]}
    /// ```
    ///
    /// Members come in any order, annotations before or after their property, and other services add members of their
    /// own whose names start with `odata.`. A name that was selected and that an entity does not have is `null`.
    pub body: Bytes,
    /// Where the next page starts; `None` behind the last page. A page may be empty and still have a next one.
    pub continuation: Option<Continuation>,
    /// What the page cost, if that was asked for and if the service tells.
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

/// Where a query goes on. Opaque; its text form can be stored and used after a restart.
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

/// The parameters of the query that goes on: `NextPartitionKey=…&NextRowKey=…`.
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
        let partition = partition.ok_or_else(|| Error::input("this is not the text of a continuation"))?;
        Ok(Self {
            partition: partition.into_owned(),
            row: query.get(NEXT_ROW_KEY).map(|row| row.into_owned()),
        })
    }
}

/// What a page cost, told by a Lazuli server that was asked to explain.
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
    /// What kind of reading it was: a point, a range, a partition, the table.
    pub plan: String,
    /// The key ranges that were read.
    pub ranges: String,
    /// Entities that were looked at.
    pub rows_read: u64,
    /// Entities that were returned.
    pub rows_returned: u64,
    /// Microseconds for planning.
    pub plan_us: u64,
    /// Microseconds for reading.
    pub scan_us: u64,
    /// Microseconds for writing the answer.
    pub encode_us: u64,
}

impl Explain {
    /// From the header fields of an answer; `None` if it does not explain itself.
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
