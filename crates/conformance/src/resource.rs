//! The resources that transcripts work on: tables, queues and containers with random names.

/// A kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A table.
    Table,
    /// A queue.
    Queue,
    /// A container.
    Container,
}

impl Resource {
    /// The kind in a placeholder or option.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "table" => Some(Resource::Table),
            "queue" => Some(Resource::Queue),
            "container" => Some(Resource::Container),
            _ => None,
        }
    }

    /// The name of a resource. Names of tables mix upper and lower case, so that the server must preserve the
    /// case.
    pub(crate) fn name(self, prefix: &str, label: &str) -> String {
        let name = format!("{prefix}{label}");
        if self == Resource::Table { name } else { name.to_lowercase() }
    }

    /// Verb, path and body of the request that creates it.
    pub(crate) fn creation(self, name: &str) -> (&'static str, String, Option<String>) {
        match self {
            Resource::Table => ("POST", "/Tables".to_owned(), Some(format!("{{\"TableName\":\"{name}\"}}"))),
            Resource::Queue => ("PUT", format!("/{name}"), None),
            Resource::Container => ("PUT", format!("/{name}?restype=container"), None),
        }
    }

    /// The path of the request that deletes it.
    pub(crate) fn deletion(self, name: &str) -> String {
        match self {
            Resource::Table => format!("/Tables('{name}')"),
            Resource::Queue => format!("/{name}"),
            Resource::Container => format!("/{name}?restype=container"),
        }
    }
}
