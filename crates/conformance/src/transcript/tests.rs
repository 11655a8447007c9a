//! Parsing transcripts.

use super::*;

const FILE: &str = r#"# Creating a table
# twice is a conflict.
# Truth: recorded
# Requirements: OP-03, OP-04
Accept: application/json
-DataServiceVersion
x-lazuli-tables: a b
x-lazuli-row: a {"PartitionKey":"p"}
x-lazuli-let: ns xmlns="x"

### Create
# a remark
POST /Tables?$filter=a b
Prefer: return-no-content
-Accept
x-lazuli-sign: SharedKey
x-lazuli-date: -16m
x-lazuli-repeat: 1..3

{"TableName":"{table:a}"}

<<< 201 json
ETag: {etag:1}
!Location

{"a":1}
{"b":2}

### Look
GET /Tables
<<< 200
"#;

#[test]
fn a_file_becomes_data() {
    let transcript = Transcript::parse("table/tables/create", FILE).unwrap();
    assert_eq!(transcript.about, "Creating a table twice is a conflict.");
    assert_eq!(transcript.truth, "recorded");
    assert_eq!(transcript.requirements, ["OP-03", "OP-04"]);
    assert_eq!(transcript.group(), "tables");
    assert_eq!(transcript.setup.made, [(Resource::Table, "a".to_owned()), (Resource::Table, "b".to_owned())]);
    assert_eq!(transcript.setup.rows.len(), 1);
    assert_eq!(transcript.setup.headers.len(), 2);
    let [create, look] = &transcript.exchanges[..] else { panic!("two exchanges") };
    assert_eq!((create.title.as_str(), create.line, create.method.as_str()), ("Create", 11, "POST"));
    assert_eq!(create.options.sign.as_deref(), Some("SharedKey"));
    assert_eq!(create.options.date_shift_seconds, -960);
    assert_eq!(create.options.repeat, Some((1, 3)));
    assert_eq!(create.headers.len(), 2);
    assert_eq!((create.expected.status, create.expected.mode), (201, Mode::Json));
    assert_eq!(create.expected.headers.len(), 2);
    assert_eq!(create.expected.body_lines, [26, 27]);
    assert!(look.body.is_none() && look.expected.body == Template::default());
}

#[test]
fn bodies_may_have_windows_line_ends() {
    let file =
        "# x\n# Truth: y\n### t\nPOST /a\nx-lazuli-eol: crlf\n\na\nb\n\n<<< 202 crlf\n\nc\n\nd{crlf}\n";
    let transcript = Transcript::parse("table/a/b", file).unwrap();
    let exchange = &transcript.exchanges[0];
    assert_eq!(exchange.body, Some(Template::parse("a\r\nb")));
    assert_eq!(exchange.expected.body, Template::parse("c\r\n\r\nd{crlf}"));
}

#[track_caller]
fn rejected(file: &str, line: usize, message: &str) {
    let error = Transcript::parse("table/a/b", file).unwrap_err();
    assert_eq!((error.line, error.message.contains(message)), (line, true), "{error}");
}

#[test]
fn mistakes_are_named_with_their_line() {
    rejected("### x\nGET /\n<<< 200\n", 1, "Truth");
    rejected("# x\n# Truth: y\n### t\nGET /\n", 3, "no response");
    rejected("# x\n# Truth: y\n### t\n<<< 200\n", 3, "no request");
    rejected("# x\n# Truth: y\n### t\nGET\n<<< 200\n", 4, "verb and a path");
    rejected("# x\n# Truth: y\n### t\nGET /\n<<< ok\n", 5, "status");
    rejected("# x\n# Truth: y\n### t\nGET /\n<<< 200 xml\n", 5, "comparison");
    rejected("# x\n# Truth: y\n### t\nGET /\nnonsense\n<<< 200\n", 5, "colon");
    rejected("# x\n# Truth: y\n### t\nGET /\nx-lazuli-none: 1\n<<< 200\n", 5, "unknown option");
    rejected("# x\n# Truth: y\n### t\nGET /\nx-lazuli-only: https\n<<< 200\n", 5, "unknown option");
    rejected("# x\n# Truth: y\nx-lazuli-row: a\n", 3, "two words");
    rejected("# x\n# Truth: y\n### t\nGET /\nx-lazuli-repeat: 5\n<<< 200\n", 5, "range");
}
