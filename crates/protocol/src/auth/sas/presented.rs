//! The parts of a request on which the signature of its token depends.

use std::borrow::Cow;

use lazuli_model::Service;

use super::{SignedResource, Token};
use crate::http::percent;
use crate::http::query::Query;
use crate::{Address, Head};

/// A request, or the resource for which a token is created.
#[derive(Clone, Debug)]
pub struct Presented<'a> {
    /// The account.
    pub account: &'a str,
    /// The service that received the request; `None` accepts tokens of every service.
    pub service: Option<Service>,
    /// The path below the account, decoded and without its first slash.
    pub path: Cow<'a, str>,
    /// The query.
    pub query: Query<'a>,
    /// The head, whose headers newer tokens can sign.
    pub head: Option<Head<'a>>,
}

/// The container and the blob that a path addresses, decoded. A token for a blob signs the name that the blob
/// has, and a backslash in a name counts as a slash. A path that has a slash only after decoding is a blob of
/// the root container, so the container is included: otherwise it would match tokens for a blob of another
/// container.
fn blob_name(path: &str) -> Cow<'_, str> {
    let decoded = percent::decode(path).unwrap_or(Cow::Borrowed(path));
    let name = if decoded.contains('\\') { Cow::Owned(decoded.replace('\\', "/")) } else { decoded };
    let is_in_root = !path.contains('/') && name.contains('/');
    if is_in_root { Cow::Owned(format!("$root/{name}")) } else { name }
}

impl<'a> Presented<'a> {
    /// The request with this head and address.
    pub fn new(service: Service, head: &Head<'a>, address: &Address<'a>) -> Self {
        let path = address.resource_path;
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = match service {
            Service::Blob => blob_name(path),
            Service::Queue | Service::Table => percent::decode(path).unwrap_or(Cow::Borrowed(path)),
        };
        Self {
            account: address.account,
            service: Some(service),
            path,
            query: address.query,
            head: Some(*head),
        }
    }

    /// A queue, container or blob: `name`, `container` or `container/blob`.
    pub fn resource(account: &'a str, path: &'a str) -> Self {
        Self { path: Cow::Borrowed(path), ..Self::from(account) }
    }

    /// The queue that is addressed.
    pub(super) fn queue(&self) -> Option<&str> {
        self.path.split('/').next().filter(|name| !name.is_empty())
    }

    /// The part of the path that a blob token signs: container, or container and blob.
    pub(super) fn blob_path(&self, resource: SignedResource) -> Option<Cow<'_, str>> {
        let (container, blob) = match self.path.split_once('/') {
            Some((container, blob)) => (container, Some(blob).filter(|blob| !blob.is_empty())),
            None => (&*self.path, None),
        };
        match (resource, blob) {
            _ if container.is_empty() => None,
            (SignedResource::Container, _) => Some(Cow::Borrowed(container)),
            (SignedResource::Directory(0), _) => Some(Cow::Owned(format!("{container}/"))),
            (SignedResource::Directory(depth), Some(blob)) => {
                let end = blob.match_indices('/').nth(depth - 1).map_or(blob.len(), |(at, _)| at);
                Some(Cow::Owned(format!("{container}/{}", &blob[..end])))
            }
            (SignedResource::Directory(_), None) => None,
            (_, Some(_)) => Some(Cow::Borrowed(&self.path)),
            // A blob in the root container is addressed by its name alone.
            (_, None) => Some(Cow::Owned(format!("$root/{container}"))),
        }
    }

    /// The snapshot or version that is addressed. A token for a container or directory covers all of them.
    pub(super) fn snapshot(&self, resource: SignedResource) -> Cow<'a, str> {
        match resource {
            SignedResource::Container | SignedResource::Directory(_) => Cow::Borrowed(""),
            // Recorded: a token for a blob covers its versions.
            SignedResource::Blob => self.query.find("snapshot").unwrap_or_default(),
            SignedResource::Snapshot | SignedResource::Version => {
                self.query.find("snapshot").or_else(|| self.query.find("versionid")).unwrap_or_default()
            }
        }
    }

    /// The headers that the token covers, each with a line feed after its value.
    pub(super) fn signed_headers(&self, token: &Token) -> String {
        let value = |name: &str| self.head.and_then(|head| head.get(name)).unwrap_or_default();
        names(&token.srh).map(|name| format!("{name}:{}\n", value(name))).collect()
    }

    /// The query parameters that the token covers, each with a line feed before its name.
    pub(super) fn signed_parameters(&self, token: &Token) -> String {
        let value = |name: &str| self.query.find(name).unwrap_or_default();
        names(&token.srq).map(|name| format!("\n{name}:{}", value(name))).collect()
    }
}

impl<'a> From<&'a str> for Presented<'a> {
    fn from(account: &'a str) -> Self {
        Self { account, service: None, path: Cow::Borrowed(""), query: Query(""), head: None }
    }
}

impl<'a> From<&'a String> for Presented<'a> {
    fn from(account: &'a String) -> Self {
        Self::from(account.as_str())
    }
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(|name| !name.is_empty())
}
