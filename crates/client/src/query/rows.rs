//! Results of a query: rows one by one, or pages with tokens.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::page::Continuation;
use crate::query::fetch::{Fetch, Source};
use crate::query::local::{LocalPipeline, Stage, Work, check};
use crate::query::plan::Plan;

/// Rows, each fetched when it is needed. A `Stream` of the crate `futures-core`, with the most common methods
/// included.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// let mut rows = people.query::<Person>().page_size(1).stream();
/// assert_eq!(rows.explain().ran.unwrap().requests, 0); // nothing was sent yet
/// assert_eq!(rows.try_next().await?.unwrap().name, "Ann");
/// assert_eq!(rows.explain().ran.unwrap().requests, 1); // and no more than needed
/// # Ok(()) });
/// ```
#[must_use = "nothing is sent before the first row is read"]
pub struct Rows<T> {
    source: Box<dyn Source<T>>,
    pipeline: LocalPipeline<T>,
    plan: Plan,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// More rows may come.
    Reading,
    /// No more will come; some may be ready.
    Draining,
    /// An error was returned.
    Failed,
}

impl<T> Unpin for Rows<T> {}

impl<T: 'static> Rows<T> {
    pub(crate) fn new(source: Box<dyn Source<T>>, stages: Vec<Stage<T>>, plan: Plan) -> Self {
        let pipeline = LocalPipeline::new(stages, plan.local_limit);
        Self { source, pipeline, plan, state: State::Reading }
    }

    /// The next row; `None` after the last one, and after an error.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut rows = people.query::<Person>().order_by("Age").local_limit(3).stream();
    /// match rows.next().await {
    ///     Some(Ok(person)) => println!("{} is the youngest", person.name),
    ///     Some(Err(error)) => assert!(error.message().contains("more than 3 rows")),
    ///     None => println!("no people"),
    /// }
    /// assert!(rows.next().await.is_none());
    /// # Ok(()) });
    /// ```
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|cx| self.poll_row(cx)).await
    }

    /// The next row, as a `Result` of an `Option`.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut rows = people.query::<Person>().stream();
    /// let mut names = String::new();
    /// while let Some(person) = rows.try_next().await? {
    ///     names += &person.name;
    /// }
    /// assert_eq!(names, "AnnBobCidDee");
    /// # Ok(()) });
    /// ```
    pub async fn try_next(&mut self) -> Result<Option<T>> {
        self.next().await.transpose()
    }

    /// All remaining rows.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut rows = people.query::<Person>().stream();
    /// let first = rows.try_next().await?.unwrap();
    /// let others = rows.collect().await?;
    /// assert_eq!((first.name.as_str(), others.len()), ("Ann", 3));
    /// # Ok(()) });
    /// ```
    pub async fn collect(mut self) -> Result<Vec<T>> {
        let mut out = Vec::new();
        while let Some(row) = self.try_next().await? {
            out.push(row);
        }
        Ok(out)
    }

    /// The split of the query between server and client, and its cost so far.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut rows = people.query::<Person>().filter(Person::city().eq("Leiden")).stream();
    /// rows.try_next().await?;
    /// let plan = rows.explain();
    /// assert_eq!(plan.filter.as_deref(), Some("PartitionKey eq 'Leiden'"));
    /// assert_eq!(plan.ran.unwrap().rows_received, 2);
    /// # Ok(()) });
    /// ```
    pub fn explain(&self) -> Plan {
        Plan { ran: Some(self.source.ran().clone()), ..self.plan.clone() }
    }

    pub(crate) fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            if let Some(row) = self.pipeline.next() {
                return Poll::Ready(Some(Ok(row)));
            }
            let step = match self.state {
                State::Draining | State::Failed => return Poll::Ready(None),
                State::Reading if self.pipeline.stopped() => None,
                State::Reading => ready!(self.source.poll_row(cx)),
            };
            let worked = match step {
                Some(Ok(row)) => self.pipeline.push(row),
                Some(Err(error)) => Err(error),
                None => {
                    self.state = State::Draining;
                    self.pipeline.finish()
                }
            };
            if let Err(error) = worked {
                self.state = State::Failed;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    pub(crate) async fn count(mut self) -> Result<u64> {
        let mut count = 0;
        while self.try_next().await?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Groups rows in the order of each group's first row; the total number of rows is bounded.
    pub(crate) async fn group_by<K: Eq + Hash + Clone>(
        mut self,
        mut key: impl FnMut(&T) -> K,
    ) -> Result<Vec<(K, Vec<T>)>> {
        let mut places: HashMap<K, usize> = HashMap::new();
        let mut groups: Vec<(K, Vec<T>)> = Vec::new();
        let mut held = 0;
        while let Some(row) = self.try_next().await? {
            held += 1;
            check(held, self.plan.local_limit, "group")?;
            let key = key(&row);
            let place = *places.entry(key.clone()).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(row);
        }
        Ok(groups)
    }
}

impl<T: 'static> Stream for Rows<T> {
    type Item = Result<T>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_row(cx)
    }
}

impl<T> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// Pages as the service returns them, each with a token for the next one.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// let mut pages = people.query::<Person>().page_size(3).pages();
/// let mut sizes = Vec::new();
/// while let Some(page) = pages.try_next().await? {
///     sizes.push(page.rows.len());
/// }
/// assert_eq!(sizes, [3, 1]);
/// # Ok(()) });
/// ```
#[must_use = "nothing is sent before the first page is read"]
pub struct Pages<T> {
    fetch: Fetch<T>,
    stages: Vec<Stage<T>>,
    plan: Plan,
    fingerprint: u64,
}

/// One page of a query.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::Page;
///
/// let mut pages = people.query::<Person>().page_size(3).pages();
/// let Page { rows, next } = pages.try_next().await?.unwrap();
/// assert_eq!(rows[2].name, "Cid");
/// assert!(next.is_some()); // Dee is on the next page
/// # Ok(()) });
/// ```
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// Its rows; may be empty even if there is a next page.
    pub rows: Vec<T>,
    /// Token of the next page; `None` on the last one.
    pub next: Option<PageToken>,
}

impl<T: Entity> Pages<T> {
    pub(crate) fn new(fetch: Fetch<T>, stages: Vec<Stage<T>>, plan: Plan, fingerprint: u64) -> Self {
        Self { fetch, stages, plan, fingerprint }
    }

    /// The next page; `None` after the last one.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut pages = people.query::<Person>().page_size(2).pages();
    /// let page = pages.next().await.unwrap()?;
    /// assert_eq!(page.rows[1].name, "Bob");
    /// # Ok(()) });
    /// ```
    pub async fn next(&mut self) -> Option<Result<Page<T>>> {
        let page = poll_fn(|cx| self.fetch.poll_page(cx)).await?;
        Some(page.map(|(mut rows, end)| {
            for stage in &mut self.stages {
                if let Work::Keep(test) = &mut stage.work {
                    rows.retain(|row| test(row));
                }
            }
            let fingerprint = self.fingerprint;
            let next =
                end.map(|end| PageToken { fingerprint, left: end.left, continuation: end.continuation });
            Page { rows, next }
        }))
    }

    /// The next page, as a `Result` of an `Option`.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut pages = people.query::<Person>().pages();
    /// assert_eq!(pages.try_next().await?.unwrap().rows.len(), 4);
    /// assert!(pages.try_next().await?.is_none());
    /// # Ok(()) });
    /// ```
    pub async fn try_next(&mut self) -> Result<Option<Page<T>>> {
        self.next().await.transpose()
    }

    /// The split of the query between server and client, and its cost so far.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut pages = people.query::<Person>().page_size(2).pages();
    /// while pages.try_next().await?.is_some() {}
    /// assert_eq!(pages.explain().ran.unwrap().requests, 2);
    /// # Ok(()) });
    /// ```
    pub fn explain(&self) -> Plan {
        Plan { ran: Some(self.fetch.ran().clone()), ..self.plan.clone() }
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The position at which a query continues, as a string that can be stored and used after a restart (PG-16).
///
/// It belongs to one query: a query with another filter, table or selection rejects it.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::PageToken;
///
/// let query = people.query::<Person>().page_size(2);
/// let text = query.pages().try_next().await?.unwrap().next.unwrap().to_string();
///
/// let token: PageToken = text.parse()?;
/// assert_eq!(people.query::<Person>().resume(&token).first().await?.unwrap().name, "Cid");
/// let other = people.query::<Person>().filter(Person::age().gt(30)).resume(&token);
/// assert!(other.first().await.is_err());
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageToken {
    pub(crate) fingerprint: u64,
    pub(crate) left: Option<u64>,
    pub(crate) continuation: Continuation,
}

impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.left.map_or_else(|| "-".to_owned(), |left| left.to_string());
        write!(f, "1.{:016x}.{left}.{}", self.fingerprint, self.continuation)
    }
}

impl FromStr for PageToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let mut parts = text.splitn(4, '.');
            let version = parts.next()?;
            let fingerprint = u64::from_str_radix(parts.next()?, 16).ok()?;
            let left = match parts.next()? {
                "-" => None,
                number => Some(number.parse().ok()?),
            };
            let continuation = parts.next()?.parse().ok()?;
            (version == "1").then_some(Self { fingerprint, left, continuation })
        };
        read().ok_or_else(|| Error::input("not a page token"))
    }
}
