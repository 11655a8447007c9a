//! The relevant XML of an entry in a request: `entry/content/m:properties/d:*`. The rest is checked and
//! skipped.

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};
use quick_xml::NsReader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;

use super::{ATOM, DATA, METADATA};
use crate::table::draft::MEMBERS_MAX;
use crate::xml::read::{self, TextError};

/// Maximum depth, more than any valid entry has: a property is the fourth level.
const DEPTH_MAX: usize = 32;
/// Maximum elements, more than any valid entry has, including those of its properties.
const ELEMENTS_MAX: usize = MEMBERS_MAX + 256;
/// Maximum attributes, more than any valid element has. Duplicates are found by comparing all pairs.
const ATTRIBUTES_MAX: usize = 64;
/// Maximum namespaces, more than any valid entry declares. A prefix is looked up among all of them.
const NAMESPACES_MAX: usize = 64;

/// A property as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawProperty {
    /// The local name of its element.
    pub name: String,
    /// `m:type`.
    pub kind: Option<String>,
    /// `m:null`.
    pub is_null: bool,
    /// The text, references resolved.
    pub text: String,
}

/// Reads an entry and passes its properties on in order.
pub fn each_property(
    body: &[u8],
    mut take: impl FnMut(RawProperty) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut walk = Walk::new(text(body)?);
    while let Some(property) = walk.next_property()? {
        take(property)?;
    }
    Ok(())
}

fn text(body: &[u8]) -> Result<&str, Failure> {
    read::text(body).map_err(|error| match error {
        TextError::Encoding => rejected("The XML is not encoded in UTF-8."),
        TextError::Character(_) => rejected("The XML contains a character that XML does not allow."),
    })
}

fn resolve(reference: &BytesRef<'_>) -> Result<char, Failure> {
    read::resolve(reference).ok_or_else(|| rejected("The XML uses an entity that it does not declare."))
}

/// The role of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Entry,
    Content,
    Properties,
    Property,
    /// An element that an entry may have and that is ignored.
    Other,
}

struct Walk<'a> {
    reader: NsReader<&'a [u8]>,
    /// The elements that are open.
    open: Vec<Kind>,
    elements: usize,
    seen_root: bool,
    property: RawProperty,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str) -> Self {
        let mut reader = NsReader::from_str(text);
        reader.resolver_mut().set_max_namespace_bindings(NAMESPACES_MAX);
        Self { reader, open: Vec::new(), elements: 0, seen_root: false, property: RawProperty::default() }
    }

    /// Reads up to the end of the next property; `None` at the end of the document.
    fn next_property(&mut self) -> Result<Option<RawProperty>, Failure> {
        loop {
            let event = self.reader.read_event().map_err(|_| malformed())?;
            match event {
                Event::Start(start) => self.start(&start)?,
                Event::Empty(start) => {
                    self.start(&start)?;
                    if let Some(property) = self.end() {
                        return Ok(Some(property));
                    }
                }
                Event::End(_) => {
                    if let Some(property) = self.end() {
                        return Ok(Some(property));
                    }
                }
                Event::Text(text) => self.append(&text.xml10_content())?,
                Event::CData(text) => self.append_data(&text.xml10_content())?,
                Event::GeneralRef(reference) => {
                    self.append_data(resolve(&reference)?.encode_utf8(&mut [0; 4]))?
                }
                Event::Decl(declaration) => self.check_declaration(&declaration)?,
                Event::DocType(_) => return Err(rejected("The XML declares a document type.")),
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof if self.seen_root && self.open.is_empty() => return Ok(None),
                Event::Eof => return Err(malformed()),
            }
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Failure> {
        self.elements += 1;
        if self.elements > ELEMENTS_MAX {
            return Err(ErrorCode::TooManyProperties.into());
        }
        if self.open.len() == DEPTH_MAX {
            return Err(rejected("The XML has deeper elements than any entity."));
        }
        let attributes = self.attributes(start)?;
        let kind = self.classify(start, &attributes)?;
        if kind == Kind::Property {
            self.property = RawProperty {
                name: start.local_name().as_ref().to_owned(),
                kind: attributes.kind,
                is_null: attributes.is_null,
                text: String::new(),
            };
        }
        self.open.push(kind);
        Ok(())
    }

    fn end(&mut self) -> Option<RawProperty> {
        (self.open.pop() == Some(Kind::Property)).then(|| std::mem::take(&mut self.property))
    }

    /// The role of an element, by its name and its parent.
    fn classify(&mut self, start: &BytesStart<'_>, attributes: &Attributes) -> Result<Kind, Failure> {
        let (namespace, local) = self.reader.resolver().resolve_element(start.name());
        let is = |wanted| is_bound(&namespace, wanted);
        if matches!(namespace, ResolveResult::Unknown(_)) {
            return Err(rejected("The XML uses a prefix that it does not declare."));
        }
        let kind = match (self.open.last(), local.as_ref()) {
            (None, "entry") if is(ATOM) && !self.seen_root => {
                self.seen_root = true;
                Kind::Entry
            }
            (None, _) => return Err(rejected("The XML is not an Atom entry.")),
            (Some(Kind::Entry), "content") if is(ATOM) => {
                attributes.check_content_type()?;
                Kind::Content
            }
            (Some(Kind::Entry | Kind::Content), "properties") if is(METADATA) => Kind::Properties,
            (Some(Kind::Properties), _) if is(DATA) => Kind::Property,
            (Some(Kind::Property), _) => {
                return Err(rejected("A property in the XML has elements in its value."));
            }
            (Some(_), _) => Kind::Other,
        };
        Ok(kind)
    }

    fn attributes(&self, start: &BytesStart<'_>) -> Result<Attributes, Failure> {
        let mut found = Attributes::default();
        for (count, attribute) in start.attributes().enumerate() {
            let attribute = attribute.map_err(|_| malformed())?;
            if count == ATTRIBUTES_MAX {
                return Err(rejected("An element of the XML has too many attributes."));
            }
            let value = || attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| malformed());
            let (namespace, local) = self.reader.resolver().resolve_attribute(attribute.key);
            match (namespace, local.as_ref()) {
                (ResolveResult::Unknown(_), _) => {
                    return Err(rejected("The XML uses a prefix that it does not declare."));
                }
                (ResolveResult::Unbound, "type") => found.content_type = Some(value()?.into_owned()),
                (bound, "type") if is_bound(&bound, METADATA) => {
                    found.kind = Some(value()?.trim().to_owned());
                }
                (bound, "null") if is_bound(&bound, METADATA) => {
                    found.is_null = boolean(&value()?)?;
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// Text between tags: outside the values of properties, only white space is allowed, and it is ignored.
    fn append(&mut self, text: &str) -> Result<(), Failure> {
        match self.open.last() {
            Some(Kind::Property) => self.property.text.push_str(text),
            Some(_) => {}
            None if text.trim_ascii().is_empty() => {}
            None => return Err(malformed()),
        }
        Ok(())
    }

    fn append_data(&mut self, text: &str) -> Result<(), Failure> {
        if self.open.is_empty() {
            return Err(malformed());
        }
        self.append(text)
    }

    fn check_declaration(&self, declaration: &BytesDecl<'_>) -> Result<(), Failure> {
        if self.seen_root {
            return Err(malformed());
        }
        match declaration.encoding() {
            None => Ok(()),
            Some(Ok(name))
                if ["utf-8", "utf8", "us-ascii"].iter().any(|known| name.eq_ignore_ascii_case(known)) =>
            {
                Ok(())
            }
            Some(_) => Err(rejected("The XML is not encoded in UTF-8.")),
        }
    }
}

/// The relevant attributes of an element.
#[derive(Default)]
struct Attributes {
    /// `type` without a prefix: the media type of the content.
    content_type: Option<String>,
    kind: Option<String>,
    is_null: bool,
}

impl Attributes {
    fn check_content_type(&self) -> Result<(), Failure> {
        let given = self.content_type.as_deref().unwrap_or("application/xml");
        let media = given.split(';').next().unwrap_or_default().trim();
        if ["application/xml", "text/xml"].iter().any(|xml| media.eq_ignore_ascii_case(xml)) {
            return Ok(());
        }
        Err(rejected("The content of the entry is not of type application/xml."))
    }
}

/// Is this the namespace? Spaces in it are ignored, since an early documentation was typeset with spaces.
fn is_bound(result: &ResolveResult<'_>, wanted: &str) -> bool {
    match result {
        ResolveResult::Bound(namespace) => {
            namespace.0 == wanted || namespace.0.chars().filter(|c| !c.is_whitespace()).eq(wanted.chars())
        }
        ResolveResult::Unbound | ResolveResult::Unknown(_) => false,
    }
}

fn boolean(text: &str) -> Result<bool, Failure> {
    match text.trim() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(rejected("The attribute 'null' in the XML is neither true nor false.")),
    }
}

fn malformed() -> Failure {
    rejected("The XML is not well-formed.")
}

fn rejected(reason: &'static str) -> Failure {
    Failure::new(ErrorCode::InvalidInput, reason).found_in(Origin::Routing)
}
