//! An account's table service: the first handle that a program makes.

use std::sync::Arc;

use http::Method;
use lazuli_filter::print;
use lazuli_model::filter::{Comparison, Expr, Operator};
use lazuli_model::name::NameError;
use lazuli_model::service::PropertiesUpdate;
use lazuli_model::{ErrorCode, Failure, ServiceProperties, TableName, Value};
use lazuli_protocol::answer;
use lazuli_protocol::xml::send;

use crate::account::{Account, Endpoint};
use crate::environment::{Environment, System};
use crate::error::{Error, Result};
use crate::http::{Http, HttpOptions};
use crate::pipeline::{Pipeline, ReadFrom, RequestHook};
use crate::request::{Call, NO_METADATA};
use crate::retry::RetryOptions;
use crate::table::Table;
use crate::transport::Transport;

pub use lazuli_protocol::xml::send::Stats;

const NEXT_TABLE_NAME: &str = "x-ms-continuation-nexttablename";

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
        Builder {
            account,
            http: HttpOptions::default(),
            transport: None,
            environment: None,
            retry: RetryOptions::default(),
            read_from: ReadFrom::default(),
            hooks: Vec::new(),
        }
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

    /// The names of all tables, in order.
    pub async fn table_names(&self) -> Result<Vec<String>> {
        self.collect_table_names(TablesOptions::default()).await
    }

    /// The names of the tables that start with a prefix, in order.
    pub async fn table_names_with_prefix(&self, prefix: &str) -> Result<Vec<String>> {
        self.collect_table_names(TablesOptions { prefix: Some(prefix.to_owned()), ..Default::default() })
            .await
    }

    async fn collect_table_names(&self, mut options: TablesOptions) -> Result<Vec<String>> {
        let mut names = Vec::new();
        loop {
            let page = self.tables_page(&options).await?;
            names.extend(page.names);
            match page.continuation {
                Some(next) => options.continuation = Some(next),
                None => return Ok(names),
            }
        }
    }

    /// One page of the names of tables.
    pub async fn tables_page(&self, options: &TablesOptions) -> Result<TablesPage> {
        let call = Call::new("QueryTables", Method::GET, "Tables")
            .query_some("$filter", options.filter())
            .query_some("$top", options.top.map(|top| top.to_string()))
            .query_some("NextTableName", options.continuation.as_deref())
            .header("accept", NO_METADATA)
            .at_secondary(options.secondary);
        let answer = self.pipeline.send(&call).await?;
        let names = answer::table_names(&answer.body)
            .ok_or_else(|| Error::answer("the answer is not a list of tables"))?;
        Ok(TablesPage { names, continuation: answer.get(NEXT_TABLE_NAME).map(str::to_owned) })
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

/// Which tables to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablesOptions {
    /// Only those whose names start so.
    pub prefix: Option<String>,
    /// At most so many on the page.
    pub top: Option<u32>,
    /// Where the page before ended.
    pub continuation: Option<String>,
    /// Read from the secondary.
    pub secondary: bool,
}

impl TablesOptions {
    fn filter(&self) -> Option<String> {
        let prefix = self.prefix.as_deref().filter(|prefix| !prefix.is_empty())?;
        let compare = |operator, text: String| {
            let literal = Value::String(text);
            Expr::Compare(Comparison { property: "TableName".into(), operator, literal })
        };
        let mut range = vec![compare(Operator::Ge, prefix.to_owned())];
        // Behind every name with the prefix: names are letters and digits, and `{` comes after them all.
        range.push(compare(Operator::Lt, format!("{prefix}{{")));
        Some(print(&Expr::And(range)))
    }
}

/// A page of the names of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablesPage {
    /// The names, in order.
    pub names: Vec<String>,
    /// Where the next page starts; `None` behind the last one.
    pub continuation: Option<String>,
}

/// Settings of a service.
#[must_use]
pub struct Builder {
    account: Account,
    http: HttpOptions,
    transport: Option<Arc<dyn Transport>>,
    environment: Option<Arc<dyn Environment>>,
    retry: RetryOptions,
    read_from: ReadFrom,
    hooks: Vec<RequestHook>,
}

impl Builder {
    /// How connections are made.
    pub fn http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// Another transport than HTTP.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Another time and chance than the machine's.
    pub fn environment(mut self, environment: impl Environment) -> Self {
        self.environment = Some(Arc::new(environment));
        self
    }

    /// How operations are retried.
    pub fn retry(mut self, options: RetryOptions) -> Self {
        self.retry = options;
        self
    }

    /// Which endpoint reads go to.
    pub fn read_from(mut self, read_from: ReadFrom) -> Self {
        self.read_from = read_from;
        self
    }

    /// Sees every request before it is signed, and may add header fields (CL-13).
    pub fn on_request(
        mut self,
        hook: impl Fn(&mut http::Request<bytes::Bytes>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// The service.
    pub fn build(self) -> Result<TableService> {
        let Self { account, http, transport, environment, retry, read_from, hooks } = self;
        let tls = account.endpoint().is_https() || account.secondary().is_some_and(Endpoint::is_https);
        let transport = match transport {
            Some(transport) => transport,
            None if tls => Arc::new(Http::new(&http)?),
            None => Arc::new(Http::without_roots(&http)?),
        };
        let environment = environment.unwrap_or_else(|| Arc::new(System::default()));
        let pipeline = Pipeline { account, transport, environment, retry, read_from, hooks };
        Ok(TableService { pipeline: Arc::new(pipeline) })
    }
}
