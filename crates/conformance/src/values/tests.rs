//! Tests of filling in and capturing the values of a transcript.

use super::*;

fn values() -> Values {
    Values::new("http://127.0.0.1:10002/dev", "dev")
}

#[track_caller]
fn check(template: &str, expected: &str) {
    assert_eq!(values().render(&Template::parse(template)).as_deref(), Ok(expected));
}

#[test]
fn requests_are_rendered() {
    check("{base} {root} {host} {account}", "http://127.0.0.1:10002/dev /dev 127.0.0.1:10002 dev");
    check("{repeat:ab:3}", "ababab");
    check(r#"[0{each:1:3:,{"k":"{n:2}"}}]"#, r#"[0,{"k":"01"},{"k":"02"},{"k":"03"}]"#);
    check("{upper:ab}{lower:CD}{url:a b!}", "ABcda%20b%21");
    check("a{crlf}b{lf}", "a\r\nb\n");
}

#[test]
fn tables_have_fresh_names_that_last() {
    let mut values = values();
    let name = values.render(&Template::parse("{table:a}")).unwrap();
    assert!(name.starts_with("Cf") && name.ends_with('a') && name.len() == 15, "{name}");
    assert_eq!(values.render(&Template::parse("{prefix}a")).unwrap(), name);
    assert_eq!(values.render(&Template::parse("{upper:{table:a}}")).unwrap(), name.to_uppercase());
}

/// Queues and containers have names in lower case; all named resources are deleted at the end.
#[test]
fn resources_have_names_of_their_kind() {
    let mut values = values();
    let names = values.render(&Template::parse("{queue:a} {container:b} {table:T} {queue:a}")).unwrap();
    let names: Vec<&str> = names.split(' ').collect();
    assert!(names[..2].iter().all(|name| name.to_lowercase() == *name), "{names:?}");
    let used = values.used();
    let used: Vec<_> = used.iter().map(|(kind, name)| (*kind, name.as_str())).collect();
    let expected =
        [(Resource::Queue, names[0]), (Resource::Container, names[1]), (Resource::Table, names[2])];
    assert_eq!(used, expected);
}

#[test]
fn tokens_are_signed_for_their_resource() {
    let mut values = values();
    values.key = lazuli_protocol::auth::AccountKey::from_base64("a2V5");
    let mut render = |text: &str| values.render(&Template::parse(text));
    let one = render("{sas:{queue:a}?sv=2021-12-02&sp=r&se=2030-01-01}").unwrap();
    let other = render("{sas:{queue:b}?sv=2021-12-02&sp=r&se=2030-01-01}").unwrap();
    assert!(one.starts_with("sv=2021-12-02&sp=r&se=2030-01-01&sig=") && one != other, "{one}");
    assert!(render("{sas:sv=2021-12-02&sp=r}").is_err(), "a queue token needs a queue");
}

#[test]
fn captured_values_come_back() {
    let mut values = values();
    let tag = Template::parse("{etag:1}");
    assert_eq!(values.render(&tag), Err("nothing was captured for {etag:1}".to_owned()));
    values.settle(Capture::Stamp, "1", "2022-05-06T00:31:05.07Z").unwrap();
    assert_eq!(values.render(&tag).unwrap(), "W/\"datetime'2022-05-06T00%3A31%3A05.07Z'\"");
    assert_eq!(values.render(&Template::parse("{stamp:1}")).unwrap(), "2022-05-06T00:31:05.07Z");
    assert!(values.settle(Capture::Etag, "1", "2022-05-06T00:31:06Z").is_err(), "inconsistent");
    assert!(values.settle(Capture::Etag, "2", "2022-05-06T00:31:05.07Z").is_err(), "shared");
    values.settle(Capture::Etag, "2", "2022-05-06T00:31:06Z").unwrap();
    let id = values.render(&Template::parse("{id:x}")).unwrap();
    assert_eq!(values.render(&Template::parse("{id:x}")).unwrap(), id);
}

#[test]
fn errors_unfold_to_their_form() {
    let pieces = values().fill(&Template::parse("{error:A|say \"x\"}")).unwrap();
    let [Piece::Text(open), Piece::Capture(Capture::RequestId, ..), _, _, Piece::Text(close)] = &pieces[..]
    else {
        panic!("{pieces:?}")
    };
    assert_eq!(
        open,
        r#"{"odata.error":{"code":"A","message":{"lang":"en-US","value":"say \"x\"\nRequestId:"#
    );
    assert_eq!(close, r#""}}}"#);
    let pieces = values().fill(&Template::parse("{storage:A|text|<Reason>b</Reason>}")).unwrap();
    let [Piece::Text(open), .., Piece::Text(close)] = &pieces[..] else { panic!("{pieces:?}") };
    assert!(
        open.starts_with("\u{feff}<?xml") && open.ends_with("<Error><Code>A</Code><Message>text\nRequestId:")
    );
    assert_eq!(close, "</Message><Reason>b</Reason></Error>");
}

#[test]
fn nonsense_is_an_error() {
    for text in ["{n}", "{use:x}", "{repeat:a:x}", "{etag}", "{repeat:aaaaaaaa:99999999}"] {
        assert!(values().render(&Template::parse(text)).is_err(), "{text}");
    }
}
