//! Fetches the pages of a query, each only when it is needed (LA-28, PG-18).

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use lazuli_model::table::limits::PAGE_ROWS_MAX;

use crate::decode::decode_page;
use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::page::{Continuation, PageRequest, PageSource, RawPage};
use crate::query::plan::Ran;
use crate::trail::Trail;
use crate::transport::BoxFuture;

/// Source of rows.
pub(crate) trait Source<T>: Send {
    /// The next row.
    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>>;

    /// Cost so far.
    fn ran(&self) -> &Ran;
}

/// Reads a table page by page.
pub(crate) struct Fetch<T> {
    source: Arc<dyn PageSource>,
    request: PageRequest,
    page_size: Option<u32>,
    /// Number of rows that may still be returned; `None` for all.
    left: Option<u64>,
    /// Error of a query that cannot be sent, returned by the first poll.
    rejected: Option<Error>,
    pending: Option<BoxFuture<'static, Result<RawPage>>>,
    buffer: std::vec::IntoIter<T>,
    done: bool,
    trail: Trail,
    ran: Ran,
}

/// The position after a page: the number of rows left, and the start of the next page.
pub(crate) struct End {
    pub(crate) left: Option<u64>,
    pub(crate) continuation: Continuation,
}

/// The rows of a page, and the position after it if there are more.
pub(crate) type Fetched<T> = (Vec<T>, Option<End>);

impl<T: Entity> Fetch<T> {
    pub(crate) fn new(
        source: Arc<dyn PageSource>,
        request: PageRequest,
        page_size: Option<u32>,
        left: Option<u64>,
    ) -> Self {
        Self {
            source,
            trail: Trail::starting_at(request.continuation.clone()),
            request,
            page_size,
            left,
            rejected: None,
            pending: None,
            buffer: Vec::new().into_iter(),
            done: left == Some(0),
            ran: Ran::default(),
        }
    }

    pub(crate) fn reject(mut self, error: Option<Error>) -> Self {
        self.done &= error.is_none();
        self.rejected = error;
        self
    }

    /// The next page, and the position after it.
    pub(crate) fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Fetched<T>>>> {
        if let Some(error) = self.rejected.take() {
            self.done = true;
            return Poll::Ready(Some(Err(error)));
        }
        if self.done {
            return Poll::Ready(None);
        }
        let pending = self.pending.get_or_insert_with(|| {
            self.request.top = top(self.page_size, self.left);
            let (source, request) = (self.source.clone(), self.request.clone());
            self.ran.requests += 1;
            Box::pin(async move { source.page(request).await })
        });
        let response = ready!(pending.as_mut().poll(cx));
        self.pending = None;
        let page = response.and_then(|page| self.take_in(page));
        self.done |= page.is_err();
        Poll::Ready(Some(page))
    }

    fn take_in(&mut self, page: RawPage) -> Result<Fetched<T>> {
        let mut rows: Vec<T> = decode_page(&page.body)?;
        if let Some(left) = &mut self.left {
            rows.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= u64::try_from(rows.len()).unwrap_or(*left).min(*left);
        }
        self.ran.rows_received += u64::try_from(rows.len()).unwrap_or_default();
        if let Some(explain) = page.explain {
            let read = self.ran.rows_read.get_or_insert_default();
            *read = read.saturating_add(explain.rows_read);
            self.ran.reading = Some(explain.plan);
        }
        let continuation = page.continuation.filter(|_| self.left != Some(0));
        self.trail.advance(continuation.as_ref(), rows.is_empty())?;
        self.done = continuation.is_none();
        self.request.continuation = continuation.clone();
        Ok((rows, continuation.map(|continuation| End { left: self.left, continuation })))
    }
}

/// `$top` of the next page: the requested page size, or the rest if that is less than a full page.
fn top(page_size: Option<u32>, left: Option<u64>) -> Option<u32> {
    let whole = u64::try_from(PAGE_ROWS_MAX).unwrap_or(u64::MAX);
    let size = page_size.map(u64::from).into_iter().chain(left).min()?;
    (page_size.is_some() || size < whole).then(|| u32::try_from(size.min(whole)).unwrap_or(u32::MAX))
}

impl<T: Entity> Source<T> for Fetch<T> {
    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            if let Some(row) = self.buffer.next() {
                return Poll::Ready(Some(Ok(row)));
            }
            match ready!(self.poll_page(cx)) {
                Some(Ok((rows, _))) => self.buffer = rows.into_iter(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }

    fn ran(&self) -> &Ran {
        &self.ran
    }
}
