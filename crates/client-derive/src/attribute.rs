//! The `#[table(…)]` attributes of types and fields.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Field, LitStr, Result};

use crate::case::{Case, check_name};

/// `#[table(…)]` on a struct or enum.
pub struct Container {
    pub name: Option<LitStr>,
    pub lineage: Option<String>,
    pub partition_key: Option<Expr>,
    pub row_key: Option<Expr>,
    pub case: Case,
    pub strict: bool,
    pub eq_by_key: bool,
}

impl Container {
    pub fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut out = Self {
            name: None,
            lineage: None,
            partition_key: None,
            row_key: None,
            case: Case::Same,
            strict: false,
            eq_by_key: false,
        };
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("table")) {
            attribute.parse_nested_meta(|meta| out.take(&meta))?;
        }
        Ok(out)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match word(meta)?.as_str() {
            "name" => {
                let name: LitStr = meta.value()?.parse()?;
                check_table(&name)?;
                self.name = Some(name);
            }
            "kind" => self.lineage = Some(lineage(&meta.value()?.parse()?)?),
            "partition_key" => self.partition_key = Some(meta.value()?.parse()?),
            "row_key" => self.row_key = Some(meta.value()?.parse()?),
            "rename_all" => self.case = Case::parse(&meta.value()?.parse()?)?,
            "strict" => self.strict = true,
            "eq_by_key" => self.eq_by_key = true,
            _ => {
                return Err(meta.error(
                    "unknown attribute; a type can have name, kind, partition_key = function, row_key = function, rename_all, strict, eq_by_key",
                ));
            }
        }
        Ok(())
    }
}

fn word(meta: &ParseNestedMeta<'_>) -> Result<String> {
    meta.path.get_ident().map(ToString::to_string).ok_or_else(|| meta.error("expected a plain identifier"))
}

fn check_table(name: &LitStr) -> Result<()> {
    let text = name.value();
    let legal = (3..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric())
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.eq_ignore_ascii_case("tables");
    if legal {
        return Ok(());
    }
    Err(Error::new(
        name.span(),
        "invalid table name: use 3 to 63 ASCII letters and digits, starting with a letter, and not `tables`",
    ))
}

/// The stored form of a kind: `Product.Guitar` becomes `Entity/Product/Guitar/`.
fn lineage(kind: &LitStr) -> Result<String> {
    let text = kind.value();
    let parts: Vec<&str> = text.split('.').collect();
    if parts.iter().any(|part| part.is_empty() || part.contains('/')) {
        return Err(Error::new(
            kind.span(),
            "invalid kind: use one or more names separated by dots, base first: `Product.Guitar`",
        ));
    }
    Ok(format!("Entity/{}/", parts.join("/")))
}

/// The role of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    PartitionKey,
    RowKey,
    Timestamp,
    Etag,
    Skip,
    Extra,
    Flatten {
        prefix: String,
    },
    Json,
    Indexed,
    Plain,
    /// Stored as the class with this name.
    Wire(&'static str),
    /// Stored as a string with `Display` and `FromStr`.
    Text,
}

/// `#[table(…)]` on a field.
pub struct FieldAttribute {
    pub role: Role,
    pub name: String,
    pub default: bool,
    pub field_fn: bool,
}

/// Attributes that set the stored type, with its class.
const WIRE: [(&str, &str); 5] = [
    ("int64", "Int64"),
    ("double", "Double"),
    ("guid", "Identifier"),
    ("binary", "Bytes"),
    ("datetime", "Moment"),
];

const KNOWN: &str = "unknown attribute; a field can have partition_key, row_key, timestamp, etag, rename = \"…\", skip, default, no_field, \
     extra, flatten, prefix = \"…\", json, indexed, int64, double, guid, binary, datetime, string";

impl FieldAttribute {
    pub fn parse(field: &Field, plain_name: &str, case: Case) -> Result<Self> {
        let mut given = Given::default();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("table")) {
            attribute.parse_nested_meta(|meta| given.take(&meta))?;
        }
        given.settle(field, plain_name, case)
    }
}

/// The attributes of a field read so far.
#[derive(Default)]
struct Given {
    role: Option<(Role, Span)>,
    rename: Option<LitStr>,
    prefix: Option<LitStr>,
    default: bool,
    no_field: bool,
}

impl Given {
    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let word = word(meta)?;
        let role = match word.as_str() {
            "rename" => {
                self.rename = Some(meta.value()?.parse()?);
                return Ok(());
            }
            "prefix" => {
                self.prefix = Some(meta.value()?.parse()?);
                return Ok(());
            }
            "default" => {
                self.default = true;
                return Ok(());
            }
            "no_field" => {
                self.no_field = true;
                return Ok(());
            }
            "partition_key" => Role::PartitionKey,
            "row_key" => Role::RowKey,
            "timestamp" => Role::Timestamp,
            "etag" => Role::Etag,
            "skip" => Role::Skip,
            "extra" => Role::Extra,
            "flatten" => Role::Flatten { prefix: String::new() },
            "json" => Role::Json,
            "indexed" => Role::Indexed,
            "string" => Role::Text,
            other => match WIRE.iter().find(|(word, _)| *word == other) {
                Some((_, class)) => Role::Wire(class),
                None => return Err(meta.error(KNOWN)),
            },
        };
        if self.role.is_some() {
            return Err(meta.error("these attributes exclude each other"));
        }
        self.role = Some((role, meta.path.span()));
        Ok(())
    }

    fn settle(self, field: &Field, plain_name: &str, case: Case) -> Result<FieldAttribute> {
        let (mut role, span) = self.role.unwrap_or((Role::Plain, field.span()));
        if let Some(prefix) = &self.prefix {
            let Role::Flatten { prefix: place } = &mut role else {
                return Err(Error::new(prefix.span(), "`prefix` requires `flatten`"));
            };
            check_name(&prefix.value(), prefix.span())?;
            *place = prefix.value();
        }
        let stored = matches!(role, Role::Json | Role::Indexed | Role::Plain | Role::Wire(_) | Role::Text);
        if let (Some(rename), false) = (&self.rename, stored) {
            return Err(Error::new(
                rename.span(),
                "this field is not stored as one property, so it cannot be renamed",
            ));
        }
        if self.default && !stored {
            return Err(Error::new(span, "`default` requires a field that is stored as one property"));
        }
        let name = self.rename.as_ref().map_or_else(|| case.apply(plain_name), LitStr::value);
        if stored {
            check_name(&name, self.rename.as_ref().map_or(field.span(), LitStr::span))?;
        }
        let field_fn = !self.no_field;
        Ok(FieldAttribute { role, name, default: self.default, field_fn })
    }
}
