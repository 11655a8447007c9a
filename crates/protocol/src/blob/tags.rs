//! Tags on the wire: the header `x-ms-tags`, and the document of Set and Get Blob Tags.

use lazuli_model::blob::Tags;
use lazuli_model::{ErrorCode, Failure};

use crate::Head;
use crate::http::query::Query;
use crate::xml::tree::Element;
use crate::xml::write::{empty, leaf, nest};

/// Decodes the tags in the header `x-ms-tags`, whose value is formatted like a query string.
pub fn from_header(head: &Head<'_>) -> Result<Tags, Failure> {
    let mut tags = Tags::default();
    for pair in Query(head.get("x-ms-tags").unwrap_or_default()).pairs() {
        let (name, value) = pair.ok_or(ErrorCode::InvalidTag)?;
        tags.insert(&name, &value)?;
    }
    Ok(tags)
}

/// The tags in a document.
pub fn decode(body: &[u8]) -> Result<Tags, Failure> {
    let root = Element::parse(body, "Tags")?;
    root.only(&["TagSet"])?;
    let mut tags = Tags::default();
    let Some(set) = root.child("TagSet")? else { return Ok(tags) };
    set.only(&["Tag"])?;
    for tag in &set.children {
        tag.only(&["Key", "Value"])?;
        tags.insert(tag.need("Key")?.value()?, tag.need("Value")?.value()?)?;
    }
    Ok(tags)
}

/// Writes tags in the order of their names.
pub fn encode(out: &mut Vec<u8>, tags: &Tags) {
    nest(out, "Tags", |out| {
        if tags.is_empty() {
            return empty(out, "TagSet");
        }
        nest(out, "TagSet", |out| {
            for (name, value) in tags.iter() {
                nest(out, "Tag", |out| {
                    leaf(out, "Key", name);
                    leaf(out, "Value", value);
                });
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::Field;

    fn header(value: &str) -> Result<Vec<(String, String)>, ErrorCode> {
        let fields = [Field { name: "x-ms-tags", value }];
        let tags = from_header(&Head { method: "PUT", target: "/", fields: &fields }).map_err(|f| f.code)?;
        Ok(tags.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn headers() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(header("b=2&a%20x=1%2B1&c"), Ok(vec![pair("a x", "1+1"), pair("b", "2"), pair("c", "")]));
        assert_eq!(header(""), Ok(vec![]));
        assert_eq!(header("=x"), Err(ErrorCode::EmptyTagName));
        assert_eq!(header("a=1&a=2"), Err(ErrorCode::DuplicateTagNames));
        assert_eq!(header("a=%zz"), Err(ErrorCode::InvalidTag));
    }

    #[test]
    fn documents_read_back() {
        for pairs in [&[][..], &[("a", "1"), ("b", "")]] {
            let mut tags = Tags::default();
            pairs.iter().for_each(|(name, value)| tags.insert(name, value).unwrap());
            let mut out = Vec::new();
            encode(&mut out, &tags);
            assert_eq!(decode(&out), Ok(tags));
        }
        for broken in ["", "<Tags><Tag/></Tags>", "<Tags><TagSet><Tag><Key>a</Key></Tag></TagSet></Tags>"] {
            assert_eq!(
                decode(broken.as_bytes()).unwrap_err().code,
                ErrorCode::InvalidXmlDocument,
                "{broken}"
            );
        }
    }
}
