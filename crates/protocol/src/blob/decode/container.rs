//! Operations on containers.

use lazuli_model::blob::container::{ContainerAction, ContainerRequest, DefaultScope, PublicAccess};
use lazuli_model::blob::operation::AccountScope;
use lazuli_model::blob::{Conditions, ContainerName, Operation};
use lazuli_model::{ErrorCode, Failure};

use super::{Ask, Document, Intent, lease, lease_id, list, service, unknown_comp, verb};
use crate::blob::response_format::ResponseFormat;
use crate::blob::{condition, header};

/// The date conditions of operations. Set Container Metadata supports only the first one.
const DATES: [&str; 2] = ["If-Modified-Since", "If-Unmodified-Since"];
/// The name of the scope that represents the account's own key.
const ACCOUNT_SCOPE: &str = "$account-encryption-key";

pub(super) fn decode(
    ask: &Ask<'_>,
    container: ContainerName,
    wanted: &mut ResponseFormat,
) -> Result<Intent, Failure> {
    let params = ask.params;
    if params.is("restype", "account") {
        return service::account(ask, AccountScope::Container(container));
    }
    if !params.is("restype", "container") {
        return Err(ErrorCode::InvalidUri.into());
    }
    let comp = params.comp();
    match (ask.head.method, comp.as_str()) {
        ("GET", "list") => list::blobs(ask, container, wanted),
        ("GET", "blobs") => list::found(ask, Some(container), wanted),
        ("POST", "batch") => Ok(Intent::Batch(Some(container))),
        (_, "list" | "blobs" | "batch") => Err(verb()),
        (method, comp) => {
            let (action, conditions) = action(ask, method, comp)?;
            let document = matches!(action, ContainerAction::SetAcl { .. }).then_some(Document::Acl);
            // Lease actions contain their ids.
            let lease = if matches!(action, ContainerAction::Lease(_)) { None } else { lease_id(ask.head)? };
            let request = ContainerRequest { container, lease, conditions, action };
            let operation = Operation::Container(Box::new(request));
            Ok(match document {
                Some(document) => Intent::Document(operation, document),
                None => Intent::Ready(operation),
            })
        }
    }
}

fn action(ask: &Ask<'_>, method: &str, comp: &str) -> Result<(ContainerAction, Conditions), Failure> {
    let head = ask.head;
    let dates = || condition::container(head, &DATES);
    let none = Conditions::default;
    match (method, comp) {
        ("PUT", "") => Ok((create(ask)?, condition::container(head, &[])?)),
        ("GET" | "HEAD", "") => Ok((ContainerAction::GetProperties, none())),
        ("DELETE", "") => Ok((ContainerAction::Delete, dates()?)),
        ("GET" | "HEAD", "metadata") => Ok((ContainerAction::GetMetadata, none())),
        ("PUT", "metadata") => {
            let conditions = condition::container(head, &DATES[..1])?;
            Ok((ContainerAction::SetMetadata(header::metadata(head)?), conditions))
        }
        ("GET" | "HEAD", "acl") => Ok((ContainerAction::GetAcl, none())),
        ("PUT", "acl") => {
            let public_access = public_access(ask)?;
            Ok((ContainerAction::SetAcl { public_access, policies: Vec::new() }, dates()?))
        }
        ("PUT", "lease") => Ok((ContainerAction::Lease(lease::action(ask)?), dates()?)),
        ("PUT", "undelete") => Ok((restore(ask)?, none())),
        (_, "" | "metadata" | "acl" | "lease" | "undelete") => Err(verb()),
        _ => Err(unknown_comp(ask.params)),
    }
}

fn create(ask: &Ask<'_>) -> Result<ContainerAction, Failure> {
    let head = ask.head;
    let scope = header::text(head, "x-ms-default-encryption-scope").filter(|name| name != ACCOUNT_SCOPE);
    let denies_others = header::flag(head, "x-ms-deny-encryption-scope-override")?.unwrap_or(false);
    Ok(ContainerAction::Create {
        metadata: header::metadata(head)?,
        public_access: public_access(ask)?,
        scope: DefaultScope { name: scope, denies_others },
    })
}

/// Without the header, the container becomes private.
fn public_access(ask: &Ask<'_>) -> Result<PublicAccess, Failure> {
    let found = header::value(ask.head, "x-ms-blob-public-access", PublicAccess::parse)?;
    if found.is_some() {
        return Ok(found.unwrap_or_default());
    }
    // The header in the first versions.
    let old = header::value(ask.head, "x-ms-prop-publicaccess", PublicAccess::parse)?;
    Ok(old.unwrap_or_default())
}

fn restore(ask: &Ask<'_>) -> Result<ContainerAction, Failure> {
    let name = header::text(ask.head, "x-ms-deleted-container-name")
        .ok_or_else(|| header::missing("x-ms-deleted-container-name"))?;
    let version = header::text(ask.head, "x-ms-deleted-container-version")
        .ok_or_else(|| header::missing("x-ms-deleted-container-version"))?;
    Ok(ContainerAction::Restore { deleted_name: ContainerName::new(&name)?, deleted_version: version })
}
