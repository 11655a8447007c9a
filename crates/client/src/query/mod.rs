//! Queries: written as one chain of calls, divided between server and client, and run when they are read.
//!
//! `filter`, `take` and `select` run on the server unless a call before them must run in the client. Everything else runs in
//! the client, on the stream, in the order of the calls. [`Query::explain`] shows the division.
//!
//! ```
//! # use lazuli_embedded::doc::*; people(async |people| {
//! let query = people.query::<Person>().filter(Person::age().ge(28)).order_by("Age").take(2);
//! // The filter runs on the server, the sort in the client.
//! let plan = query.explain();
//! assert_eq!(plan.filter.as_deref(), Some("Age ge 28"));
//! let names: Vec<_> = query.collect().await?.into_iter().map(|person| person.name).collect();
//! assert_eq!(names, ["Bob", "Cid"]);
//! # Ok(()) });
//! ```

mod aggregate;
mod fetch;
mod local;
mod mapped;
mod names;
mod narrow;
mod order;
mod plan;
mod read;
mod rows;
mod sorted;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use lazuli_model::TableName;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, is_property_name};

use crate::entity::Entity;
use crate::error::Error;
use crate::filter::Filter;
use crate::page::PageSource;
use crate::partition::Partition;
use crate::table::Table;

use local::{Compare, Stage, Work};
use plan::Pushed;

pub use aggregate::{Native, Number};
pub use mapped::Mapped;
pub use names::Names;
pub use plan::{Plan, Ran};
pub use rows::{Page, PageToken, Pages, Rows};

/// Maximum number of rows that a query holds in the client, unless set by [`Query::local_limit`].
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::query::LOCAL_ROWS_MAX;
///
/// assert_eq!(people.query::<Person>().order_by("Age").explain().local_limit, LOCAL_ROWS_MAX);
/// # Ok(()) });
/// ```
pub const LOCAL_ROWS_MAX: usize = 100_000;

/// A query for entities of a type. Nothing is sent before its rows are read (LA-26).
///
/// The examples of queries use these people:
///
/// ```
/// # lazuli_embedded::doc_test(async |service| {
/// use lazuli_client::Entity;
///
/// #[derive(Entity)]
/// #[table(rename_all = "PascalCase")]
/// struct Person {
///     #[table(partition_key)] city: String,
///     #[table(row_key)] name: String,
///     age: Option<i32>,
/// }
///
/// let people = service.create_table("People").await?;
/// let ages = [("Ann", Some(41)), ("Bob", Some(28)), ("Cid", Some(35)), ("Dee", None)];
/// for ((name, age), city) in ages.into_iter().zip(["Delft", "Delft", "Leiden", "Leiden"]) {
///     people.insert(&Person { city: city.into(), name: name.into(), age }).await?;
/// }
///
/// let adults = people.query::<Person>().filter(Person::age().ge(18));
/// assert_eq!(adults.order_by(Person::age()).first().await?.unwrap().name, "Bob");
/// # Ok(()) });
/// ```
#[must_use = "a query does nothing until its rows are read"]
pub struct Query<T> {
    source: Arc<dyn PageSource>,
    pushed: Pushed,
    stages: Vec<Stage<T>>,
    local_limit: usize,
    explained: bool,
    secondary: bool,
    start: Option<PageToken>,
    rejected: Option<Error>,
}

impl<T: Entity> Query<T> {
    /// A query for all entities of a kind: those whose lineage is that of `T` or extends it. For a type without a kind
    /// it is a query for all entities of the table (LA-15).
    ///
    /// Usually created by [`Table::query`]; this is for other sources of pages.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// use std::sync::Arc;
    /// use lazuli_client::Query;
    ///
    /// let all = Query::<Person>::new(Arc::new(people.clone()), people.table_name().clone());
    /// assert_eq!(all.count().await?, 4);
    /// # Ok(()) });
    /// ```
    pub fn new(source: Arc<dyn PageSource>, table: TableName) -> Self {
        Self {
            source,
            pushed: Pushed::new(table, T::LINEAGE),
            stages: Vec::new(),
            local_limit: LOCAL_ROWS_MAX,
            explained: false,
            secondary: false,
            start: None,
            rejected: None,
        }
    }

    fn add(&mut self, work: Work<T>, text: impl Into<String>, names: Vec<String>) {
        names.iter().for_each(|name| self.check_seen(name));
        self.stages.push(Stage { names, ..Stage::new(work, text) });
    }

    fn check_names(&mut self, filter: &Filter) {
        let mut names = Vec::new();
        filter.names(&mut names);
        names.iter().for_each(|name| self.check_name(name));
    }

    /// An invalid property name is an error when the query runs.
    fn check_name(&mut self, name: &str) {
        if !is_property_name(name) || matches!(name, "not" | "true" | "false" | "null" | "NaN" | "INF") {
            self.reject_name(name);
        }
    }

    fn reject_name(&mut self, name: &str) {
        self.rejected = Some(Error::input(format!("'{name}' is not a valid property name")));
    }

    /// Stages in the client see decoded entities: a property that the type does not store would seem absent from all of them.
    fn check_seen(&mut self, name: &str) {
        if !is_property_name(name) {
            return self.reject_name(name);
        }
        let kept = T::names().is_none_or(|names| names.iter().any(|kept| kept == name));
        if !kept && !matches!(name, PARTITION_KEY | ROW_KEY) {
            let text = format!("'{name}' is not a property of this type, so the client cannot evaluate it");
            self.rejected = Some(Error::input(text));
        }
    }
}

impl<T> fmt::Debug for Query<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("pushed", &self.pushed).finish_non_exhaustive()
    }
}

/// A predicate that is true for the first occurrence of each key.
fn new_ones<T, K: Eq + Hash + Send + 'static>(
    mut key: impl FnMut(&T) -> K + Send + 'static,
) -> Box<dyn FnMut(&T) -> bool + Send> {
    let mut seen = HashSet::new();
    Box::new(move |row| seen.insert(key(row)))
}

/// An order by the result of a function.
fn by_key<T, K: Ord>(key: impl Fn(&T) -> K + Send + 'static) -> Compare<T> {
    Box::new(move |a: &T, b: &T| -> Ordering { key(a).cmp(&key(b)) })
}

impl Table {
    /// A query for the entities of this table that have a type: see [`Query`].
    ///
    /// ```
    /// # lazuli_embedded::doc_test(async |service| {
    /// use lazuli_client::{Dynamic, prop};
    ///
    /// let people = service.create_table("People").await?;
    /// for (name, age) in [("Ann", 41), ("Bob", 28), ("Cid", 35)] {
    ///     people.insert(&Dynamic::new("team", name).with("Age", age)?).await?;
    /// }
    /// let query = people.query::<Dynamic>().filter(prop("Age").gt(30)).order_by("Age").take(1);
    /// println!("{}", query.explain()); // the filter runs on the server, order and take in the client
    /// let mut rows = query.stream();
    /// while let Some(person) = rows.try_next().await? {
    ///     assert_eq!(person.row_key, "Cid");
    /// }
    /// # Ok(())
    /// # });
    /// ```
    pub fn query<T: Entity>(&self) -> Query<T> {
        Query::new(Arc::new(self.clone()), self.table_name().clone())
    }
}

impl Partition {
    /// A query for the entities of this partition that have a type.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let query = people.partition("Leiden")?.query::<Person>();
    /// assert_eq!(query.explain().filter.as_deref(), Some("PartitionKey eq 'Leiden'"));
    /// assert_eq!(query.map(|person| person.name).collect().await?, ["Cid", "Dee"]);
    /// # Ok(()) });
    /// ```
    pub fn query<T: Entity>(&self) -> Query<T> {
        self.table().query().filter(crate::field::partition_key().eq(self.key()))
    }
}
