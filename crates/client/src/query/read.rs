//! Reads a query (all at once, row by row or page by page), and defines its settings.

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::page::PageRequest;
use crate::query::fetch::Fetch;
use crate::query::local::Stage;
use crate::query::{Mapped, PageToken, Pages, Plan, Query, Rows};

impl<T: Entity> Query<T> {
    /// Converts each entity, in the client.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let ages = people.query::<Person>().map(|person| (person.name, person.age)).collect().await?;
    /// assert_eq!(ages[3], ("Dee".to_owned(), None));
    /// # Ok(()) });
    /// ```
    pub fn map<U: Send + 'static>(self, make: impl FnMut(T) -> U + Send + 'static) -> Mapped<U> {
        Mapped::new(self.stream(), make)
    }

    /// Maximum number of rows held in the client by sorting, grouping and distinct (LA-30). Exceeding it is an error of
    /// kind [`crate::ErrorKind::LocalLimit`].
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// use lazuli_client::ErrorKind;
    ///
    /// let sorted = people.query::<Person>().order_by("Age").local_limit(3).collect().await;
    /// assert_eq!(sorted.unwrap_err().kind(), ErrorKind::LocalLimit); // there are four
    /// # Ok(()) });
    /// ```
    pub fn local_limit(mut self, rows: usize) -> Self {
        self.local_limit = rows;
        self
    }

    /// Number of rows per page, at most 1000 (PG-17).
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut pages = people.query::<Person>().page_size(3).pages();
    /// assert_eq!(pages.try_next().await?.unwrap().rows.len(), 3);
    /// assert_eq!(pages.try_next().await?.unwrap().rows.len(), 1);
    /// # Ok(()) });
    /// ```
    pub fn page_size(mut self, rows: u32) -> Self {
        self.pushed.page_size = Some(rows.max(1));
        self
    }

    /// Requests the cost of the query from the server; [`Rows::explain`] returns it, if the server reports it.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut rows = people.query::<Person>().filter(Person::city().eq("Delft")).explained().stream();
    /// while rows.try_next().await?.is_some() {}
    /// let ran = rows.explain().ran.unwrap();
    /// assert_eq!((ran.reading.as_deref(), ran.rows_read), (Some("partition"), Some(2)));
    /// # Ok(()) });
    /// ```
    pub fn explained(mut self) -> Self {
        self.explained = true;
        self
    }

    /// Reads from the secondary endpoint. It is an error if the account has none.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// // The secondary may be behind: use it for reads that need not be current.
    /// assert_eq!(people.query::<Person>().from_secondary().count().await?, 4);
    /// # Ok(()) });
    /// ```
    pub fn from_secondary(mut self) -> Self {
        self.secondary = true;
        self
    }

    /// Continues where a page of the same query ended.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let query = || people.query::<Person>().page_size(3);
    /// let first = query().pages().try_next().await?.unwrap();
    /// let stored = first.next.unwrap().to_string(); // for a link to the next page
    ///
    /// let rest = query().resume(&stored.parse()?).collect().await?;
    /// assert_eq!(rest[0].name, "Dee");
    /// # Ok(()) });
    /// ```
    pub fn resume(mut self, token: &PageToken) -> Self {
        self.start = Some(token.clone());
        self
    }

    /// Shows which parts run on the server and which in the client. Sends nothing.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let plan = people.query::<Person>().filter(Person::age().gt(30)).order_by("Age").take(1).explain();
    /// assert_eq!(plan.filter.as_deref(), Some("Age gt 30")); // on the server
    /// assert_eq!(plan.local, ["order by Age", "take 1"]); // in the client
    /// # Ok(()) });
    /// ```
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
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut rows = people.query::<Person>().stream();
    /// let mut ages = 0;
    /// while let Some(person) = rows.try_next().await? {
    ///     ages += person.age.unwrap_or_default();
    /// }
    /// assert_eq!(ages, 41 + 28 + 35);
    /// # Ok(()) });
    /// ```
    pub fn stream(self) -> Rows<T> {
        let plan = self.explain();
        let (fetch, stages) = self.start();
        Rows::new(Box::new(fetch), stages, plan)
    }

    /// The rows, page by page. Only for queries whose stages in the client are all filters.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut pages = people.query::<Person>().pages();
    /// let page = pages.try_next().await?.unwrap();
    /// assert_eq!(page.rows.len(), 4);
    /// assert!(page.next.is_none());
    ///
    /// assert!(people.query::<Person>().order_by("Age").pages().try_next().await.is_err());
    /// # Ok(()) });
    /// ```
    pub fn pages(mut self) -> Pages<T> {
        if let Some(stage) = self.stages.iter().find(|stage| !stage.is_condition()) {
            self.rejected = Some(Error::input(format!("a query cannot be paged after '{}'", stage.text)));
        }
        let (plan, fingerprint) = (self.explain(), self.fingerprint());
        let (fetch, stages) = self.start();
        Pages::new(fetch, stages, plan, fingerprint)
    }

    /// All rows. Unlike with sorting, their number is not limited; use [`Query::take`] to limit it.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let adults = people.query::<Person>().filter(Person::age().ge(18)).collect().await?;
    /// assert_eq!(adults.len(), 3);
    /// # Ok(()) });
    /// ```
    pub async fn collect(self) -> Result<Vec<T>> {
        self.stream().collect().await
    }

    /// The first row, if there is one (LA-23, LA-27).
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let young = people.query::<Person>().filter(Person::age().lt(30)).first().await?;
    /// assert_eq!(young, Some(Person::new("Delft", "Bob", 28)));
    /// assert_eq!(people.query::<Person>().filter(Person::age().gt(99)).first().await?, None);
    /// # Ok(()) });
    /// ```
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
                self.rejected = Some(Error::input("this page token belongs to another query"));
            }
            left = token.left.into_iter().chain(left).min();
            request.continuation = Some(token.continuation);
        }
        let fetch = Fetch::new(self.source, request, self.pushed.page_size, left);
        (fetch.reject(self.rejected), self.stages)
    }

    fn select_names(&self) -> Vec<String> {
        let needed = self.stages.iter().flat_map(|stage| &stage.names).map(String::as_str);
        let with_kind = T::LINEAGE.is_some() || T::names().is_none();
        self.pushed.select_names(needed, with_kind)
    }

    /// Distinguishes queries whose page tokens are not interchangeable (FNV-1a).
    fn fingerprint(&self) -> u64 {
        let plan = self.explain();
        let text = format!("{}\n{:?}\n{:?}", plan.table, plan.filter, plan.select);
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
