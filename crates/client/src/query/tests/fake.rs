//! A table in memory that records requests.

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use crate::dynamic::Dynamic;
use crate::error::Result;
use crate::keys;
use crate::page::{Continuation, Explain, PageRequest, RawPage};
use crate::query::*;
use crate::transport::BoxFuture;

/// A table whose rows are sorted by key.
pub(super) struct Fake {
    rows: Vec<Dynamic>,
    pub(super) asked: Mutex<Vec<PageRequest>>,
}

impl Fake {
    pub(super) fn new(rows: Vec<Dynamic>) -> Arc<Self> {
        Arc::new(Self { rows, asked: Mutex::default() })
    }

    pub(super) fn query<T: Entity>(self: &Arc<Self>) -> Query<T> {
        Query::new(self.clone(), TableName::new("Fake").unwrap())
    }

    pub(super) fn requests(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn respond(&self, request: &PageRequest) -> RawPage {
        let filter = request.filter.as_deref();
        let filter = filter.map_or_else(Filter::all, |text| Filter::parse(text).unwrap());
        let start = request.continuation.as_ref().map_or(0, |next| next.partition.parse().unwrap());
        let top = usize::try_from(request.top.unwrap_or(1000)).unwrap();
        assert!((1..=1000).contains(&top), "$top is within the limits of the service");
        let mut body = br#"{"value":["#.to_vec();
        let (mut count, mut at) = (0, start);
        while at < self.rows.len() && count < top {
            if filter.holds(&self.rows[at]) {
                body.extend(if count > 0 { b"," } else { b" " });
                body.extend(crate::entity::encode(&selected(&self.rows[at], &request.select)).unwrap().body);
                count += 1;
            }
            at += 1;
        }
        body.extend(b"]}");
        let next = (at < self.rows.len()).then(|| Continuation { partition: at.to_string(), row: None });
        let explain = request.explain.then(|| Explain {
            plan: "table".into(),
            rows_read: u64::try_from(at - start).unwrap(),
            ..Explain::default()
        });
        RawPage { body: body.into(), continuation: next, explain, request_id: None }
    }
}

fn selected(row: &Dynamic, names: &[String]) -> Dynamic {
    let mut out = Dynamic::new(row.partition_key.clone(), row.row_key.clone());
    for (name, value) in &row.props {
        if names.is_empty() || names.iter().any(|given| given == name) {
            out.set(name.to_owned(), value).unwrap();
        }
    }
    out
}

impl PageSource for Fake {
    fn page<'a>(&'a self, request: PageRequest) -> BoxFuture<'a, Result<RawPage>> {
        Box::pin(async move {
            let page = self.respond(&request);
            self.asked.lock().unwrap().push(request);
            Ok(page)
        })
    }
}

/// The fake is always ready.
pub(super) fn now<F: Future>(future: F) -> F::Output {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the fake is always ready"),
    }
}

/// Rows with a number each.
pub(super) fn numbers(count: u32) -> Arc<Fake> {
    let row = |n: u32| {
        let entity = Dynamic::new("p", keys::padded(n.into(), 6).unwrap());
        entity
            .with("N", i32::try_from(n).unwrap())
            .unwrap()
            .with("Rest", i32::try_from(n % 7).unwrap())
            .unwrap()
    };
    Fake::new((0..count).map(row).collect())
}
