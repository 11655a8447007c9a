//! The form of a response that the Table service negotiates: format, `Prefer` and `$select`.

use std::borrow::Cow;

use crate::http::response::Field;
use crate::table::media::Format;
use crate::{ApiVersion, Head};

/// What `Prefer` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// `return-content`.
    Content,
    /// `return-no-content`.
    NoContent,
}

impl Prefer {
    /// The wish of a request, if its version knows the header.
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

/// The properties that `$select` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// The text, which the response repeats.
    pub echo: String,
    /// The names; `None` for all.
    pub names: Option<Vec<String>>,
}

/// How the response to a request is to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The format of its body.
    pub format: Format,
    /// What `Prefer` asked for.
    pub prefer: Option<Prefer>,
    /// What `$select` asked for.
    pub select: Option<Select>,
}

impl Shape {
    /// The look of a response to a request that was not understood.
    pub fn fallback(version: ApiVersion) -> Self {
        Self { format: Format::default_of(version), prefer: None, select: None }
    }

    /// The names to return, if not all.
    pub fn selected(&self) -> Option<&[String]> {
        self.select.as_ref()?.names.as_deref()
    }
}

/// The fields that every response of the table service proper carries.
pub fn odata_fields(version: ApiVersion) -> impl Iterator<Item = Field> {
    let nosniff = (version >= ApiVersion::V2013_08_15)
        .then_some((Cow::Borrowed("X-Content-Type-Options"), Cow::Borrowed("nosniff")));
    [Some((Cow::Borrowed("Cache-Control"), Cow::Borrowed("no-cache"))), nosniff].into_iter().flatten()
}
