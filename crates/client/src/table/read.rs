//! Reads entities of a table: one by its keys, or a page of a query.

use http::Method;
use lazuli_model::ErrorCode;

use super::Table;
use crate::decode::decode_entity;
use crate::entity::Entity;
use crate::error::Result;
use crate::page::{Continuation, Explain, PageRequest, PageSource, RawPage};
use crate::request::{MINIMAL_METADATA, TableRequest};
use crate::transport::BoxFuture;
use crate::versioned::Versioned;
use crate::write::{entity_path, key};

/// Options for reading an entity.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Dynamic, GetOptions};
///
/// let table = service.create_table("Photos").await?;
/// table.insert(&Dynamic::new("p", "1").with("Title", "Sea")?.with("Size", 9)?).await?;
/// let options = GetOptions { select: vec!["Title".into()], ..GetOptions::default() };
/// let found = table.get_with::<Dynamic>("p", "1", &options).await?;
/// assert_eq!(found.value.get::<i32>("Size")?, None);
/// # Ok(()) })
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// The properties to read; empty for all.
    pub select: Vec<String>,
    /// Read from the secondary.
    pub secondary: bool,
}

impl Table {
    /// Reads an entity. It is an error if it does not exist.
    ///
    /// Keys are strings; [`crate::Field::key`] converts a key that is a number, a time or a GUID.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// use lazuli_client::Entity;
    ///
    /// #[derive(Entity)]
    /// struct Order {
    ///     #[table(partition_key)] year: String,
    ///     #[table(row_key)] number: String,
    ///     total: i32,
    /// }
    ///
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Order { year: "2024".into(), number: "1".into(), total: 10 }).await?;
    /// let order = orders.get::<Order>("2024", "1").await?;
    /// assert_eq!(order.value.total, 10);
    /// assert!(orders.get::<Order>("2024", "2").await.is_err_and(|error| error.is_not_found()));
    /// # Ok(()) })
    /// ```
    pub async fn get<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Versioned<T>> {
        self.get_with(partition_key, row_key, &GetOptions::default()).await
    }

    /// Reads an entity, if it exists. A missing table is an error.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, ErrorCode};
    /// let orders = service.create_table("Orders").await?;
    /// assert_eq!(orders.try_get::<Dynamic>("2024", "1").await?, None);
    /// orders.delete().await?;
    /// let error = orders.try_get::<Dynamic>("2024", "1").await.unwrap_err();
    /// assert_eq!(error.code(), Some(ErrorCode::TableNotFound));
    /// # Ok(()) })
    /// ```
    pub async fn try_get<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Option<Versioned<T>>> {
        match self.get(partition_key, row_key).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.code() == Some(ErrorCode::ResourceNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads an entity, with options.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, GetOptions};
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1").with("Total", 10)?).await?;
    /// // From the secondary, which may be behind.
    /// let options = GetOptions { secondary: true, ..GetOptions::default() };
    /// let order = orders.get_with::<Dynamic>("2024", "1", &options).await?;
    /// assert_eq!(order.value.get("Total")?, Some(10));
    /// # Ok(()) })
    /// ```
    pub async fn get_with<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
        options: &GetOptions,
    ) -> Result<Versioned<T>> {
        let key = key(partition_key.into(), row_key.into())?;
        let call = TableRequest::new("QueryEntity", Method::GET, entity_path(&self.name, &key))
            .query_some("$select", select(&options.select))
            .header("accept", MINIMAL_METADATA)
            .at_secondary(options.secondary);
        decode_entity(&self.send(&call).await?.body)
    }

    /// Reads one entity with a batch of one query, for keys that are too long for a URL (CL-12, FW-06).
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let pages = service.create_table("Pages").await?;
    /// // In a URL this key would have more than 9000 characters.
    /// let long = "д".repeat(512);
    /// pages.insert(&Dynamic::new(&long, &long).with("Visits", 3)?).await?;
    /// let page = pages.get_in_batch::<Dynamic>(&long, &long).await?;
    /// assert_eq!(page.value.get("Visits")?, Some(3));
    /// # Ok(()) })
    /// ```
    pub async fn get_in_batch<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Versioned<T>> {
        let key = key(partition_key.into(), row_key.into())?;
        crate::batch::query(self, &key).await
    }
}

fn select(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| names.join(","))
}

/// The request for a page.
pub(crate) fn page_call(request: PageRequest) -> TableRequest {
    let Continuation { partition, row } = match request.continuation {
        Some(place) => place,
        None => Continuation { partition: String::new(), row: None },
    };
    TableRequest::new("QueryEntities", Method::GET, format!("{}()", request.table))
        .query_some("$filter", request.filter)
        .query_some("$select", select(&request.select))
        .query_some("$top", request.top.map(|top| top.to_string()))
        .query_some("NextPartitionKey", Some(partition).filter(|text| !text.is_empty()))
        .query_some("NextRowKey", row)
        .header("accept", MINIMAL_METADATA)
        .header_some("x-lazuli-explain", request.explain.then_some("1"))
        .at_secondary(request.secondary)
}

impl PageSource for Table {
    fn page<'a>(&'a self, request: PageRequest) -> BoxFuture<'a, Result<RawPage>> {
        Box::pin(async move {
            let response = self.send(&page_call(request)).await?;
            let partition = response.text("x-ms-continuation-nextpartitionkey")?;
            let row = response.text("x-ms-continuation-nextrowkey")?;
            let continuation = (partition.is_some() || row.is_some())
                .then(|| Continuation { partition: partition.unwrap_or_default(), row });
            Ok(RawPage {
                continuation,
                explain: Explain::from_headers(&response.headers),
                request_id: response.request_id(),
                body: response.body,
            })
        })
    }
}
