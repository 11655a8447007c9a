//! The head of a request: method, target and header fields, borrowed from the received bytes.

/// A header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name in its original letter case.
    pub name: &'a str,
    /// The value without surrounding white space.
    pub value: &'a str,
}

/// The head of a request, top-level or inside a batch.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The HTTP verb.
    pub method: &'a str,
    /// The request target as sent: a path with a query, or an absolute URL.
    pub target: &'a str,
    /// The header fields in order.
    pub fields: &'a [Field<'a>],
}

impl<'a> Head<'a> {
    /// The value of the first field with that name, in any letter case.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// The values of all fields with that name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// The value, with an empty one counted as absent.
    pub fn get_filled(&self, name: &str) -> Option<&'a str> {
        self.get(name).filter(|value| !value.is_empty())
    }
}
