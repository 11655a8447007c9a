//! A line of the request log, in Azure's formats 1.0 and 2.0.
//!
//! Fields in a fixed order, joined by semicolons. Strings that could contain a quote, a semicolon or a line end are
//! quoted and HTML-escaped, unless they are empty; so a line is one line, and splits at the semicolons that are not in
//! quotes.

use std::fmt::Write as _;

/// The field names of both versions, in order, as `lazuli logs --json` prints them.
pub const FIELDS: [&str; 38] = [
    "version-number",
    "request-start-time",
    "operation-type",
    "request-status",
    "http-status-code",
    "end-to-end-latency-in-ms",
    "server-latency-in-ms",
    "authentication-type",
    "requester-account-name",
    "owner-account-name",
    "service-type",
    "request-url",
    "requested-object-key",
    "request-id-header",
    "operation-count",
    "requester-ip-address",
    "request-version-header",
    "request-header-size",
    "request-packet-size",
    "response-header-size",
    "response-packet-size",
    "request-content-length",
    "request-md5",
    "server-md5",
    "etag-identifier",
    "last-modified-time",
    "conditions-used",
    "user-agent-header",
    "referrer-header",
    "client-request-id",
    "user-object-id",
    "tenant-id",
    "application-id",
    "audience",
    "issuer",
    "user-principal-name",
    "reserved-field",
    "authorization-detail",
];
/// Number of fields in version 1.0.
pub const FIELDS_OF_1_0: usize = 30;
/// The fields that are quoted: those whose value comes from a client.
const QUOTED: [usize; 9] = [11, 12, 22, 23, 24, 26, 27, 28, 29];
/// The quoted fields that only version 2.0 has: all but the reserved one.
const QUOTED_OF_2_0: [usize; 7] = [30, 31, 32, 33, 34, 35, 37];

/// A line, its fields in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine(pub Vec<String>);

impl LogLine {
    /// The value of a field; empty if the line does not have it.
    pub fn get(&self, name: &str) -> &str {
        let index = FIELDS.iter().position(|field| *field == name);
        index.and_then(|index| self.0.get(index)).map_or("", String::as_str)
    }

    /// The line as a string, without its line end.
    pub fn print(&self) -> String {
        let mut out = String::with_capacity(512);
        for (index, field) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(';');
            }
            let quoted = QUOTED.contains(&index) || QUOTED_OF_2_0.contains(&index);
            if quoted && !field.is_empty() {
                out.push('"');
                escape(&mut out, field);
                out.push('"');
            } else {
                out.push_str(field);
            }
        }
        out
    }

    /// Parses a line; `None` if it is cut off or not in this format.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = Vec::with_capacity(FIELDS_OF_1_0);
        let mut rest = text;
        loop {
            let end = match rest.strip_prefix('"') {
                Some(quoted) => quoted.find('"')? + 2,
                None => rest.find(';').unwrap_or(rest.len()),
            };
            let (field, behind) = rest.split_at(end);
            fields.push(unescape(field.trim_matches('"')));
            match behind.strip_prefix(';') {
                Some(more) => rest = more,
                None if behind.is_empty() => break,
                None => return None,
            }
        }
        let wanted = match fields.first()?.as_str() {
            "1.0" => FIELDS_OF_1_0,
            "2.0" => FIELDS.len(),
            _ => return None,
        };
        (fields.len() == wanted).then_some(Self(fields))
    }
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c if c.is_control() => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let named = [("&amp;", '&'), ("&quot;", '"'), ("&lt;", '<'), ("&gt;", '>'), ("&apos;", '\'')];
        let by_name = named.iter().find_map(|(name, c)| rest.strip_prefix(name).map(|rest| (*c, rest)));
        let (c, behind) = by_name.or_else(|| numeric(rest)).unwrap_or(('&', &rest[1..]));
        out.push(c);
        rest = behind;
    }
    out + rest
}

/// `&#10;`
fn numeric(text: &str) -> Option<(char, &str)> {
    let (number, behind) = text.strip_prefix("&#")?.split_once(';')?;
    Some((char::from_u32(number.parse().ok()?)?, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LG-01. The documentation's own example, except for what it leaves open.
    #[test]
    fn a_line_of_1_0() {
        let text = "1.0;2011-08-09T18:52:40.9241789Z;GetBlob;AnonymousSuccess;200;18;10;anonymous;;myaccount;blob;\
            \"https://myaccount.blob.core.windows.net/thumb&amp;nails/lake.jpg?timeout=30000\";\
            \"/myaccount/thumbnails/lake.jpg\";a84aa705-8a85-48c5-b064-b43bd22979c3;0;123.100.2.10;2009-09-19;252;0;\
            265;100;0;;;\"0x8CE1B6EA95033D5\";Thursday, 09-Aug-11 18:52:40 GMT;;;;\
            \"8/9/2011 6:52:40 PM ba98eb12-700b-4d53-9230-33a3330571fc\"";
        let line = LogLine::parse(text).unwrap();
        assert_eq!(line.0.len(), FIELDS_OF_1_0);
        assert_eq!(
            line.get("request-url"),
            "https://myaccount.blob.core.windows.net/thumb&nails/lake.jpg?timeout=30000"
        );
        assert_eq!(line.get("operation-type"), "GetBlob");
        assert_eq!(line.get("user-agent-header"), "");
        assert_eq!(line.print(), text);
    }

    #[test]
    fn hostile_texts_stay_in_their_field() {
        let mut fields = vec![String::new(); FIELDS_OF_1_0];
        fields[0] = "1.0".into();
        for text in ["a;b", "\"", "\";\"", "x\r\ny", "&quot;", "&", "a&#59;b", "é\u{1}<>'"] {
            fields[27] = text.into();
            fields[29] = text.into();
            let line = LogLine(fields.clone());
            let printed = line.print();
            assert!(!printed.contains(['\r', '\n']), "{printed}");
            assert_eq!(LogLine::parse(&printed), Some(line), "{text}");
        }
    }

    /// LG-01. The documentation's examples of version 2.0, except for quotes that they do not escape.
    #[test]
    fn lines_of_2_0() {
        let start = "2.0;2019-02-25T20:06:55.9089848Z;PutBlock;OAuthSuccess;201;95;95;bearer;storagesamples;\
            storagesamples;blob;\
            \"https://storagesamples.blob.core.windows.net/sample-container/blob1.txt?comp=block&amp;blockid=YmxvY2stMDA=\";\
            \"/storagesamples/sample-container/blob1.txt\";5569fa10-e01e-00c0-2745-cdb22d000000;0;200.59.21.176:52665;\
            2017-11-09;2581;9;365;0;9;;\"tdzGO9AaJte/e2HJZLtXig==\";;;;\"Mozilla/5.0\";\"https://ms.portal.azure.com/\";\
            \"c808142e-0393-4942-9001-af4833061026\"";
        let bearer = format!(
            "{start};\"e5981635-dcf0-4279-ab7b-ca1cbdf4a5c7\";\"72f988bf-86f1-41af-91ab-2d7cd011db47\";\
            \"691458b9-1327-4635-9f55-ed83a7f1b41c\";\"https://storage.azure.com/\";\
            \"https://sts.windows.net/72f988bf-86f1-41af-91ab-2d7cd011db47/\";;;\
            \"[{{&quot;action&quot;:&quot;Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write&quot;}}]\""
        );
        let without_token = format!("{start};;;;;;;;");
        for text in [&bearer, &without_token] {
            let line = LogLine::parse(text).unwrap();
            assert_eq!(line.0.len(), FIELDS.len());
            assert_eq!(line.print(), *text);
        }
        let line = LogLine::parse(&bearer).unwrap();
        assert_eq!(line.get("tenant-id"), "72f988bf-86f1-41af-91ab-2d7cd011db47");
        assert_eq!(line.get("audience"), "https://storage.azure.com/");
        assert_eq!((line.get("user-principal-name"), line.get("reserved-field")), ("", ""));
        assert!(line.get("authorization-detail").starts_with("[{\"action\":"));
    }

    #[test]
    fn version_2_0_has_more_fields() {
        let mut fields: Vec<String> = FIELDS.iter().map(|name| format!("{name}-value")).collect();
        fields[0] = "2.0".into();
        fields[37] = "[{\"action\":\"read\"}]".into();
        let line = LogLine(fields);
        assert!(line.print().ends_with(";reserved-field-value;\"[{&quot;action&quot;:&quot;read&quot;}]\""));
        assert_eq!(LogLine::parse(&line.print()), Some(line));
    }

    #[test]
    fn a_truncated_line_is_not_a_line() {
        for text in ["", "1.0", "1.0;a;b", "3.0;a", "1.0;\"open", "1.0;\"a\"b;c"] {
            assert_eq!(LogLine::parse(text), None, "{text}");
        }
    }
}
