//! The kind of operation of a request that was rejected before it was decoded, for metrics and logs.

use lazuli_model::OperationKind;

use super::verb::Verb;
use crate::Head;
use crate::address::Address;
use crate::table::path::{Resource, parse_path};
use crate::table::xml;

/// The kind of operation, as far as the head determines it. Nothing is checked: the kind is
/// [`OperationKind::Unknown`] if it is not clear.
pub fn named(head: &Head<'_>, address: &Address<'_>) -> OperationKind {
    if head.method == "OPTIONS" {
        return OperationKind::TablePreflightRequest;
    }
    if xml::is_asked_for(address) {
        return of_query(head, address);
    }
    match parse_path(address.account, address.resource_path) {
        Ok(resource) => of(head, &resource),
        Err(_) => OperationKind::Unknown,
    }
}

/// The kind of operation on a resource, by the verb and `If-Match`.
pub fn of(head: &Head<'_>, resource: &Resource) -> OperationKind {
    let Ok(verb) = Verb::of(head) else { return OperationKind::Unknown };
    let must_exist = head.get_filled("if-match").is_some();
    match (verb, resource) {
        (Verb::Get, Resource::Tables) => OperationKind::QueryTables,
        (Verb::Get, Resource::Table(_)) => OperationKind::QueryTable,
        (Verb::Post, Resource::Tables) => OperationKind::CreateTable,
        (Verb::Delete, Resource::Table(_)) => OperationKind::DeleteTable,
        (Verb::Get, Resource::Entities(_)) => OperationKind::QueryEntities,
        (Verb::Get, Resource::Entity(..)) => OperationKind::QueryEntity,
        (Verb::Post, Resource::Entities(_)) => OperationKind::InsertEntity,
        (Verb::Put, Resource::Entity(..)) if must_exist => OperationKind::UpdateEntity,
        (Verb::Put, Resource::Entity(..)) => OperationKind::InsertOrReplaceEntity,
        (Verb::Merge, Resource::Entity(..)) if must_exist => OperationKind::MergeEntity,
        (Verb::Merge, Resource::Entity(..)) => OperationKind::InsertOrMergeEntity,
        (Verb::Delete, Resource::Entity(..)) => OperationKind::DeleteEntity,
        (Verb::Post, Resource::Batch) => OperationKind::EntityGroupTransaction,
        (_, Resource::Below(resource)) => of(head, resource),
        _ => OperationKind::Unknown,
    }
}

/// The kind of an operation that is determined by `comp` and `restype`.
pub fn of_query(head: &Head<'_>, address: &Address<'_>) -> OperationKind {
    let comp = address.query.get("comp").unwrap_or_default();
    match (comp.as_ref(), head.method) {
        ("acl", "PUT") => OperationKind::SetTableAcl,
        ("acl", _) => OperationKind::GetTableAcl,
        ("properties", "PUT") => OperationKind::SetTableServiceProperties,
        ("properties", _) => OperationKind::GetTableServiceProperties,
        ("stats", _) => OperationKind::GetTableServiceStats,
        _ => OperationKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::Field;

    #[track_caller]
    fn check(method: &str, target: &str, header: Option<(&str, &str)>, expected: OperationKind) {
        let mut fields = vec![Field { name: "host", value: "127.0.0.1" }];
        fields.extend(header.map(|(name, value)| Field { name, value }));
        let head = Head { method, target, fields: &fields };
        let address = Address::parse(&head, lazuli_model::Service::Table, |_| false).unwrap();
        assert_eq!(named(&head, &address), expected, "{method} {target}");
    }

    #[test]
    fn a_head_names_an_operation() {
        use OperationKind as Kind;
        let one = "/dev/Tbl(PartitionKey='p',RowKey='r')";
        let if_match = Some(("If-Match", "*"));
        for (method, target, header, expected) in [
            ("GET", "/dev/Tables", None, Kind::QueryTables),
            ("POST", "/dev/Tables", None, Kind::CreateTable),
            ("GET", "/dev/Tables('Tbl')", None, Kind::QueryTable),
            ("DELETE", "/dev/Tables('Tbl')", None, Kind::DeleteTable),
            ("GET", "/dev/Tbl()?$top=1", None, Kind::QueryEntities),
            ("GET", one, None, Kind::QueryEntity),
            ("POST", "/dev/Tbl", None, Kind::InsertEntity),
            ("PUT", one, if_match, Kind::UpdateEntity),
            ("PUT", one, None, Kind::InsertOrReplaceEntity),
            ("MERGE", one, if_match, Kind::MergeEntity),
            ("PATCH", one, None, Kind::InsertOrMergeEntity),
            ("POST", one, Some(("X-HTTP-Method", "DELETE")), Kind::DeleteEntity),
            ("DELETE", one, if_match, Kind::DeleteEntity),
            ("POST", "/dev/$batch", None, Kind::EntityGroupTransaction),
            ("OPTIONS", "/dev/Tbl", None, Kind::TablePreflightRequest),
            ("GET", "/dev/Tbl?comp=acl", None, Kind::GetTableAcl),
            ("PUT", "/dev/Tbl?comp=acl", None, Kind::SetTableAcl),
            ("GET", "/dev/?restype=service&comp=properties", None, Kind::GetTableServiceProperties),
            ("PUT", "/dev/?restype=service&comp=properties", None, Kind::SetTableServiceProperties),
            ("GET", "/dev-secondary/?restype=service&comp=stats", None, Kind::GetTableServiceStats),
            ("BREW", "/dev/Tbl", None, Kind::Unknown),
            ("GET", "/dev/a-b", None, Kind::Unknown),
            ("GET", "/", None, Kind::Unknown),
            ("GET", "/dev/Tbl?comp=x", None, Kind::Unknown),
        ] {
            check(method, target, header, expected);
        }
    }
}
