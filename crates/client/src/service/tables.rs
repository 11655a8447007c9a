//! Lists the tables of an account.

use http::Method;
use lazuli_filter::print;
use lazuli_model::Value;
use lazuli_model::filter::{Comparison, Expr, Operator};
use lazuli_protocol::answer;

use super::TableService;
use crate::error::{Error, Result};
use crate::request::{Call, NO_METADATA};

const NEXT_TABLE_NAME: &str = "x-ms-continuation-nexttablename";

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

impl TableService {
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
}
