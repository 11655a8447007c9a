//! Stored access policies as the documents of Get and Set Table ACL.

use std::collections::HashSet;

use lazuli_model::policy::{AccessPolicy, POLICIES_MAX, POLICY_ID_CHARS_MAX, Permissions, SignedIdentifier};
use lazuli_model::{DateTime, Failure, Service};

use super::tree::Element;
use super::{invalid, leaf, nest};

/// Reads the policies. An empty body means that there are none.
pub fn decode(body: &[u8], service: Service) -> Result<Vec<SignedIdentifier>, Failure> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let root = Element::parse(body, "SignedIdentifiers")?;
    root.only(&["SignedIdentifier"])?;
    if root.children.len() > POLICIES_MAX {
        return Err(invalid());
    }
    let mut seen = HashSet::new();
    root.children
        .iter()
        .map(|element| {
            let found = identifier(element, service)?;
            if seen.insert(found.id.clone()) { Ok(found) } else { Err(invalid()) }
        })
        .collect()
}

fn identifier(element: &Element, service: Service) -> Result<SignedIdentifier, Failure> {
    element.only(&["Id", "AccessPolicy"])?;
    let id = element.need("Id")?.value()?;
    if id.is_empty() || id.chars().count() > POLICY_ID_CHARS_MAX {
        return Err(invalid());
    }
    let policy = element.child("AccessPolicy")?.map(|element| policy(element, service)).transpose()?;
    Ok(SignedIdentifier { id: id.to_owned(), policy: policy.filter(|policy| !policy.is_empty()) })
}

fn policy(element: &Element, service: Service) -> Result<AccessPolicy, Failure> {
    element.only(&["Start", "Expiry", "Permission"])?;
    let permissions = element.filled("Permission")?;
    if permissions.is_some_and(|text| Permissions::parse(text, service.permission_letters()).is_none()) {
        return Err(invalid());
    }
    Ok(AccessPolicy {
        start: time(element, "Start")?,
        expiry: time(element, "Expiry")?,
        permissions: permissions.map(str::to_owned),
    })
}

fn time(element: &Element, name: &str) -> Result<Option<DateTime>, Failure> {
    element.filled(name)?.map(|text| DateTime::parse(text).ok_or_else(invalid)).transpose()
}

/// Writes the policies: times with seven digits, absent terms omitted.
pub fn encode(out: &mut Vec<u8>, policies: &[SignedIdentifier]) {
    if policies.is_empty() {
        return leaf(out, "SignedIdentifiers", "");
    }
    nest(out, "SignedIdentifiers", |out| {
        for identifier in policies {
            nest(out, "SignedIdentifier", |out| {
                leaf(out, "Id", &identifier.id);
                if let Some(policy) = &identifier.policy {
                    nest(out, "AccessPolicy", |out| encode_policy(out, policy));
                }
            });
        }
    });
}

fn encode_policy(out: &mut Vec<u8>, policy: &AccessPolicy) {
    for (name, time) in [("Start", policy.start), ("Expiry", policy.expiry)] {
        if let Some(time) = time {
            leaf(out, name, time.iso_seven_digits().as_str());
        }
    }
    if let Some(permissions) = &policy.permissions {
        leaf(out, "Permission", permissions);
    }
}
