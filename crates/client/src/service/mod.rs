//! An account's table service: the first handle that a program makes.

mod builder;
mod tables;

pub use builder::Builder;
pub use tables::{TablesOptions, TablesPage};

use std::sync::Arc;

use http::Method;
use lazuli_model::name::NameError;
use lazuli_model::service::PropertiesUpdate;
use lazuli_model::{ErrorCode, Failure, ServiceProperties, TableName};
use lazuli_protocol::xml::send;

use crate::account::{Account, Endpoint};
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::request::Call;
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
    /// The service that a connection string describes, over HTTP.
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Self::new(text.parse()?)
    }

    /// The service of an account, over HTTP.
    pub fn new(account: Account) -> Result<Self> {
        Self::builder(account).build()
    }

    /// The service of an account, with settings.
    pub fn builder(account: Account) -> Builder {
        Builder::new(account)
    }

    /// The same service for another account or credential, over the same transport and with the same settings.
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
    pub fn account(&self) -> &Account {
        &self.pipeline.account
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        self.pipeline.account.endpoint()
    }

    /// A table, which need not exist. Nothing is sent; the name is checked.
    pub fn table(&self, name: &str) -> Result<Table> {
        Ok(Table::new(self.clone(), table_name(name)?))
    }

    /// Creates a table.
    pub async fn create_table(&self, name: &str) -> Result<Table> {
        let table = self.table(name)?;
        table.create().await?;
        Ok(table)
    }

    /// Deletes a table with all that is in it.
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        self.table(name)?.delete().await
    }

    /// The properties of the service: what it logs and measures, and its CORS rules.
    pub async fn properties(&self) -> Result<ServiceProperties> {
        let call = self.of_service("GetTableServiceProperties", Method::GET, "properties");
        let answer = self.pipeline.send(&call).await?;
        send::read_properties(&answer.body).map_err(unreadable)
    }

    /// Changes properties of the service; what is `None` stays as it is.
    pub async fn set_properties(&self, update: &PropertiesUpdate) -> Result<()> {
        let call = self
            .of_service("SetTableServiceProperties", Method::PUT, "properties")
            .body("application/xml", send::write_properties(update));
        self.pipeline.send(&call).await?;
        Ok(())
    }

    /// How far the secondary is behind; asks the secondary.
    pub async fn stats(&self) -> Result<Stats> {
        let call = self.of_service("GetTableServiceStats", Method::GET, "stats").at_secondary(true);
        let answer = self.pipeline.send(&call).await?;
        send::read_stats(&answer.body).map_err(unreadable)
    }

    fn of_service(&self, operation: &'static str, method: Method, comp: &str) -> Call {
        Call::xml(operation, method, "").query("restype", "service").query("comp", comp)
    }
}

/// A document of the service that makes no sense: what was asked for has been done.
pub(crate) fn unreadable(failure: Failure) -> Error {
    Error::answer(format!("the answer cannot be read: {}", failure.message))
}

pub(crate) fn table_name(name: &str) -> Result<TableName> {
    TableName::new(name).map_err(|error| {
        let code = match error {
            NameError::Length => ErrorCode::OutOfRangeInput,
            NameError::Characters => ErrorCode::InvalidResourceName,
        };
        let rule = "a table has a name of 3 to 63 letters and digits, with a letter in front";
        Failure::new(code, format!("'{name}' is not the name of a table: {rule}")).into()
    })
}
