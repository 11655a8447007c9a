//! Queries after `map`: their rows can be anything, and the rest of the query runs in the client.

use std::fmt;
use std::hash::Hash;
use std::task::{Context, Poll};

use crate::error::{Error, Result};
use crate::query::fetch::Source;
use crate::query::local::{Stage, Work};
use crate::query::plan::{Plan, Ran};
use crate::query::rows::Rows;
use crate::query::{by_key, new_ones};

/// A query whose rows are no longer entities: see [`crate::Query::map`].
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// let initials = people.query::<Person>().map(|person| person.name.chars().next());
/// assert_eq!(initials.skip(2).first().await?, Some(Some('C')));
/// # Ok(()) });
/// ```
#[must_use = "a query does nothing until its rows are read"]
pub struct Mapped<U> {
    source: Box<dyn Source<U>>,
    stages: Vec<Stage<U>>,
    plan: Plan,
}

impl<U: Send + 'static> Mapped<U> {
    pub(crate) fn new<T: Send + 'static>(rows: Rows<T>, make: impl FnMut(T) -> U + Send + 'static) -> Self {
        let Plan { ran: _, mut local, .. } = rows.explain();
        local.push("map".to_owned());
        let plan = Plan { local, ran: None, ..rows.explain() };
        Self { source: Box::new(Map { rows, make, ran: Ran::default() }), stages: Vec::new(), plan }
    }

    /// Converts each row.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let lengths = people.query::<Person>().map(|person| person.city).map(|city| city.len());
    /// assert_eq!(lengths.collect().await?, [5, 5, 6, 6]);
    /// # Ok(()) });
    /// ```
    pub fn map<V: Send + 'static>(self, make: impl FnMut(U) -> V + Send + 'static) -> Mapped<V> {
        Mapped::new(self.stream(), make)
    }

    /// Rows for which this function returns `true`.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let ages = people.query::<Person>().map(|person| person.age.unwrap_or(0)).filter(|age| age % 2 == 0);
    /// assert_eq!(ages.collect().await?, [28, 0]);
    /// # Ok(()) });
    /// ```
    pub fn filter(self, test: impl FnMut(&U) -> bool + Send + 'static) -> Self {
        self.add(Work::Keep(Box::new(test)), "filter by a function".to_owned())
    }

    /// Limits the number of rows.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let names = people.query::<Person>().map(|person| person.name).filter(|name| name != "Bob").take(2);
    /// assert_eq!(names.collect().await?, ["Ann", "Cid"]);
    /// # Ok(()) });
    /// ```
    pub fn take(self, rows: u64) -> Self {
        self.add(Work::Take(rows), format!("take {rows}"))
    }

    /// Skips the first rows.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let names = people.query::<Person>().map(|person| person.name).skip(3);
    /// assert_eq!(names.collect().await?, ["Dee"]);
    /// # Ok(()) });
    /// ```
    pub fn skip(self, rows: u64) -> Self {
        self.add(Work::Skip(rows), format!("skip {rows}"))
    }

    /// Each value once.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let cities = people.query::<Person>().map(|person| person.city).distinct();
    /// assert_eq!(cities.collect().await?, ["Delft", "Leiden"]);
    /// # Ok(()) });
    /// ```
    pub fn distinct(self) -> Self
    where
        U: Eq + Hash + Clone,
    {
        self.add(Work::Distinct { is_new: new_ones(Clone::clone), seen: 0 }, "distinct".to_owned())
    }

    /// The first row for each result of a function.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let ages = people.query::<Person>().map(|person| person.age).distinct_by(|age| *age > Some(30));
    /// assert_eq!(ages.collect().await?, [Some(41), Some(28)]);
    /// # Ok(()) });
    /// ```
    pub fn distinct_by<K: Eq + Hash + Send + 'static>(
        self,
        key: impl FnMut(&U) -> K + Send + 'static,
    ) -> Self {
        self.add(Work::Distinct { is_new: new_ones(key), seen: 0 }, "distinct by a function".to_owned())
    }

    /// Sorts by the result of a function.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let ages = people.query::<Person>().map(|person| person.age.unwrap_or(99)).order_by_key(|age| *age);
    /// assert_eq!(ages.collect().await?, [28, 35, 41, 99]);
    /// # Ok(()) });
    /// ```
    pub fn order_by_key<K: Ord>(self, key: impl Fn(&U) -> K + Send + 'static) -> Self {
        self.add(Work::Sort { by: vec![by_key(key)], rows: Vec::new() }, "order by a function".to_owned())
    }

    /// Shows which parts run on the server and which in the client. Sends nothing.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let names = people.query::<Person>().filter(Person::age().gt(30)).map(|person| person.name);
    /// let plan = names.skip(1).explain();
    /// assert_eq!(plan.filter.as_deref(), Some("Age gt 30"));
    /// assert_eq!(plan.local, ["map", "skip 1"]);
    /// # Ok(()) });
    /// ```
    pub fn explain(&self) -> Plan {
        self.plan.clone()
    }

    /// The rows, as a stream.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut names = people.query::<Person>().map(|person| person.name).stream();
    /// assert_eq!(names.try_next().await?.as_deref(), Some("Ann"));
    /// assert_eq!(names.try_next().await?.as_deref(), Some("Bob"));
    /// # Ok(()) });
    /// ```
    pub fn stream(self) -> Rows<U> {
        Rows::new(self.source, self.stages, self.plan)
    }

    /// All rows.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let ages = people.query::<Person>().map(|person| person.age).collect().await?;
    /// assert_eq!(ages, [Some(41), Some(28), Some(35), None]);
    /// # Ok(()) });
    /// ```
    pub async fn collect(self) -> Result<Vec<U>> {
        self.stream().collect().await
    }

    /// The first row, if there is one.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let labels = people.query::<Person>().map(|person| format!("{} of {}", person.name, person.city));
    /// assert_eq!(labels.first().await?.as_deref(), Some("Ann of Delft"));
    /// # Ok(()) });
    /// ```
    pub async fn first(self) -> Result<Option<U>> {
        self.take(1).stream().try_next().await
    }

    /// Number of rows.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// assert_eq!(people.query::<Person>().map(|person| person.city).distinct().count().await?, 2);
    /// # Ok(()) });
    /// ```
    pub async fn count(self) -> Result<u64> {
        self.stream().count().await
    }

    /// Groups rows by the result of a function, in the order of each group's first row.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let names = people.query::<Person>().map(|person| person.name);
    /// let groups = names.group_by(|name| name.contains('n')).await?;
    /// assert_eq!(groups[1], (false, vec!["Bob".to_owned(), "Cid".into(), "Dee".into()]));
    /// # Ok(()) });
    /// ```
    pub async fn group_by<K: Eq + Hash + Clone>(self, key: impl FnMut(&U) -> K) -> Result<Vec<(K, Vec<U>)>> {
        self.stream().group_by(key).await
    }

    fn add(mut self, work: Work<U>, text: String) -> Self {
        self.plan.local.push(text.clone());
        self.stages.push(Stage::new(work, text));
        self
    }
}

impl<U> fmt::Debug for Mapped<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped").field("plan", &self.plan).finish_non_exhaustive()
    }
}

struct Map<T, F> {
    rows: Rows<T>,
    make: F,
    ran: Ran,
}

impl<T: 'static, U, F: FnMut(T) -> U + Send> Source<U> for Map<T, F>
where
    Rows<T>: Send,
{
    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<U>>> {
        let row = self.rows.poll_row(cx);
        if row.is_ready() {
            self.ran = self.rows.explain().ran.unwrap_or_default();
        }
        row.map(|row| row.map(|row: std::result::Result<T, Error>| row.map(&mut self.make)))
    }

    fn ran(&self) -> &Ran {
        &self.ran
    }
}
