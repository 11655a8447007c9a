//! Reads the XML of a listing (ListObjectsV2).

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::store::ObjectPage;

/// Maximum depth of an element that is read: the fields of an object.
const DEPTH_MAX: usize = 8;

/// The objects of a page; `None` if it is not a listing.
pub fn parse(text: &[u8]) -> Option<ObjectPage> {
    let mut reader = Reader::from_str(std::str::from_utf8(text).ok()?);
    let (mut page, mut path) = (ObjectPage::default(), Vec::<String>::new());
    let (mut value, mut key, mut size) = (String::new(), None, None);
    let mut is_listing = false;
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                path.push(start.local_name().as_ref().to_owned());
                value.clear();
                if path.len() > DEPTH_MAX {
                    return None;
                }
            }
            Event::Text(text) => value.push_str(text.as_ref()),
            Event::End(_) => {
                let names: Vec<&str> = path.iter().map(String::as_str).collect();
                match names[..] {
                    ["ListBucketResult"] => is_listing = true,
                    ["ListBucketResult", "IsTruncated"] => page.is_truncated = value.trim() == "true",
                    ["ListBucketResult", "Contents", "Key"] => key = Some(value.trim().to_owned()),
                    ["ListBucketResult", "Contents", "Size"] => size = Some(value.trim().parse().ok()?),
                    ["ListBucketResult", "Contents"] => page.objects.push((key.take()?, size.take()?)),
                    _ => {}
                }
                path.pop();
                value.clear();
            }
            Event::Eof => return (is_listing && path.is_empty()).then_some(page),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_read() {
        let text = br#"<?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>content</Name><Prefix>a/</Prefix>
            <MaxKeys>1000</MaxKeys><IsTruncated>true</IsTruncated><Contents><Key>a/01/0f</Key><ETag>&quot;x&quot;</ETag>
            <Size>12</Size><Owner><ID>me</ID></Owner></Contents><Contents><Key>a/02/00</Key><Size>3</Size></Contents>
            <CommonPrefixes><Prefix>a/b</Prefix></CommonPrefixes></ListBucketResult>"#;
        let objects = vec![("a/01/0f".to_owned(), 12), ("a/02/00".to_owned(), 3)];
        assert_eq!(parse(text), Some(ObjectPage { objects, is_truncated: true }));
        let empty = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        assert_eq!(parse(empty), Some(ObjectPage::default()));
    }

    #[test]
    fn documents_other_than_listings_are_rejected() {
        for bad in [
            &b""[..],
            b"<Error><Code>NoSuchBucket</Code></Error>",
            b"<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
            b"<ListBucketResult><Contents><Key>a</Key><Size>x</Size></Contents></ListBucketResult>",
            b"<ListBucketResult><IsTruncated>false</IsTruncated>",
            b"<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>",
        ] {
            assert_eq!(parse(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }
}
