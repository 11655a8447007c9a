//! Queries: said in one chain, divided between the service and here, and run when they are read.
//!
//! `filter`, `take` and `select` go to the service as long as nothing before them has to be done here; the rest runs here,
//! on the stream, in the order of the calls. [`Query::explain`] tells which is which.

mod aggregate;
mod fetch;
mod local;
mod mapped;
mod order;
mod plan;
mod rows;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use lazuli_model::TableName;
use lazuli_model::entity::is_property_name;

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::field::Named;
use crate::filter::Filter;
use crate::page::{PageRequest, PageSource};
use crate::partition::Partition;
use crate::table::Table;

use fetch::Fetch;
use local::{Compare, Stage, Work};
use plan::Pushed;

pub use mapped::Mapped;
pub use plan::{Plan, Ran};
pub use rows::{Page, PageToken, Pages, Rows};

/// Most rows that a query holds here, unless [`Query::local_limit`] says otherwise.
pub const LOCAL_ROWS_MAX: usize = 100_000;

/// A query for entities of a type. Nothing is sent before its rows are asked for (LA-26).
#[must_use = "a query does nothing until its rows are asked for"]
pub struct Query<T> {
    source: Arc<dyn PageSource>,
    pushed: Pushed,
    stages: Vec<Stage<T>>,
    local_limit: usize,
    explained: bool,
    secondary: bool,
    start: Option<PageToken>,
    refused: Option<Error>,
}

impl<T: Entity> Query<T> {
    /// A query for all entities of a kind: those whose lineage is that of `T` or starts with it. A type without a kind
    /// is a query for all entities of the table (LA-15).
    pub fn new(source: Arc<dyn PageSource>, table: TableName) -> Self {
        Self {
            source,
            pushed: Pushed::new(table, T::LINEAGE),
            stages: Vec::new(),
            local_limit: LOCAL_ROWS_MAX,
            explained: false,
            secondary: false,
            start: None,
            refused: None,
        }
    }

    /// Entities for which this holds, too. The service looks for them, unless something before must run here first.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.check_names(&filter);
        let to_service = self.pushed.take.is_none() && self.stages.iter().all(Stage::lets_conditions_pass);
        for part in filter.conjuncts() {
            let left = if to_service { self.pushed.push(part) } else { Some(part) };
            if let Some(part) = left {
                let mut names = Vec::new();
                part.names(&mut names);
                let text = format!("filter {part}");
                self.add(Work::Keep(Box::new(move |row| part.holds(row))), text, names);
            }
        }
        self
    }

    /// Entities for which this function says so, here.
    pub fn filter_local(mut self, test: impl FnMut(&T) -> bool + Send + 'static) -> Self {
        self.add(Work::Keep(Box::new(test)), "filter by a function", Vec::new());
        self
    }

    /// So many rows at most.
    pub fn take(mut self, rows: u64) -> Self {
        if self.stages.is_empty() {
            self.pushed.take = Some(self.pushed.take.map_or(rows, |before| before.min(rows)));
        } else {
            self.add(Work::Take(rows), format!("take {rows}"), Vec::new());
        }
        self
    }

    /// Leaves the first rows out. They are read all the same: to go on where a page ended, use [`Query::pages`].
    pub fn skip(mut self, rows: u64) -> Self {
        self.add(Work::Skip(rows), format!("skip {rows}"), Vec::new());
        self
    }

    /// Asks for these properties alone. The keys come in any case, and what stages here look at.
    ///
    /// Fields of `T` that are not selected must be able to be absent (`Option`, or `#[table(default)]`);
    /// [`Query::project`] takes a type made for the purpose instead.
    pub fn select(mut self, names: impl Names) -> Self {
        self.pushed.select = names.into_names();
        self
    }

    /// Reads the same entities as another type, and asks for its properties alone.
    pub fn project<P: Entity>(self) -> Query<P> {
        let refused = match self.stages.is_empty() {
            true => self.refused,
            false => Some(Error::input("project comes before what runs here; use map behind it")),
        };
        let mut pushed = self.pushed;
        pushed.select = P::names().unwrap_or_default();
        Query {
            source: self.source,
            pushed,
            stages: Vec::new(),
            local_limit: self.local_limit,
            explained: self.explained,
            secondary: self.secondary,
            start: self.start,
            refused,
        }
    }

    /// Entities of every kind, decoded as `T` all the same.
    pub fn any_kind(mut self) -> Self {
        self.pushed.lineage = None;
        self
    }

    /// Sorts by a property, here. Entities without it come first; of several types each is apart.
    pub fn order_by(self, property: impl Named) -> Self {
        self.sort(property.into_name(), false, true)
    }

    /// Sorts by a property, the greatest first, here.
    pub fn order_by_desc(self, property: impl Named) -> Self {
        self.sort(property.into_name(), true, true)
    }

    /// Sorts what is equal so far by another property.
    pub fn then_by(self, property: impl Named) -> Self {
        self.sort(property.into_name(), false, false)
    }

    /// Sorts what is equal so far by another property, the greatest first.
    pub fn then_by_desc(self, property: impl Named) -> Self {
        self.sort(property.into_name(), true, false)
    }

    /// Sorts by what a function gives, here.
    pub fn order_by_key<K: Ord>(mut self, key: impl Fn(&T) -> K + Send + 'static) -> Self {
        let by: Compare<T> = Box::new(move |a, b| key(a).cmp(&key(b)));
        self.add(Work::Sort { by: vec![by], rows: Vec::new() }, "order by a function", Vec::new());
        self
    }

    /// The first entity of each value of a property, here.
    pub fn distinct_by(mut self, property: impl Named) -> Self {
        let name = property.into_name();
        let mut seen = HashSet::new();
        let (text, names) = (format!("distinct by {name}"), vec![name.clone()]);
        let is_new = Box::new(move |row: &T| seen.insert(order::identity(row.value_of(&name).as_ref())));
        self.add(Work::Distinct { is_new, seen: 0 }, text, names);
        self
    }

    /// Makes something else of each entity, here.
    pub fn map<U: Send + 'static>(self, make: impl FnMut(T) -> U + Send + 'static) -> Mapped<U> {
        Mapped::new(self.stream(), make)
    }

    /// How many rows may be held here at a time, by what sorts, groups or tells apart (LA-30). More is an error of the
    /// kind [`crate::ErrorKind::LocalLimit`].
    pub fn local_limit(mut self, rows: usize) -> Self {
        self.local_limit = rows;
        self
    }

    /// How many rows the service puts on a page, at most 1000 (PG-17).
    pub fn page_size(mut self, rows: u32) -> Self {
        self.pushed.page_size = Some(rows.max(1));
        self
    }

    /// Asks the service what it reads; [`Rows::explain`] tells, if the service does.
    pub fn explained(mut self) -> Self {
        self.explained = true;
        self
    }

    /// Reads from the secondary endpoint, if the account has one.
    pub fn from_secondary(mut self) -> Self {
        self.secondary = true;
        self
    }

    /// Goes on where a page of the same query ended.
    pub fn resume(mut self, token: &PageToken) -> Self {
        self.start = Some(token.clone());
        self
    }

    /// What runs where. Sends nothing.
    pub fn explain(&self) -> Plan {
        Plan {
            table: self.pushed.table.to_string(),
            filter: self.pushed.filter_text(),
            take: self.pushed.take,
            select: self.select_names(),
            local: self.stages.iter().map(|stage| stage.text.clone()).collect(),
            local_limit: self.local_limit,
            ran: None,
        }
    }

    /// The rows, as a stream.
    pub fn stream(self) -> Rows<T> {
        let plan = self.explain();
        let (fetch, stages) = self.start();
        Rows::new(Box::new(fetch), stages, plan)
    }

    /// The rows, page by page. For queries without anything here but filters: the others have no pages.
    pub fn pages(mut self) -> Pages<T> {
        if let Some(stage) = self.stages.iter().find(|stage| !stage.is_condition()) {
            self.refused = Some(Error::input(format!("a query has no pages behind '{}'", stage.text)));
        }
        let (plan, fingerprint) = (self.explain(), self.fingerprint());
        let (fetch, stages) = self.start();
        Pages::new(fetch, stages, plan, fingerprint)
    }

    /// All rows. Unlike what sorts, this is not bounded: [`Query::take`] is.
    pub async fn collect(self) -> Result<Vec<T>> {
        self.stream().collect().await
    }

    /// The first row, if there is one (LA-23, LA-27).
    pub async fn first(self) -> Result<Option<T>> {
        self.take(1).stream().try_next().await
    }

    fn start(mut self) -> (Fetch<T>, Vec<Stage<T>>) {
        let mut left = self.pushed.take;
        let mut request = PageRequest::new(self.pushed.table.clone());
        request.filter = self.pushed.filter_text();
        request.select = self.select_names();
        request.explain = self.explained;
        request.secondary = self.secondary;
        if let Some(token) = self.start.take() {
            if token.fingerprint != self.fingerprint() {
                self.refused = Some(Error::input("this page token is one of another query"));
            }
            left = token.left;
            request.continuation = Some(token.continuation);
        }
        let fetch = Fetch::new(self.source, request, self.pushed.page_size, left);
        (fetch.refuse(self.refused), self.stages)
    }

    fn select_names(&self) -> Vec<String> {
        let needed = self.stages.iter().flat_map(|stage| &stage.names).map(String::as_str);
        let with_kind = T::LINEAGE.is_some() || T::names().is_none();
        self.pushed.select_names(needed, with_kind)
    }

    /// Tells queries apart whose pages are not each other's (FNV-1a).
    fn fingerprint(&self) -> u64 {
        let plan = self.explain();
        let text = format!("{}\n{:?}\n{:?}", plan.table, plan.filter, plan.select);
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    fn sort(mut self, name: String, descending: bool, afresh: bool) -> Self {
        self.check_name(&name);
        let text = format!("{name}{}", if descending { " descending" } else { "" });
        let names = vec![name.clone()];
        let by: Compare<T> = Box::new(move |a, b| {
            let order = order::compare(a.value_of(&name).as_ref(), b.value_of(&name).as_ref());
            if descending { order.reverse() } else { order }
        });
        // Conditions behind a sort change nothing about it, so that it can still be refined.
        let mut behind = self.stages.iter_mut().rev().skip_while(|stage| stage.is_condition());
        match behind.next() {
            Some(Stage { work: Work::Sort { by: before, .. }, text: told, names: known }) if !afresh => {
                before.push(by);
                told.push_str(&format!(", then by {text}"));
                known.extend(names);
            }
            _ => self.add(Work::Sort { by: vec![by], rows: Vec::new() }, format!("order by {text}"), names),
        }
        self
    }

    fn add(&mut self, work: Work<T>, text: impl Into<String>, names: Vec<String>) {
        self.stages.push(Stage { names, ..Stage::new(work, text) });
    }

    fn check_names(&mut self, filter: &Filter) {
        let mut names = Vec::new();
        filter.names(&mut names);
        names.iter().for_each(|name| self.check_name(name));
    }

    /// A name that no property can have is an error when the query is run.
    fn check_name(&mut self, name: &str) {
        if !is_property_name(name) || matches!(name, "not" | "true" | "false" | "null" | "NaN" | "INF") {
            self.refused = Some(Error::input(format!("a query cannot ask for a property '{name}'")));
        }
    }
}

impl<T> fmt::Debug for Query<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("pushed", &self.pushed).finish_non_exhaustive()
    }
}

/// Several names of properties: an array or a `Vec` of one sort, or a tuple of several.
pub trait Names {
    /// The names in the table.
    fn into_names(self) -> Vec<String>;
}

impl<N: Named, const COUNT: usize> Names for [N; COUNT] {
    fn into_names(self) -> Vec<String> {
        self.into_iter().map(Named::into_name).collect()
    }
}

impl<N: Named> Names for Vec<N> {
    fn into_names(self) -> Vec<String> {
        self.into_iter().map(Named::into_name).collect()
    }
}

macro_rules! tuples_of_names {
    ($($($name:ident $at:tt),+;)*) => {$(
        impl<$($name: Named),+> Names for ($($name,)+) {
            fn into_names(self) -> Vec<String> {
                vec![$(self.$at.into_name()),+]
            }
        }
    )*};
}

tuples_of_names! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

/// A set of what was seen, for whatever can be told apart.
fn new_ones<T, K: Eq + Hash + Send + 'static>(
    mut key: impl FnMut(&T) -> K + Send + 'static,
) -> Box<dyn FnMut(&T) -> bool + Send> {
    let mut seen = HashSet::new();
    Box::new(move |row| seen.insert(key(row)))
}

/// An order by what a function gives.
fn by_key<T, K: Ord>(key: impl Fn(&T) -> K + Send + 'static) -> Compare<T> {
    Box::new(move |a: &T, b: &T| -> Ordering { key(a).cmp(&key(b)) })
}

impl Table {
    /// A query for the entities of this table that are of a type: see [`Query`].
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
    /// println!("{}", query.explain()); // the filter runs on the service, order and take run here
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
    /// A query for the entities of this partition that are of a type.
    pub fn query<T: Entity>(&self) -> Query<T> {
        self.table().query().filter(crate::field::partition_key().eq(self.key()))
    }
}
