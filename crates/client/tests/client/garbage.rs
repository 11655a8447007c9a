//! Services that are none: answers cut short, of another kind, without what they must have, or without end. No answer
//! makes the client panic, wait for ever, or say more than it knows.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Response;
use lazuli_client::transport::TransportResult;
use lazuli_client::{Applied, BoxFuture, Dynamic, ETag, Error, ErrorKind, Table, TableService, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{account_at, person};

/// Answers every request alike, and counts them.
#[derive(Clone)]
struct Parrot {
    answer: Response<Bytes>,
    asked: Arc<Mutex<usize>>,
}

impl Transport for Parrot {
    fn send(&self, _: http::Request<Bytes>) -> BoxFuture<'_, TransportResult> {
        *self.asked.lock().unwrap() += 1;
        let answer = self.answer.clone();
        Box::pin(async move { Ok(answer) })
    }
}

impl Parrot {
    fn new(status: u16, headers: &[(&str, &[u8])], body: &str) -> Self {
        let mut answer = Response::builder().status(status);
        for (name, value) in headers {
            answer = answer.header(*name, http::HeaderValue::from_bytes(value).unwrap());
        }
        Self { answer: answer.body(body.to_owned().into()).unwrap(), asked: Arc::default() }
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

/// What no table service sends with status 200.
const NO_ANSWERS: [&str; 7] = [
    "",
    "<html>Log in to the wireless network</html>",
    r#"{"value":[{"PartitionKey":"p","RowKey":"r","Timesta"#,
    r#"{"odata.error":{"code":"InternalError","message":{"value":"Oh."}}}"#,
    "{}",
    "[]",
    "<?xml version=\"1.0\"?><feed xmlns=\"http://www.w3.org/2005/Atom\"></feed>",
];

/// An answer to a read that is none is an error, not an empty page; and a read has changed nothing.
#[test]
fn an_error_in_place_of_a_page_is_not_an_empty_page() {
    run(async {
        for body in NO_ANSWERS {
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
                    (ErrorKind::Answer, Applied::No),
                    "{body}: {error}"
                );
            }
            assert_eq!(parrot.asked(), 4, "what makes no sense is not asked for again");
        }
    });
}

/// A batch is answered with 202 whether it was carried out or refused: whoever cannot read the answer does not know.
#[test]
fn a_batch_whose_answer_cannot_be_read_is_uncertain() {
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
                (ErrorKind::Answer, Applied::Unknown),
                "{body}: {error}"
            );
            assert_eq!(parrot.asked(), 1);
        }
    });
}

/// Changes are answered with 201, 202 or 204. A page with status 200 is somebody else's, who has changed nothing.
#[test]
fn a_page_of_somebody_else_is_no_change() {
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
            assert_eq!((error.kind(), error.applied()), (ErrorKind::Answer, Applied::Unknown), "{error}");
        }
    });
}

/// A change that is told to be made, without its version: it was made.
#[test]
fn a_change_without_an_etag_was_made() {
    run(async {
        let error = Parrot::new(204, &[], "").table().upsert(&person("p", "r", 1)).await.unwrap_err();
        assert_eq!((error.kind(), error.applied()), (ErrorKind::Answer, Applied::Yes), "{error}");
    });
}

/// No request is sent on to where an answer points: it would carry the signature there.
#[test]
fn redirections_are_not_followed() {
    run(async {
        for status in [301, 302, 307, 308] {
            let parrot = Parrot::new(status, &[("location", b"http://elsewhere.example/")], "");
            let error = parrot.table().get::<Dynamic>("p", "r").await.unwrap_err();
            assert_eq!((error.kind(), error.status()), (ErrorKind::Service, Some(status)), "{error}");
            assert_eq!(parrot.asked(), 1);
        }
    });
}

/// PG-15: a service that sends the same page for ever is found out at its second page, one without rows a little later.
#[test]
fn a_continuation_that_leads_to_itself_ends() {
    run(async {
        for (page, requests) in [(PAGE, 2..=2), (r#"{"value":[]}"#, 2..=50)] {
            for value in ["a", ""] {
                let parrot =
                    Parrot::new(200, &[("x-ms-continuation-nextpartitionkey", value.as_bytes())], page);
                let error = parrot.table().query::<Dynamic>().collect().await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Answer, "{error}");
                assert!(requests.contains(&parrot.asked()), "{} requests", parrot.asked());
            }
        }
        let names = r#"{"value":[{"TableName":"People"}]}"#;
        let parrot = Parrot::new(200, &[("x-ms-continuation-nexttablename", b"a")], names);
        let error = parrot.table().service().table_names().await.unwrap_err();
        assert_eq!((error.kind(), parrot.asked()), (ErrorKind::Answer, 2), "{error}");
    });
}

/// A service whose pages lead on in a circle, one token after the other.
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
        assert!(*asked < 1000, "it goes round and round");
        let answer = Response::builder().status(200).header(self.header, token);
        let answer = answer.body(self.page.into()).unwrap();
        Box::pin(async move { Ok(answer) })
    }
}

/// PG-15: only a page that led to itself was noticed; two that led to each other were read for ever.
#[test]
fn a_circle_of_continuations_is_noticed() {
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
                assert_eq!((error.kind(), error.applied()), (ErrorKind::Answer, Applied::No), "{error}");
                assert!(*asked.lock().unwrap() <= 3 * length, "{length}");
            });
        }
    }
}

/// A continuation that cannot be read is an error: to pass over it would be to lose all rows behind it.
#[test]
fn a_continuation_that_cannot_be_read_loses_no_rows() {
    run(async {
        let header = [("x-ms-continuation-nextpartitionkey", "Zürich".as_bytes())];
        let error = Parrot::new(200, &header, PAGE).table().query::<Dynamic>().collect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Answer, "{error}");
        let header = [("x-ms-continuation-nexttablename", "Zürich".as_bytes())];
        let service = Parrot::new(200, &header, r#"{"value":[]}"#).table().service().clone();
        assert_eq!(service.table_names().await.unwrap_err().kind(), ErrorKind::Answer);
    });
}

/// Numbers of an explanation are added up without a panic, whatever they are.
#[test]
fn numbers_of_explanations_do_not_overflow() {
    run(async {
        let most = u64::MAX.to_string();
        let headers = [("x-lazuli-plan", b"table".as_slice()), ("x-lazuli-rows-read", most.as_bytes())];
        let mut continued = headers.to_vec();
        continued.push(("x-ms-continuation-nextpartitionkey", b"a"));
        let parrot = Parrot::new(200, &continued, r#"{"value":[]}"#);
        let mut rows = parrot.table().query::<Dynamic>().explained().stream();
        assert!(rows.try_next().await.is_err(), "the same place again and again");
        assert_eq!(rows.explain().ran.unwrap().rows_read, Some(u64::MAX));
    });
}

/// A version that would be two lines of a request is refused: in a batch nobody else looks at it.
#[test]
fn a_version_of_two_lines_is_refused() {
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

/// An answer that does not end is given up, and does not fill the memory. It was asked for again, four times.
#[test]
fn an_answer_without_end_is_given_up_and_not_asked_for_again() {
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
        // With another attempt it would be that nobody listens.
        assert_eq!((error.kind(), error.applied()), (ErrorKind::Answer, Applied::No), "{error}");
        assert_eq!(error.message(), "the answer has more than 67108864 bytes");
        drop(service);
        assert!(sent.await.unwrap() < 100 << 20);
    });
}
