//! A table: operations on it and on its entities.

mod modify;
mod read;
mod write;

pub use modify::ModifyOptions;
pub use read::GetOptions;
pub(crate) use read::page_call;

use http::Method;
use lazuli_model::{ErrorCode, SignedIdentifier, TableName};
use lazuli_protocol::table::json;
use lazuli_protocol::table::url;
use lazuli_protocol::xml;

use crate::error::{Applied, Error, Result};
use crate::partition::Partition;
use crate::request::{NO_METADATA, TableRequest, path};
use crate::service::{TableService, unreadable};
use crate::write::key;

/// A handle for a table, which need not exist. Cheap to clone.
///
/// Most operations have a plain form, and some a second one, `…_with`, that takes options.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::Dynamic;
///
/// let table = service.create_table("Orders").await?;
/// let first = table.insert(&Dynamic::new("2024", "1").with("Total", 10)?).await?;
/// let second = table.update_if(&Dynamic::new("2024", "1").with("Total", 12)?, &first).await?;
///
/// // A client that still has the first version gets an error, and nothing is changed.
/// let late = table.delete_entity_if("2024", "1", &first).await.unwrap_err();
/// assert!(late.is_precondition_failed());
/// assert_eq!(table.get::<Dynamic>("2024", "1").await?.etag, second);
/// # Ok(()) })
/// ```
///
/// Only entities can be written (CL-14):
///
/// ```compile_fail
/// # async fn example(table: lazuli_client::Table) {
/// table.insert(&"text").await;
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    service: TableService,
    name: TableName,
}

impl Table {
    pub(crate) fn new(service: TableService, name: TableName) -> Self {
        Self { service, name }
    }

    /// Its name.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// // Creating a handle sends nothing: the table need not exist.
    /// let orders = service.table("Orders")?;
    /// assert_eq!(orders.name(), "Orders");
    /// # Ok(()) })
    /// ```
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Its checked name.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// // Table names that differ only in case refer to the same table.
    /// let (one, other) = (service.table("Orders")?, service.table("orders")?);
    /// assert_ne!(one.name(), other.name());
    /// assert!(one.table_name().is_same(other.table_name()));
    /// # Ok(()) })
    /// ```
    pub fn table_name(&self) -> &TableName {
        &self.name
    }

    /// The service that it belongs to.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let orders = service.create_table("Orders").await?;
    /// // Code that received only the table can access its siblings.
    /// orders.service().create_table("Archive").await?;
    /// assert_eq!(service.table_names().await?, ["Archive", "Orders"]);
    /// # Ok(()) })
    /// ```
    pub fn service(&self) -> &TableService {
        &self.service
    }

    /// One partition of it, the scope of transactions.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1")).await?;
    /// let of_2024 = orders.partition("2024")?;
    /// assert_eq!(of_2024.get::<Dynamic>("1").await?.value.partition_key, "2024");
    /// // The key is checked immediately.
    /// assert!(orders.partition("2024/25").is_err());
    /// # Ok(()) })
    /// ```
    pub fn partition(&self, partition_key: impl Into<String>) -> Result<Partition> {
        let key = key(partition_key.into(), "")?;
        Ok(Partition::new(self.clone(), key.partition))
    }

    async fn send(&self, call: &TableRequest) -> Result<crate::pipeline::Response> {
        self.service.pipeline.send(call).await
    }

    /// Creates it. If a table of that name was just deleted, the service may ask to wait, and the client retries.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::ErrorCode;
    /// let orders = service.table("Orders")?;
    /// orders.create().await?;
    /// let again = orders.create().await.unwrap_err();
    /// assert_eq!(again.code(), Some(ErrorCode::TableAlreadyExists));
    /// # Ok(()) })
    /// ```
    pub async fn create(&self) -> Result<()> {
        self.create_after(false).await
    }

    /// `uncertain`: an earlier request may have been applied.
    pub(crate) async fn create_after(&self, uncertain: bool) -> Result<()> {
        let call = TableRequest::new("CreateTable", Method::POST, "Tables")
            .header("accept", NO_METADATA)
            .header("prefer", "return-no-content")
            .body("application/json", json::send::table(self.name()))
            .after(uncertain);
        match self.send(&call).await {
            Err(error) if repeated(&error, ErrorCode::TableAlreadyExists) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Creates it unless it exists. Returns whether it was created.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let orders = service.table("Orders")?;
    /// assert!(orders.create_if_missing().await?);
    /// assert!(!orders.create_if_missing().await?);
    /// # Ok(()) })
    /// ```
    pub async fn create_if_missing(&self) -> Result<bool> {
        match self.create().await {
            Ok(()) => Ok(true),
            Err(error) if error.code() == Some(ErrorCode::TableAlreadyExists) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes it and its contents.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1")).await?;
    /// orders.delete().await?;
    /// assert!(!orders.exists().await?);
    /// assert!(orders.delete().await.unwrap_err().is_not_found());
    /// # Ok(()) })
    /// ```
    pub async fn delete(&self) -> Result<()> {
        self.delete_after(false).await
    }

    /// `uncertain`: an earlier request may have been applied.
    pub(crate) async fn delete_after(&self, uncertain: bool) -> Result<()> {
        let target = path(|out| url::table_path(out, self.name()));
        let call = TableRequest::new("DeleteTable", Method::DELETE, target)
            .header("accept", NO_METADATA)
            .after(uncertain);
        match self.send(&call).await {
            Err(error) if error.is_not_found() && error.applied() == Applied::Unknown => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Deletes it if it exists. Returns whether it was deleted.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let orders = service.create_table("Orders").await?;
    /// assert!(orders.delete_if_exists().await?);
    /// assert!(!orders.delete_if_exists().await?);
    /// # Ok(()) })
    /// ```
    pub async fn delete_if_exists(&self) -> Result<bool> {
        match self.delete().await {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Does it exist?
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let orders = service.table("Orders")?;
    /// assert!(!orders.exists().await?);
    /// orders.create().await?;
    /// assert!(orders.exists().await?);
    /// # Ok(()) })
    /// ```
    pub async fn exists(&self) -> Result<bool> {
        let target = path(|out| url::table_path(out, self.name()));
        let call = TableRequest::new("QueryTable", Method::GET, target).header("accept", NO_METADATA);
        match self.send(&call).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Its stored access policies.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::SignedIdentifier;
    /// let orders = service.create_table("Orders").await?;
    /// assert!(orders.policies().await?.is_empty());
    /// orders.set_policies(&[SignedIdentifier { id: "readers".into(), policy: None }]).await?;
    /// assert_eq!(orders.policies().await?[0].id, "readers");
    /// # Ok(()) })
    /// ```
    pub async fn policies(&self) -> Result<Vec<SignedIdentifier>> {
        let call = TableRequest::xml("GetTableAcl", Method::GET, self.name()).query("comp", "acl");
        let response = self.send(&call).await?;
        xml::send::read_acl(&response.body).map_err(unreadable)
    }

    /// Replaces its stored access policies.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{AccessPolicy, Credential, SasOptions, SignedIdentifier};
    /// let orders = service.create_table("Orders").await?;
    /// let until = lazuli_client::DateTime::parse("2100-01-01T00:00:00Z");
    /// let policy = AccessPolicy { expiry: until, permissions: Some("r".into()), ..AccessPolicy::default() };
    /// orders.set_policies(&[SignedIdentifier { id: "readers".into(), policy: Some(policy) }]).await?;
    ///
    /// // A token that only names the policy is valid until the policy is removed.
    /// let terms = SasOptions { policy: Some("readers".into()), ..SasOptions::default() };
    /// let token = Credential::sas(&service.account().table_sas("Orders", &terms)?)?;
    /// let guest = service.with_account(service.account().clone().with_credential(token));
    /// let reader = guest.table("Orders")?;
    /// assert_eq!(reader.try_get::<lazuli_client::Dynamic>("2024", "1").await?, None);
    /// orders.set_policies(&[]).await?;
    /// assert_eq!(reader.try_get::<lazuli_client::Dynamic>("2024", "1").await.unwrap_err().status(), Some(403));
    /// # Ok(()) })
    /// ```
    pub async fn set_policies(&self, policies: &[SignedIdentifier]) -> Result<()> {
        let call = TableRequest::xml("SetTableAcl", Method::PUT, self.name())
            .query("comp", "acl")
            .body("application/xml", xml::send::write_acl(policies));
        self.send(&call).await.map(|_| ())
    }
}

/// Was the request rejected because an earlier attempt, whose response was lost, may have been applied?
fn repeated(error: &Error, code: ErrorCode) -> bool {
    error.applied() == Applied::Unknown && error.code() == Some(code)
}
