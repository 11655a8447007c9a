//! The storage services and their externally visible differences.

/// A storage service of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Blobs in containers.
    Blob,
    /// Messages in queues.
    Queue,
    /// Entities in tables.
    Table,
}

impl Service {
    /// Every service.
    pub const ALL: [Service; 3] = [Service::Blob, Service::Queue, Service::Table];

    /// The name in host names (`account.blob.example.org`), canonical resources, logs and record keys.
    pub const fn label(self) -> &'static str {
        match self {
            Service::Blob => "blob",
            Service::Queue => "queue",
            Service::Table => "table",
        }
    }

    /// The name in the names of operations and metrics tables: `GetBlobServiceProperties`.
    pub const fn title(self) -> &'static str {
        match self {
            Service::Blob => "Blob",
            Service::Queue => "Queue",
            Service::Table => "Table",
        }
    }

    /// The port of the storage emulator, which clients with `UseDevelopmentStorage=true` expect.
    pub const fn default_port(self) -> u16 {
        match self {
            Service::Blob => 10000,
            Service::Queue => 10001,
            Service::Table => 10002,
        }
    }

    /// The letter for the service in `ss` of an account SAS.
    pub const fn sas_letter(self) -> char {
        match self {
            Service::Blob => 'b',
            Service::Queue => 'q',
            Service::Table => 't',
        }
    }

    /// The letters that service SAS tokens and stored access policies may use.
    pub const fn permission_letters(self) -> &'static str {
        match self {
            Service::Blob => "racwdxyltmeopif",
            Service::Queue => "raup",
            Service::Table => "raud",
        }
    }

    /// The `Server` header of its responses.
    pub const fn server_header(self) -> &'static str {
        match self {
            Service::Blob => "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0",
            Service::Queue => "Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0",
            Service::Table => "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0",
        }
    }

    /// The `Server` header before version 2009-09-19.
    pub const fn server_header_2009(self) -> &'static str {
        match self {
            Service::Blob => "Blob Service Version 1.0 Microsoft-HTTPAPI/2.0",
            Service::Queue => "Queue Service Version 1.0 Microsoft-HTTPAPI/2.0",
            Service::Table => "Table Service Version 1.0 Microsoft-HTTPAPI/2.0",
        }
    }

    /// Its position in [`Service::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_the_position_in_the_list() {
        for (index, service) in Service::ALL.into_iter().enumerate() {
            assert_eq!(service.index(), index);
        }
    }
}
