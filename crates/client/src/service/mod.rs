//! An account's table service: the entry point of a program.

mod builder;
mod link;
mod tables;

pub use builder::Builder;
pub use tables::{TablesOptions, TablesPage};

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use http::Method;
use lazuli_model::properties::PropertiesUpdate;
use lazuli_model::table::name::NameError;
use lazuli_model::{ErrorCode, Failure, ServiceProperties, TableName};
use lazuli_protocol::xml::send;

use crate::account::{Account, Endpoint};
use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::request::TableRequest;
use crate::table::Table;

pub use lazuli_protocol::xml::send::Stats;

/// An account's table service. Cheap to clone: clones share their connections.
///
/// ```no_run
/// # async fn example() -> lazuli_client::Result<()> {
/// use lazuli_client::TableService;
///
/// let service = TableService::from_connection_string("UseDevelopmentStorage=true")?;
/// let people = service.table("People")?;
/// people.create_if_missing().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TableService {
    pub(crate) pipeline: Arc<Pipeline>,
}

impl TableService {
    /// The service of a connection string, over HTTP.
    ///
    /// ```
    /// # use lazuli_client::TableService;
    /// let text = "DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=c2VjcmV0;EndpointSuffix=corp.example";
    /// let service = TableService::from_connection_string(text)?;
    /// assert_eq!(service.endpoint().as_str(), "http://shop.table.corp.example");
    /// // Debug output does not show the key.
    /// assert_eq!(format!("{service:?}"), r#"TableService("http://shop.table.corp.example")"#);
    /// // Mistakes are reported at once; nothing was sent.
    /// assert!(TableService::from_connection_string("AccountName=shop;AcountKey=c2VjcmV0").is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Self::new(text.parse()?)
    }

    /// The service of an account, over HTTP.
    ///
    /// ```
    /// # use lazuli_client::{Account, Credential, TableService};
    /// let shop = Account::new("shop", "http://127.0.0.1:10002/shop".parse()?, Credential::shared_key("c2VjcmV0")?);
    /// let service = TableService::new(shop)?;
    /// assert_eq!(service.account().name(), Some("shop"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn new(account: Account) -> Result<Self> {
        Self::builder(account).build()
    }

    /// A builder for the service of an account, with settings.
    ///
    /// ```
    /// # use lazuli_client::{Account, ReadFrom, RetryOptions, TableService};
    /// let service = TableService::builder(Account::development())
    ///     .retry(RetryOptions::none())
    ///     .read_from(ReadFrom::PrimaryThenSecondary)
    ///     .build()?;
    /// assert_eq!(service.endpoint().authority(), "127.0.0.1:10002");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn builder(account: Account) -> Builder {
        Builder::new(account)
    }

    /// The same service for another account or credential, over the same transport and with the same settings.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Credential, DateTime, Dynamic, SasOptions};
    /// let people = service.create_table("People").await?;
    /// let expiry = DateTime::parse("2100-01-01T00:00:00Z");
    /// let terms = SasOptions { expiry, permissions: "r".into(), ..SasOptions::default() };
    /// let token = service.account().table_sas("People", &terms)?;
    ///
    /// // What a guest with only the token can do.
    /// let guest = service.with_account(service.account().clone().with_credential(Credential::sas(&token)?));
    /// assert_eq!(guest.table("People")?.try_get::<Dynamic>("a", "1").await?, None);
    /// assert_eq!(guest.delete_table("People").await.unwrap_err().status(), Some(403));
    /// # Ok(()) })
    /// ```
    pub fn with_account(&self, account: Account) -> Self {
        let Pipeline { transport, environment, retry, read_from, hooks, .. } = &*self.pipeline;
        let pipeline = Pipeline {
            account,
            transport: transport.clone(),
            environment: environment.clone(),
            retry: *retry,
            read_from: *read_from,
            hooks: hooks.clone(),
        };
        Self { pipeline: Arc::new(pipeline) }
    }

    /// The account.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{DateTime, SasOptions};
    /// // The account creates signatures for others.
    /// let expiry = DateTime::parse("2100-01-01T00:00:00Z");
    /// let terms = SasOptions { expiry, permissions: "r".into(), ..SasOptions::default() };
    /// let token = service.account().table_sas("People", &terms)?;
    /// assert!(token.contains("tn=People"));
    /// # Ok(()) })
    /// ```
    pub fn account(&self) -> &Account {
        &self.pipeline.account
    }

    /// Its endpoint.
    ///
    /// ```
    /// # use lazuli_client::TableService;
    /// let service = TableService::from_connection_string("UseDevelopmentStorage=true")?;
    /// assert_eq!(service.endpoint().to_string(), "http://127.0.0.1:10002/devstoreaccount1");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn endpoint(&self) -> &Endpoint {
        self.pipeline.account.endpoint()
    }

    /// A handle for a table, which need not exist. Nothing is sent; the name is checked.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let people = service.table("People")?;
    /// assert!(!people.exists().await?);
    /// assert!(service.table("no table").is_err());
    /// # Ok(()) })
    /// ```
    pub fn table(&self, name: &str) -> Result<Table> {
        Ok(Table::new(self.clone(), table_name(name)?))
    }

    /// The table that a type specifies with `#[table(name = "…")]`. Nothing is sent. It is an error if the type
    /// specifies none.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// use lazuli_client::{Dynamic, Entity};
    ///
    /// #[derive(Entity)]
    /// #[table(name = "Products")]
    /// struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String }
    ///
    /// let products = service.table_of::<Guitar>()?;
    /// assert_eq!(products.name(), "Products");
    /// assert!(service.table_of::<Dynamic>().is_err());
    /// # Ok(()) })
    /// ```
    pub fn table_of<T: Entity>(&self) -> Result<Table> {
        let unnamed =
            || Error::input(format!("{} has no table name; add #[table(name = \"…\")]", type_name::<T>()));
        self.table(T::TABLE.ok_or_else(unnamed)?)
    }

    /// Creates a table.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let people = service.create_table("People").await?;
    /// people.insert(&Dynamic::new("a", "1")).await?;
    /// assert!(service.create_table("People").await.is_err_and(|error| error.is_conflict()));
    /// # Ok(()) })
    /// ```
    pub async fn create_table(&self, name: &str) -> Result<Table> {
        let table = self.table(name)?;
        table.create().await?;
        Ok(table)
    }

    /// Deletes a table and its contents.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let people = service.create_table("People").await?;
    /// service.delete_table("People").await?;
    /// assert!(!people.exists().await?);
    /// # Ok(()) })
    /// ```
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        self.table(name)?.delete().await
    }

    /// The properties of the service: logging, metrics and CORS rules.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let properties = service.properties().await?;
    /// assert!(properties.cors.is_empty());
    /// assert_eq!(properties.hour_metrics.include_apis, None);
    /// # Ok(()) })
    /// ```
    pub async fn properties(&self) -> Result<ServiceProperties> {
        let call = self.of_service("GetTableServiceProperties", Method::GET, "properties");
        let response = self.pipeline.send(&call).await?;
        send::read_properties(&response.body).map_err(unreadable)
    }

    /// Changes properties of the service; those that are `None` stay unchanged.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{CorsRule, PropertiesUpdate};
    /// let pages = CorsRule {
    ///     origins: vec!["https://shop.example".into()],
    ///     methods: vec!["GET".into()],
    ///     max_age_seconds: 600,
    ///     ..CorsRule::default()
    /// };
    /// let update = PropertiesUpdate { cors: Some(vec![pages.clone()]), ..PropertiesUpdate::default() };
    /// service.set_properties(&update).await?;
    /// assert_eq!(service.properties().await?.cors, [pages]);
    /// # Ok(()) })
    /// ```
    pub async fn set_properties(&self, update: &PropertiesUpdate) -> Result<()> {
        let call = self
            .of_service("SetTableServiceProperties", Method::PUT, "properties")
            .body("application/xml", send::write_properties(update));
        self.pipeline.send(&call).await?;
        Ok(())
    }

    /// The replication state of the secondary, to which the request is sent.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let stats = service.stats().await?;
    /// assert_eq!(stats.status, "live");
    /// assert!(stats.last_sync.is_some());
    /// # Ok(()) })
    /// ```
    pub async fn stats(&self) -> Result<Stats> {
        let call = self.of_service("GetTableServiceStats", Method::GET, "stats").at_secondary(true);
        let response = self.pipeline.send(&call).await?;
        send::read_stats(&response.body).map_err(unreadable)
    }

    fn of_service(&self, operation: &'static str, method: Method, comp: &str) -> TableRequest {
        TableRequest::xml(operation, method, "").query("restype", "service").query("comp", comp)
    }
}

impl fmt::Debug for TableService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TableService").field(&self.endpoint().as_str()).finish()
    }
}

/// Error for an XML document of the service that cannot be parsed. The request was applied.
pub(crate) fn unreadable(failure: Failure) -> Error {
    Error::unreadable(format!("the response cannot be parsed: {}", failure.message))
}

pub(crate) fn table_name(name: &str) -> Result<TableName> {
    TableName::new(name).map_err(|error| {
        let code = match error {
            NameError::Length => ErrorCode::OutOfRangeInput,
            NameError::Characters => ErrorCode::InvalidResourceName,
        };
        let rule = "table names have 3 to 63 ASCII letters and digits and start with a letter";
        Failure::new(code, format!("invalid table name '{name}': {rule}")).into()
    })
}
