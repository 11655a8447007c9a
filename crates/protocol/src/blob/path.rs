//! The resource with a path. The path is decoded once; the address keeps the raw form for signatures.

use lazuli_model::blob::{BlobName, ContainerName};
use lazuli_model::{ErrorCode, Failure};

use super::params::Params;
use crate::http::percent;

/// A resource of the Blob service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The service.
    Service,
    /// A container.
    Container(ContainerName),
    /// A blob.
    Blob(ContainerName, BlobName),
}

/// Parses the path below the account.
///
/// A path of one segment is a container if the query says so, else a blob in the root container. A blob name is
/// everything after the slash that follows the container, including further slashes; a backslash counts as a
/// slash.
pub fn parse_path(path: &str, params: &Params<'_>) -> Result<Resource, Failure> {
    let path = path.strip_prefix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(Resource::Service);
    }
    let Some((container, blob)) = path.split_once('/') else {
        if names_container(params) {
            return Ok(Resource::Container(container_name(path)?));
        }
        return Ok(Resource::Blob(ContainerName::root(), blob_name(path)?));
    };
    let container = container_name(container)?;
    if blob.is_empty() {
        return Ok(Resource::Container(container));
    }
    Ok(Resource::Blob(container, blob_name(blob)?))
}

/// Is a single segment a container? A probe for a hierarchical namespace also addresses one.
fn names_container(params: &Params<'_>) -> bool {
    params.is("restype", "container") || params.is("restype", "account") || params.get("action").is_some()
}

fn container_name(segment: &str) -> Result<ContainerName, Failure> {
    ContainerName::new(&decoded(segment)?).map_err(Failure::from)
}

fn blob_name(path: &str) -> Result<BlobName, Failure> {
    let name = decoded(path)?.replace('\\', "/");
    BlobName::new(&name).map_err(Failure::from)
}

fn decoded(text: &str) -> Result<String, Failure> {
    let decoded = percent::decode(text).ok_or(ErrorCode::InvalidUri)?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::query::Query;

    fn parse(path: &str, query: &str) -> Result<Resource, ErrorCode> {
        parse_path(path, &Params::parse(Query(query)).unwrap()).map_err(|failure| failure.code)
    }

    fn blob(container: &str, blob: &str) -> Result<Resource, ErrorCode> {
        Ok(Resource::Blob(container.parse().unwrap(), blob.parse().unwrap()))
    }

    #[test]
    fn resources() {
        let container = |name: &str| Ok(Resource::Container(name.parse().unwrap()));
        for (path, query, expected) in [
            ("", "", Ok(Resource::Service)),
            ("/", "comp=list", Ok(Resource::Service)),
            ("/abc", "restype=container", container("abc")),
            ("/abc/", "restype=container&comp=list", container("abc")),
            ("/abc/", "action=getAccessControl", container("abc")),
            ("/abc", "restype=account&comp=properties", container("abc")),
            ("/$root", "restype=container", container("$root")),
            ("/%24root", "restype=container", container("$root")),
            ("/abc", "", blob("$root", "abc")),
            ("/a.txt", "", blob("$root", "a.txt")),
            ("/$root/a.txt", "", blob("$root", "a.txt")),
            ("/$web/index.html", "", blob("$web", "index.html")),
            ("/abc/x", "restype=account", blob("abc", "x")),
            ("/abc/a%20b%2Fc", "", blob("abc", "a b/c")),
            ("/abc/a%2520b", "", blob("abc", "a%20b")),
            ("/abc//x//y/", "", blob("abc", "/x//y/")),
            ("/abc/a%5Cb\\c", "", blob("abc", "a/b/c")),
            ("/abc/+", "", blob("abc", "+")),
            ("/abc/%E2%82%AC", "", blob("abc", "€")),
        ] {
            assert_eq!(parse(path, query), expected, "{path}?{query}");
        }
    }

    #[test]
    fn illegal_names() {
        for (path, code) in [
            ("/ab/x", ErrorCode::OutOfRangeInput),
            ("/ABC/x", ErrorCode::InvalidResourceName),
            ("/a%2Fb/x", ErrorCode::InvalidResourceName),
            ("/abc/%zz", ErrorCode::InvalidUri),
            ("/abc/%ff", ErrorCode::InvalidUri),
            ("/abc/%00", ErrorCode::InvalidResourceName),
            ("//x", ErrorCode::OutOfRangeInput),
        ] {
            assert_eq!(parse(path, ""), Err(code), "{path}");
        }
    }
}
