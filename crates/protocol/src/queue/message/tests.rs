//! Bodies of messages: white space, escapes, sizes, and invalid documents.

use proptest::prelude::*;

use super::*;
use crate::xml::text::push_text;

const NEW: ApiVersion = ApiVersion::V2020_12_06;

fn body(text: &str) -> String {
    format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>")
}

fn read(body: &str) -> Result<String, ErrorCode> {
    decode(body.as_bytes(), NEW).map(String::from).map_err(|failure| failure.code)
}

#[test]
fn texts() {
    for (body, expected) in [
        (body("aGVsbG8="), "aGVsbG8="),
        (body(""), ""),
        ("<QueueMessage><MessageText/></QueueMessage>".into(), ""),
        (body(" \t\n leading and trailing \n"), " \t\n leading and trailing \n"),
        (body("a\r\nb\rc"), "a\nb\nc"),
        (body("a&#xD;&#10;&#x1F600;"), "a\r\n\u{1f600}"),
        (body("&lt;b&gt; &amp;amp; &quot;&apos;"), "<b> &amp; \"'"),
        (body("<![CDATA[<b>&amp;]]>!"), "<b>&amp;!"),
        (body("a<!-- comment -->b"), "ab"),
        (body("啊齄丂狛狜"), "啊齄丂狛狜"),
        (
            format!(
                "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\r\n{}\n",
                body("x")
            ),
            "x",
        ),
        ("<QueueMessage>\n   <MessageText>x</MessageText>\n</QueueMessage>".into(), "x"),
        ("<QueueMessage xmlns:i='http://a'><MessageText a='b'>x</MessageText></QueueMessage>".into(), "x"),
    ] {
        assert_eq!(read(&body).as_deref(), Ok(expected), "{body}");
    }
}

/// A document without anything special is read without the parser, and as the parser reads it.
#[test]
fn plain_documents_are_read_as_all_others() {
    let declarations = [
        "",
        "<?xml version=\"1.0\"?>",
        "<?xml version='1.0' encoding='utf-8'?>\r\n",
        "<?xml ?>",
        "<?xml <a>?>",
    ];
    for declaration in declarations {
        for text in ["", "aGVsbG8=", " \t\n", "a>b ]]> \"'", "啊\u{1f600}"] {
            let sent = format!("{declaration}{}", body(text));
            let parsed = format!("{sent} ");
            assert_eq!((plain(&sent), plain(&parsed)), (Some(text), None), "{sent}");
            assert_eq!(read(&sent).as_deref(), Ok(text), "{sent}");
            assert_eq!(read(&parsed).as_deref(), Ok(text), "{parsed}");
        }
        for text in ["a&amp;", "<![CDATA[x]]>", "a\r\nb", "</MessageText><MessageText>"] {
            assert_eq!(plain(&format!("{declaration}{}", body(text))), None, "{text}");
        }
    }
    for other in ["<?xml version=\"1.0\"", "<QueueMessage><MessageText></QueueMessage>", "<QueueMessage>"] {
        assert_eq!(plain(other), None, "{other}");
    }
}

#[test]
fn documents_that_are_no_message() {
    let attributes: String = (0..=ATTRIBUTES_MAX).map(|n| format!(" a{n}='1'")).collect();
    for bad in [
        String::new(),
        " ".into(),
        "hello".into(),
        "<QueueMessage/>".into(),
        "<QueueMessage></QueueMessage>".into(),
        "<Message><MessageText>x</MessageText></Message>".into(),
        "<MessageText>x</MessageText>".into(),
        "<QueueMessage><Text>x</Text></QueueMessage>".into(),
        "<QueueMessage>x<MessageText/></QueueMessage>".into(),
        "<QueueMessage><MessageText/><MessageText/></QueueMessage>".into(),
        "<QueueMessage><MessageText/><Other/></QueueMessage>".into(),
        body("<b>x</b>"),
        body("a & b"),
        body("&unknown;"),
        body("\u{1}"),
        body("&#1;"),
        body("&#xFFFE;"),
        body("&#xD800;"),
        body("x") + "<QueueMessage/>",
        body("x") + "trailing",
        body("x").replace("</QueueMessage>", ""),
        format!("<!DOCTYPE a [<!ENTITY x 'y'>]>{}", body("&x;")),
        format!("<QueueMessage{attributes}><MessageText/></QueueMessage>"),
        "<QueueMessage a='1' a='2'><MessageText/></QueueMessage>".into(),
    ] {
        assert_eq!(read(&bad), Err(ErrorCode::InvalidXmlDocument), "{bad}");
    }
    assert!(decode(b"<QueueMessage><MessageText>\xff</MessageText></QueueMessage>", NEW).is_err());
}

/// The error contains the position at which the document is invalid.
#[test]
fn places_of_errors() {
    let failure = decode("<QueueMessage>\n<MessageText>a<b/></MessageText></QueueMessage>".as_bytes(), NEW);
    let details: Vec<String> =
        failure.unwrap_err().details.iter().map(|(_, value)| value.to_string()).collect();
    assert_eq!(details, ["2", "15", "Error parsing Xml content"]);
}

/// The limit counts bytes of UTF-8 after escapes are resolved.
#[test]
fn sizes() {
    assert!(read(&body(&"x".repeat(65_536))).is_ok());
    assert!(read(&body(&"ä".repeat(32_768))).is_ok());
    assert!(read(&body(&format!("{}&lt;", "x".repeat(65_535)))).is_ok());
    for text in ["x".repeat(65_537), "ä".repeat(32_769), format!("{}&lt;", "x".repeat(65_536))] {
        let failure = decode(body(&text).as_bytes(), NEW).unwrap_err();
        assert_eq!(failure.code, ErrorCode::RequestBodyTooLarge);
        assert_eq!(failure.details, [("MaxLimit", "65536".into())]);
    }
}

/// VR-01: before 2011-08-18 a message has at most 8 KiB.
#[test]
fn sizes_of_2009() {
    let size =
        |length: usize, version| decode(body(&"x".repeat(length)).as_bytes(), version).map_err(|f| f.code);
    assert!(size(8_192, ApiVersion::V2009_09_19).is_ok());
    assert_eq!(size(8_193, ApiVersion::V2009_09_19), Err(ErrorCode::MessageTooLarge));
    assert!(size(8_193, ApiVersion::V2011_08_18).is_ok());
}

proptest! {
    /// Every text that XML can represent survives a round trip.
    #[test]
    fn texts_survive(text in "[\\PC\r\n\t<>&]{0,40}") {
        let mut out = Vec::new();
        push_text(&mut out, &text);
        let sent = body(&String::from_utf8(out).unwrap());
        prop_assert_eq!(read(&sent), Ok(text));
    }
}
