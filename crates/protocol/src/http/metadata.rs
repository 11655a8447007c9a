//! Metadata as request and response headers: `x-ms-meta-*`, in the letter case that the client used.

use lazuli_model::{Failure, Metadata};

use crate::{Head, Response};

/// The prefix of the names of metadata headers.
const PREFIX: &str = "x-ms-meta-";

/// The metadata of a request.
pub fn metadata(head: &Head<'_>) -> Result<Metadata, Failure> {
    let mut metadata = Metadata::default();
    for field in head.fields {
        let prefix = field.name.get(..PREFIX.len());
        if prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(PREFIX)) {
            metadata.insert(&field.name[PREFIX.len()..], field.value)?;
        }
    }
    Ok(metadata)
}

/// Adds metadata to a response.
pub fn with_metadata(response: Response, metadata: &Metadata) -> Response {
    metadata
        .iter()
        .fold(response, |response, (name, value)| response.with(format!("{PREFIX}{name}"), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use lazuli_model::ErrorCode;

    use super::*;
    use crate::http::head::Field;

    /// Names keep the client's letter case.
    #[test]
    fn names() {
        let fields = [
            Field { name: "X-Ms-Meta-Owner", value: "Ada" },
            Field { name: "x-ms-meta-b_2", value: "" },
            Field { name: "x-ms-version", value: "2021-08-06" },
        ];
        let found = metadata(&Head { method: "PUT", target: "/", fields: &fields }).unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), [("Owner", "Ada"), ("b_2", "")]);
        let response = with_metadata(Response::new(200), &found);
        assert_eq!(
            response.fields,
            [("x-ms-meta-Owner".into(), "Ada".into()), ("x-ms-meta-b_2".into(), "".into())]
        );
    }

    #[test]
    fn illegal_names() {
        for (name, code) in [
            ("x-ms-meta-", ErrorCode::EmptyMetadataKey),
            ("x-ms-meta-a-b", ErrorCode::InvalidMetadata),
            ("x-ms-meta-1", ErrorCode::InvalidMetadata),
        ] {
            let fields = [Field { name, value: "v" }];
            let failure = metadata(&Head { method: "PUT", target: "/", fields: &fields }).unwrap_err();
            assert_eq!(failure.code, code, "{name}");
        }
    }
}
