//! Invalid services: responses that are truncated, of another kind, incomplete, or endless. None makes the client
//! panic, wait forever, or claim more than it knows.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Response;
use lazuli_client::transport::TransportResult;
use lazuli_client::{Applied, BoxFuture, Dynamic, ETag, Error, ErrorKind, Table, TableService, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{account_at, person};

/// Sends every request the same response, and counts the requests.
#[derive(Clone)]
struct Parrot {
    response: Response<Bytes>,
    asked: Arc<Mutex<usize>>,
}

impl Transport for Parrot {
    fn send(&self, _: http::Request<Bytes>) -> BoxFuture<'_, TransportResult> {
        *self.asked.lock().unwrap() += 1;
        let response = self.response.clone();
        Box::pin(async move { Ok(response) })
    }
}

impl Parrot {
    fn new(status: u16, headers: &[(&str, &[u8])], body: &str) -> Self {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, http::HeaderValue::from_bytes(value).unwrap());
        }
        Self { response: response.body(body.to_owned().into()).unwrap(), asked: Arc::default() }
    }

    fn table(&self) -> Table {
        let builder = TableService::builder(lazuli_embedded::account()).transport(self.clone());
        builder.build().unwrap().table("People").unwrap()
    }

    fn asked(&self) -> usize {
        *self.asked.lock().unwrap()
    }
}

fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(test);
}

const PAGE: &str = r#"{"value":[{"PartitionKey":"p","RowKey":"r","Timestamp":"2024-01-01T00:00:00Z"}]}"#;

/// Bodies that no table service sends with status 200.
const INVALID_BODIES: [&str; 7] = [
    "",
    "<html>Log in to the wireless network</html>",
    r#"{"value":[{"PartitionKey":"p","RowKey":"r","Timesta"#,
    r#"{"odata.error":{"code":"InternalError","message":{"value":"Oh."}}}"#,
    "{}",
    "[]",
    "<?xml version=\"1.0\"?><feed xmlns=\"http://www.w3.org/2005/Atom\"></feed>",
];

/// An invalid response to a read is an error, not an empty page. The error says that nothing was applied.
#[test]
fn an_error_in_place_of_a_page_is_not_an_empty_page() {
    run(async {
        for body in INVALID_BODIES {
            let parrot = Parrot::new(200, &[], body);
            let table = parrot.table();
            let errors: [Error; 4] = [
                table.get::<Dynamic>("p", "r").await.expect_err(body),
                table.query::<Dynamic>().collect().await.expect_err(body),
                table.query::<Dynamic>().count().await.expect_err(body),
                table.service().table_names().await.expect_err(body),
            ];
            for error in errors {
                assert_eq!(
                    (error.kind(), error.applied()),
                    (ErrorKind::InvalidResponse, Applied::No),
                    "{body}: {error}"
                );
            }
            assert_eq!(parrot.asked(), 4, "an invalid response is not retried");
        }
    });
}

/// A batch gets 202 whether it was applied or rejected, so without a readable response the outcome is unknown.
#[test]
fn a_batch_with_an_invalid_response_is_uncertain() {
    let kind = b"multipart/mixed; boundary=b".as_slice();
    let part =
        "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\nETag: W/\"x\"\r\n\r\n\r\n";
    run(async {
        for (headers, body) in [
            (vec![], "<html></html>".to_owned()),
            (vec![("content-type", b"application/json".as_slice())], "{}".to_owned()),
            (vec![("content-type", kind)], "--b\r\nContent-Type: appl".to_owned()),
            // One part for two operations.
            (vec![("content-type", kind)], format!("{part}--b--\r\n")),
        ] {
            let parrot = Parrot::new(202, &headers, &body);
            let mut batch = parrot.table().partition("p").unwrap().batch();
            batch.insert(&person("p", "a", 1)).unwrap().insert(&person("p", "b", 1)).unwrap();
            let error = batch.execute().await.expect_err(&body);
            assert_eq!(
                (error.kind(), error.applied()),
                (ErrorKind::InvalidResponse, Applied::Unknown),
                "{body}: {error}"
            );
            assert_eq!(parrot.asked(), 1);
        }
    });
}

/// Changes get 201, 202 or 204. A page with status 200 comes from something else, which has changed nothing.
#[test]
fn a_foreign_page_is_not_a_change() {
    run(async {
        let parrot = Parrot::new(200, &[("etag", b"\"page\"")], "<html>Log in</html>");
        let table = parrot.table();
        let mut batch = table.partition("p").unwrap().batch();
        batch.upsert(&person("p", "r", 1)).unwrap();
        for error in [
            table.insert(&person("p", "r", 1)).await.expect_err("insert"),
            table.merge(&person("p", "r", 1)).await.expect_err("merge"),
            table.delete_entity("p", "r").await.expect_err("delete"),
            table.create().await.expect_err("create"),
            table.delete().await.expect_err("delete table"),
            batch.execute().await.expect_err("batch"),
        ] {
            assert_eq!(
                (error.kind(), error.applied()),
                (ErrorKind::InvalidResponse, Applied::Unknown),
                "{error}"
            );
        }
    });
}

/// A change confirmed without its version was applied.
#[test]
fn a_change_without_an_etag_was_applied() {
    run(async {
        let error = Parrot::new(204, &[], "").table().upsert(&person("p", "r", 1)).await.unwrap_err();
        assert_eq!((error.kind(), error.applied()), (ErrorKind::InvalidResponse, Applied::Yes), "{error}");
    });
}

/// Redirects are not followed: the request would carry the signature to another host.
#[test]
fn redirects_are_not_followed() {
    run(async {
        for status in [301, 302, 307, 308] {
            let parrot = Parrot::new(status, &[("location", b"http://elsewhere.example/")], "");
            let error = parrot.table().get::<Dynamic>("p", "r").await.unwrap_err();
            assert_eq!((error.kind(), error.status()), (ErrorKind::Service, Some(status)), "{error}");
            assert_eq!(parrot.asked(), 1);
        }
    });
}

/// PG-15: a service that returns the same page forever is detected at its second page, an empty one a little later.
#[test]
fn a_continuation_that_repeats_itself_is_detected() {
    run(async {
        for (page, requests) in [(PAGE, 2..=2), (r#"{"value":[]}"#, 2..=50)] {
            for value in ["a", ""] {
                let parrot =
                    Parrot::new(200, &[("x-ms-continuation-nextpartitionkey", value.as_bytes())], page);
                let error = parrot.table().query::<Dynamic>().collect().await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
                assert!(requests.contains(&parrot.asked()), "{} requests", parrot.asked());
            }
        }
        let names = r#"{"value":[{"TableName":"People"}]}"#;
        let parrot = Parrot::new(200, &[("x-ms-continuation-nexttablename", b"a")], names);
        let error = parrot.table().service().table_names().await.unwrap_err();
        assert_eq!((error.kind(), parrot.asked()), (ErrorKind::InvalidResponse, 2), "{error}");
    });
}

/// A service whose continuations form a cycle.
struct Circle {
    header: &'static str,
    page: &'static str,
    tokens: Vec<String>,
    asked: Arc<Mutex<usize>>,
}

impl Transport for Circle {
    fn send(&self, _: http::Request<Bytes>) -> BoxFuture<'_, TransportResult> {
        let mut asked = self.asked.lock().unwrap();
        let token = &self.tokens[*asked % self.tokens.len()];
        *asked += 1;
        assert!(*asked < 1000, "the cycle is not detected");
        let response = Response::builder().status(200).header(self.header, token);
        let response = response.body(self.page.into()).unwrap();
        Box::pin(async move { Ok(response) })
    }
}

/// PG-15: a page that led to itself was detected, but two pages that led to each other were read forever.
#[test]
fn a_cycle_of_continuations_is_detected() {
    let names = r#"{"value":[{"TableName":"People"}]}"#;
    let (of_rows, of_tables) = ("x-ms-continuation-nextpartitionkey", "x-ms-continuation-nexttablename");
    for (header, page) in [(of_rows, PAGE), (of_rows, r#"{"value":[]}"#), (of_tables, names)] {
        for length in [2, 3, 10] {
            run(async {
                let asked: Arc<Mutex<usize>> = Arc::default();
                let tokens = (0..length).map(|n| format!("token{n}")).collect();
                let circle = Circle { header, page, tokens, asked: Arc::clone(&asked) };
                let builder = TableService::builder(lazuli_embedded::account()).transport(circle);
                let service = builder.build().unwrap();
                let error = if header == of_tables {
                    service.table_names().await.unwrap_err()
                } else {
                    service.table("People").unwrap().query::<Dynamic>().collect().await.unwrap_err()
                };
                assert_eq!(
                    (error.kind(), error.applied()),
                    (ErrorKind::InvalidResponse, Applied::No),
                    "{error}"
                );
                assert!(*asked.lock().unwrap() <= 3 * length, "{length}");
            });
        }
    }
}

/// A continuation that cannot be parsed is an error: ignoring it would lose all rows after it.
#[test]
fn an_invalid_continuation_loses_no_rows() {
    run(async {
        let header = [("x-ms-continuation-nextpartitionkey", "Zürich".as_bytes())];
        let error = Parrot::new(200, &header, PAGE).table().query::<Dynamic>().collect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        let header = [("x-ms-continuation-nexttablename", "Zürich".as_bytes())];
        let service = Parrot::new(200, &header, r#"{"value":[]}"#).table().service().clone();
        assert_eq!(service.table_names().await.unwrap_err().kind(), ErrorKind::InvalidResponse);
    });
}

/// Numbers of an explanation are summed without a panic, whatever they are.
#[test]
fn numbers_of_explanations_do_not_overflow() {
    run(async {
        let most = u64::MAX.to_string();
        let headers = [("x-lazuli-plan", b"table".as_slice()), ("x-lazuli-rows-read", most.as_bytes())];
        let mut continued = headers.to_vec();
        continued.push(("x-ms-continuation-nextpartitionkey", b"a"));
        let parrot = Parrot::new(200, &continued, r#"{"value":[]}"#);
        let mut rows = parrot.table().query::<Dynamic>().explained().stream();
        assert!(rows.try_next().await.is_err(), "the same continuation again and again");
        assert_eq!(rows.explain().ran.unwrap().rows_read, Some(u64::MAX));
    });
}

/// An ETag with a line break is rejected: nothing else would check it in a batch.
#[test]
fn an_etag_with_a_line_break_is_rejected() {
    run(async {
        let parrot = Parrot::new(204, &[("etag", b"x")], "");
        let evil = ETag::new("x\r\nPrefer: nothing");
        let table = parrot.table();
        let mut batch = table.partition("p").unwrap().batch();
        for error in [
            batch.update_if(&person("p", "r", 1), &evil).map(|_| ()).expect_err("update"),
            batch.delete_if("r", &evil).map(|_| ()).expect_err("delete"),
            table.update_if(&person("p", "r", 1), &evil).await.map(|_| ()).expect_err("single"),
        ] {
            assert_eq!(error.kind(), ErrorKind::Input, "{error}");
        }
        assert_eq!((batch.len(), parrot.asked()), (0, 0));
    });
}

/// An endless response is abandoned without filling memory. It was once retried four times.
#[test]
fn an_endless_response_is_abandoned_and_not_retried() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.unwrap().block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let sent = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            drop(listener);
            let mut input = [0; 4096];
            let _ = stream.read(&mut input).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"value\":[").await.unwrap();
            let (piece, mut sent) = (vec![b' '; 1 << 20], 0);
            while stream.write_all(&piece).await.is_ok() {
                sent += piece.len();
            }
            sent
        });
        let service = TableService::builder(account_at(address)).build().unwrap();
        let error = service.table("People").unwrap().get::<Dynamic>("p", "r").await.unwrap_err();
        // Another attempt would fail because nothing listens any more.
        assert_eq!((error.kind(), error.applied()), (ErrorKind::InvalidResponse, Applied::No), "{error}");
        assert_eq!(error.message(), "the response has more than 67108864 bytes");
        drop(service);
        assert!(sent.await.unwrap() < 100 << 20);
    });
}
