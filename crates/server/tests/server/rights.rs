//! A permission error is reported before any other error in the request, and before its body is read.
//!
//! Every operation by every kind of token, valid and with something wrong: with the body if it has one, and with
//! something in the head.

use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::auth::sas::Token;
use lazuli_protocol::http::query::Query;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

use crate::support::{Request, Server, TestResponse};

/// A request.
struct Asked {
    method: &'static str,
    path: &'static str,
    query: &'static str,
    fields: &'static [(&'static str, &'static str)],
    body: Option<&'static str>,
    /// The kind of resource, a letter of `srt`; `None` where only the account's key will do.
    resource: Option<char>,
    /// Sets of letters of `sp`, one of which must be there as a whole.
    letters: &'static [&'static str],
    /// The errors to test it with.
    broken: &'static [Broken],
}

#[derive(Debug)]
enum Broken {
    Body(&'static str),
    Query(&'static str),
    Field(&'static str, &'static str),
    NoField(&'static str),
}

const ONE: &str = "/Data(PartitionKey='p',RowKey='r')";
const IF_MATCH: (&str, &str) = ("If-Match", "*");
const BATCH: (&str, &str) = ("Content-Type", "multipart/mixed; boundary=b");
const BATCH_BODY: &str = "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
    GET http://127.0.0.1/devstoreaccount1/Data(PartitionKey='p',RowKey='r') HTTP/1.1\r\n\r\n\r\n--b--\r\n";
const NO_JSON: Broken = Broken::Body("{\"Name\":");
const NO_XML: Broken = Broken::Body("<SignedIdentifiers><");
const NO_TIME: Broken = Broken::Query("timeout=soon");
const NO_FORMAT: Broken = Broken::Field("Accept", "application/atom+xml");

const fn asked(
    method: &'static str,
    path: &'static str,
    resource: Option<char>,
    letters: &'static [&'static str],
) -> Asked {
    Asked { method, path, query: "", fields: &[], body: None, resource, letters, broken: &[NO_TIME] }
}

fn operations() -> Vec<Asked> {
    let entity = |method, letters, fields| Asked {
        fields,
        body: Some("{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Age\":5}"),
        broken: &[NO_JSON, NO_TIME],
        ..asked(method, ONE, Some('o'), letters)
    };
    let service = |method, letters| Asked {
        query: "restype=service&comp=properties",
        ..asked(method, "/", Some('s'), letters)
    };
    let policies = |method| Asked { query: "comp=acl", ..asked(method, "/Data", None, &[]) };
    let bad_filter = &[Broken::Query("$filter=a%20b%20c"), NO_FORMAT, NO_TIME];
    vec![
        Asked { broken: bad_filter, ..asked("GET", "/Tables", Some('c'), &["l"]) },
        Asked { broken: &[NO_FORMAT, NO_TIME], ..asked("GET", "/Tables('Data')", Some('c'), &["l"]) },
        Asked {
            body: Some("{\"TableName\":\"New\"}"),
            broken: &[NO_JSON, NO_FORMAT, NO_TIME],
            ..asked("POST", "/Tables", Some('c'), &["c", "w"])
        },
        asked("DELETE", "/Tables('New')", Some('c'), &["d"]),
        Asked { broken: bad_filter, ..asked("GET", "/Data()", Some('o'), &["r"]) },
        Asked { broken: &[NO_FORMAT, NO_TIME], ..asked("GET", ONE, Some('o'), &["r"]) },
        Asked { path: "/Data", broken: &[NO_JSON, NO_FORMAT, NO_TIME], ..entity("POST", &["a"], &[]) },
        entity("PUT", &["au"], &[]),
        entity("PUT", &["u"], &[IF_MATCH]),
        entity("MERGE", &["au"], &[]),
        entity("PATCH", &["u"], &[IF_MATCH]),
        Asked {
            fields: &[IF_MATCH],
            broken: &[Broken::NoField("If-Match"), NO_TIME],
            ..asked("DELETE", ONE, Some('o'), &["d"])
        },
        Asked {
            fields: &[BATCH],
            body: Some(BATCH_BODY),
            broken: &[
                Broken::Body("--b\r\n"),
                Broken::Body(""),
                Broken::Field("Content-Type", "application/json"),
                NO_TIME,
            ],
            ..asked("POST", "/$batch", Some('o'), &["r", "a", "u", "d"])
        },
        service("GET", &["r"]),
        Asked {
            body: Some("<StorageServiceProperties></StorageServiceProperties>"),
            broken: &[NO_XML, NO_TIME],
            ..service("PUT", &["w"])
        },
        policies("GET"),
        Asked {
            body: Some("<SignedIdentifiers></SignedIdentifiers>"),
            broken: &[NO_XML, NO_TIME],
            ..policies("PUT")
        },
    ]
}

/// Someone with a token.
struct Caller {
    /// The parameters of the token, signed.
    token: String,
    /// The kinds of resources, or one table.
    resources: &'static str,
    letters: &'static str,
    table: Option<&'static str>,
}

const LETTERS: [&str; 9] = ["r", "w", "d", "l", "a", "u", "c", "au", "rwdlacu"];

fn callers() -> Vec<Caller> {
    let of_account = ["s", "c", "o", "sco"].into_iter().flat_map(|resources| {
        LETTERS.map(|letters| Caller {
            token: sign(&format!("ss=t&srt={resources}&sp={letters}")),
            resources,
            letters,
            table: None,
        })
    });
    let of_table = ["Data", "Other"].into_iter().flat_map(|table| {
        ["r", "a", "u", "d", "au", "raud"].map(|letters| Caller {
            token: sign(&format!("tn={table}&sp={letters}")),
            resources: "o",
            letters,
            table: Some(table),
        })
    });
    of_account.chain(of_table).collect()
}

fn sign(terms: &str) -> String {
    let query = format!("sv=2019-02-02&se=2099-01-01T00%3A00%3A00Z&{terms}&sig=x");
    let mut token = Token::parse(Query(&query)).unwrap();
    assert!(token.sign(DEVELOPMENT_ACCOUNT, &AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()));
    token.to_query()
}

impl Caller {
    fn may(&self, asked: &Asked) -> bool {
        let is_here = self.table != Some("Other") || asked.path == "/$batch";
        let has = |letters: &&str| letters.chars().all(|letter| self.letters.contains(letter));
        asked.resource.is_some_and(|resource| self.resources.contains(resource))
            && is_here
            && asked.letters.iter().any(has)
    }
}

impl Asked {
    fn request(&self, caller: &Caller, broken: Option<&Broken>) -> Request {
        let more = if let Some(Broken::Query(query)) = broken { query } else { "" };
        let target = format!("{}?{}&{}&{more}", self.path, caller.token, self.query);
        let body = if let Some(Broken::Body(body)) = broken { Some(*body) } else { self.body };
        let mut request = match body {
            Some(body) => Request::with_body(self.method, &target, body),
            None => Request::new(self.method, &target),
        };
        for (name, value) in self.fields {
            request = request.set(name, value);
        }
        match broken {
            Some(Broken::Field(name, value)) => request.set(name, value).unsigned(),
            Some(Broken::NoField(name)) => request.without(name).unsigned(),
            Some(Broken::Body(_) | Broken::Query(_)) | None => request.unsigned(),
        }
    }
}

/// The content of a response, independent of XML or JSON.
fn told(response: &TestResponse) -> (u16, &str) {
    (response.status, response.code())
}

#[test]
fn a_forbidden_caller_learns_nothing_of_what_else_is_wrong() {
    let server = Server::start();
    server.create_table("Data");
    server.create_table("Other");
    let (mut allowed, mut forbidden, mut wrong) = (0, 0, vec![]);
    for asked in operations() {
        for caller in callers() {
            let may = caller.may(&asked);
            let mut note = |is_right: bool, what: &dyn std::fmt::Debug, response: &TestResponse| {
                if !is_right {
                    let (method, path, token) = (asked.method, asked.path, &caller.token);
                    wrong.push(format!("{method} {path} by {token}: {what:?}: {:?}", told(response)));
                }
            };
            let ask = |request: &Request| server.connect().ask(request);
            let good = ask(&asked.request(&caller, None));
            note((good.status == 403) != may && good.status != 400, &"as it should be", &good);
            for broken in asked.broken {
                let bad = ask(&asked.request(&caller, Some(broken)));
                let is_right = if may { [400, 415].contains(&bad.status) } else { told(&bad) == told(&good) };
                note(is_right, broken, &bad);
                *if may { &mut allowed } else { &mut forbidden } += 1;
            }
            if !may && asked.body.is_some() {
                let mut client = server.connect();
                client.send(asked.request(&caller, None).head());
                let unread = client.response();
                note(told(&unread) == told(&good), &"without its body", &unread);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(allowed > 100 && forbidden > 1000, "{allowed} {forbidden}");
}
