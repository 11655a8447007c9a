//! Lists the tables of an account.

use http::Method;
use lazuli_filter::print;
use lazuli_model::Value;
use lazuli_model::table::filter::{Comparison, Expr, Operator};
use lazuli_protocol::reply;

use super::TableService;
use crate::error::{Error, Result};
use crate::request::{NO_METADATA, TableRequest};
use crate::trail::Trail;

const NEXT_TABLE_NAME: &str = "x-ms-continuation-nexttablename";

/// Options for listing tables.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::TablesOptions;
///
/// for name in ["Log2023", "Log2024", "People"] {
///     service.create_table(name).await?;
/// }
/// let options = TablesOptions { prefix: Some("Log".into()), top: Some(10), ..TablesOptions::default() };
/// assert_eq!(service.tables_page(&options).await?.names, ["Log2023", "Log2024"]);
/// # Ok(()) })
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablesOptions {
    /// Only names with this prefix.
    pub prefix: Option<String>,
    /// Maximum number of names on the page.
    pub top: Option<u32>,
    /// The end of the previous page.
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
        // A bound after every name with the prefix: names consist of letters and digits, and `{` sorts after
        // all of them.
        range.push(compare(Operator::Lt, format!("{prefix}{{")));
        Some(print(&Expr::And(range)))
    }
}

/// A page of table names.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// # use lazuli_client::TablesOptions;
/// service.create_table("People").await?;
/// let page = service.tables_page(&TablesOptions::default()).await?;
/// assert_eq!(page.names, ["People"]);
/// assert_eq!(page.continuation, None, "this is the last page");
/// # Ok(()) })
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablesPage {
    /// The names, sorted.
    pub names: Vec<String>,
    /// The start of the next page; `None` on the last page.
    pub continuation: Option<String>,
}

impl TableService {
    /// The names of all tables, sorted.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// for name in ["People", "Orders"] {
    ///     service.create_table(name).await?;
    /// }
    /// assert_eq!(service.table_names().await?, ["Orders", "People"]);
    /// # Ok(()) })
    /// ```
    pub async fn table_names(&self) -> Result<Vec<String>> {
        self.collect_table_names(TablesOptions::default()).await
    }

    /// The names of the tables with a prefix, sorted.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// for name in ["Log2023", "Log2024", "Lost"] {
    ///     service.create_table(name).await?;
    /// }
    /// assert_eq!(service.table_names_with_prefix("Log").await?, ["Log2023", "Log2024"]);
    /// # Ok(()) })
    /// ```
    pub async fn table_names_with_prefix(&self, prefix: &str) -> Result<Vec<String>> {
        self.collect_table_names(TablesOptions { prefix: Some(prefix.to_owned()), ..Default::default() })
            .await
    }

    async fn collect_table_names(&self, mut options: TablesOptions) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut trail = Trail::default();
        loop {
            let page = self.tables_page(&options).await?;
            names.extend(page.names);
            trail.advance(page.continuation.as_ref(), false)?;
            match page.continuation {
                None => return Ok(names),
                next => options.continuation = next,
            }
        }
    }

    /// One page of table names.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::TablesOptions;
    /// for name in ["One", "Three", "Two"] {
    ///     service.create_table(name).await?;
    /// }
    /// let mut options = TablesOptions { top: Some(2), ..TablesOptions::default() };
    /// let first = service.tables_page(&options).await?;
    /// options.continuation = first.continuation;
    /// let second = service.tables_page(&options).await?;
    /// assert_eq!((first.names, second.names), (vec!["One".into(), "Three".into()], vec!["Two".to_owned()]));
    /// # Ok(()) })
    /// ```
    pub async fn tables_page(&self, options: &TablesOptions) -> Result<TablesPage> {
        let call = TableRequest::new("QueryTables", Method::GET, "Tables")
            .query_some("$filter", options.filter())
            .query_some("$top", options.top.map(|top| top.to_string()))
            .query_some("NextTableName", options.continuation.as_deref())
            .header("accept", NO_METADATA)
            .at_secondary(options.secondary);
        let response = self.pipeline.send(&call).await?;
        let names = reply::table_names(&response.body)
            .ok_or_else(|| Error::unreadable("the response is not a list of tables"))?;
        Ok(TablesPage { names, continuation: response.text(NEXT_TABLE_NAME)? })
    }
}
