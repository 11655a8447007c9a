//! The negotiated format of a Table service response: media type, `Prefer` and `$select`.

use std::borrow::Cow;

use crate::http::response::ResponseField;
use crate::table::media::Format;
use crate::{ApiVersion, Head};

/// The preference in a `Prefer` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// `return-content`.
    Content,
    /// `return-no-content`.
    NoContent,
}

impl Prefer {
    /// The preference of a request, if its version supports the header.
    pub fn of(head: &Head<'_>, version: ApiVersion) -> Option<Self> {
        let text = head.get("prefer").filter(|_| version >= ApiVersion::V2013_08_15)?;
        text.split(',').find_map(|wish| match wish.trim() {
            "return-content" => Some(Prefer::Content),
            "return-no-content" => Some(Prefer::NoContent),
            _ => None,
        })
    }

    /// The value of `Preference-Applied`.
    pub fn applied(self) -> &'static str {
        match self {
            Prefer::Content => "return-content",
            Prefer::NoContent => "return-no-content",
        }
    }
}

/// The properties in `$select`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// The value, as repeated in the response.
    pub echo: String,
    /// The names; `None` for all.
    pub names: Option<Vec<String>>,
}

/// The format of the response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseFormat {
    /// The format of its body.
    pub format: Format,
    /// The preference of the request.
    pub prefer: Option<Prefer>,
    /// The properties in `$select`.
    pub select: Option<Select>,
}

impl ResponseFormat {
    /// The format of the response to a request that could not be parsed.
    pub fn fallback(version: ApiVersion) -> Self {
        Self { format: Format::default_of(version), prefer: None, select: None }
    }

    /// The names to return; `None` for all.
    pub fn selected(&self) -> Option<&[String]> {
        self.select.as_ref()?.names.as_deref()
    }
}

/// The headers that every response of the Table service itself has.
pub fn odata_fields(version: ApiVersion) -> impl Iterator<Item = ResponseField> {
    let nosniff = (version >= ApiVersion::V2013_08_15)
        .then_some((Cow::Borrowed("X-Content-Type-Options"), Cow::Borrowed("nosniff")));
    [Some((Cow::Borrowed("Cache-Control"), Cow::Borrowed("no-cache"))), nosniff].into_iter().flatten()
}
