//! The code of one field: its place while reading, how it is written, and its name in queries.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Ident, Result, Type, Visibility};

use crate::attribute::{FieldAttribute, Role};
use crate::case::Case;

/// A field of an entity.
pub struct Member {
    pub ident: Ident,
    pub ty: Type,
    visibility: Visibility,
    pub attribute: FieldAttribute,
}

impl Member {
    pub fn parse(field: &syn::Field, case: Case) -> Result<Self> {
        let ident = field.ident.clone().ok_or_else(|| Error::new_spanned(field, "fields need names"))?;
        let attribute = FieldAttribute::parse(field, &ident.unraw().to_string(), case)?;
        Ok(Self { ident, ty: field.ty.clone(), visibility: field.vis.clone(), attribute })
    }

    pub fn role(&self) -> &Role {
        &self.attribute.role
    }

    /// Is it a part whose properties have their own names here?
    pub fn is_base(&self) -> bool {
        matches!(self.role(), Role::Flatten { prefix } if prefix.is_empty())
    }

    /// The field of the builder.
    pub fn place(&self) -> Option<TokenStream> {
        let (ident, ty) = (&self.ident, &self.ty);
        match self.role() {
            Role::PartitionKey | Role::RowKey | Role::Timestamp | Role::Etag | Role::Skip => None,
            Role::Extra => Some(quote!(#ident: ::lazuli_client::Props)),
            Role::Flatten { .. } => Some(quote!(#ident: <#ty as __l::Shape>::Builder)),
            Role::Indexed => Some(quote!(#ident: ::std::vec::Vec<(usize, <#ty as __l::Collection>::Item)>)),
            Role::Json | Role::Plain | Role::Wire(_) | Role::Text => {
                Some(quote!(#ident: ::std::option::Option<#ty>))
            }
        }
    }

    /// The arm of the match by name that fills the place.
    pub fn take_arm(&self) -> Option<TokenStream> {
        let (ident, name) = (&self.ident, &self.attribute.name);
        let fill = match self.role() {
            Role::Plain => quote_spanned!(self.span()=> __l::fill),
            Role::Json => quote!(__l::fill_json),
            Role::Text if self.is_option() => quote!(__l::fill_text_option),
            Role::Text => quote!(__l::fill_text),
            Role::Wire(class) => {
                let class = format_ident!("{class}");
                quote!(__l::fill_stored::<__l::class::#class, _>)
            }
            _ => return None,
        };
        Some(quote_spanned!(self.span()=> #name => return #fill(&mut self.#ident, name, value),))
    }

    /// What is tried when no name fits.
    pub fn take_rest(&self) -> Option<TokenStream> {
        let ident = &self.ident;
        match self.role() {
            Role::Indexed => {
                let prefix = self.indexed_prefix();
                Some(quote! {
                    if __l::fill_indexed(&mut self.#ident, #prefix, name, value)? {
                        return ::std::result::Result::Ok(true);
                    }
                })
            }
            Role::Flatten { prefix } => Some(quote! {
                if let ::std::option::Option::Some(rest) = name.strip_prefix(#prefix)
                    && __l::Builder::take(&mut self.#ident, rest, value)?
                {
                    return ::std::result::Result::Ok(true);
                }
            }),
            _ => None,
        }
    }

    /// Takes in what has no place of its own.
    pub fn keep(&self) -> Option<TokenStream> {
        let ident = &self.ident;
        match self.role() {
            Role::Extra => Some(quote! {
                __l::keep(&mut self.#ident, name, value);
                return true;
            }),
            _ if self.is_base() => Some(quote! {
                if __l::Builder::keep(&mut self.#ident, name, value) {
                    return true;
                }
            }),
            _ => None,
        }
    }

    /// The value of the field when all has been read.
    pub fn finish(&self) -> TokenStream {
        let (ident, name) = (&self.ident, &self.attribute.name);
        let value = match self.role() {
            Role::PartitionKey => quote!(__l::key_from(&head.partition, "PartitionKey")?),
            Role::RowKey => quote!(__l::key_from(&head.row, "RowKey")?),
            Role::Timestamp => quote!(head.timestamp),
            Role::Etag => quote!(head.etag.as_deref().map(::std::borrow::ToOwned::to_owned)),
            Role::Skip => quote!(::std::default::Default::default()),
            Role::Extra => quote!(self.#ident),
            Role::Flatten { .. } => quote!(__l::Builder::finish(self.#ident, head)?),
            Role::Indexed => quote!(__l::settle_indexed(self.#ident)),
            Role::Json | Role::Plain | Role::Wire(_) | Role::Text if self.attribute.default => {
                quote!(self.#ident.unwrap_or_default())
            }
            Role::Plain => quote_spanned!(self.span()=> __l::settle(self.#ident, #name)?),
            Role::Json => quote!(__l::settle_json(self.#ident, #name)?),
            Role::Text if self.is_option() => quote!(self.#ident.unwrap_or_default()),
            Role::Text => quote!(self.#ident.ok_or_else(|| __l::DecodeError::missing(#name))?),
            Role::Wire(class) => {
                let class = format_ident!("{class}");
                quote!(__l::settle_stored::<__l::class::#class, _>(self.#ident, #name)?)
            }
        };
        quote!(#ident: #value)
    }

    /// Writes the property or properties.
    pub fn write(&self) -> Option<TokenStream> {
        let (ident, name) = (&self.ident, &self.attribute.name);
        Some(match self.role() {
            Role::PartitionKey | Role::RowKey | Role::Timestamp | Role::Etag | Role::Skip => return None,
            Role::Extra => quote!(out.put_all(&self.#ident)?;),
            Role::Flatten { prefix } => quote!(out.nested(#prefix, &self.#ident)?;),
            Role::Indexed => {
                let prefix = self.indexed_prefix();
                quote!(__l::write_indexed(out, #prefix, &self.#ident)?;)
            }
            _ => {
                let value = self.value()?;
                quote!(out.put(#name, #value?)?;)
            }
        })
    }

    /// The value of the property: a `Result<Option<Value>>`.
    fn value(&self) -> Option<TokenStream> {
        let ident = &self.ident;
        Some(match self.role() {
            Role::Plain => quote_spanned!(self.span()=> __l::plain(&self.#ident)),
            Role::Json => quote!(__l::to_json(&self.#ident)),
            Role::Text if self.is_option() => quote!(__l::to_text_option(&self.#ident)),
            Role::Text => quote!(__l::to_text(&self.#ident)),
            Role::Wire(class) => {
                let class = format_ident!("{class}");
                quote!(__l::Stored::<__l::class::#class>::to_stored(&self.#ident))
            }
            _ => return None,
        })
    }

    /// Looks the value up by name: an arm of a match.
    pub fn value_arm(&self) -> Option<TokenStream> {
        let (ident, name) = (&self.ident, &self.attribute.name);
        if *self.role() == Role::Timestamp {
            return Some(quote!("Timestamp" => return __l::ToValue::to_value(&self.#ident),));
        }
        let value = self.value()?;
        Some(quote!(#name => return #value.ok().flatten(),))
    }

    /// Looks the value up where no name fits.
    pub fn value_rest(&self) -> Option<TokenStream> {
        let ident = &self.ident;
        let found = match self.role() {
            Role::Extra => quote!(self.#ident.value(name).cloned()),
            Role::Indexed => {
                let prefix = self.indexed_prefix();
                quote!(__l::value_indexed(#prefix, name, &self.#ident))
            }
            Role::Flatten { prefix } => quote! {
                name.strip_prefix(#prefix).and_then(|rest| __l::Shape::field_value(&self.#ident, rest))
            },
            _ => return None,
        };
        Some(quote! {
            let found = #found;
            if found.is_some() {
                return found;
            }
        })
    }

    /// Adds the names that the field stores.
    pub fn names(&self) -> Option<TokenStream> {
        let (ty, name) = (&self.ty, &self.attribute.name);
        match self.role() {
            Role::PartitionKey | Role::RowKey | Role::Etag | Role::Skip => None,
            Role::Timestamp => Some(quote!(out.push(::std::string::String::from("Timestamp"));)),
            Role::Extra | Role::Indexed => Some(quote!(closed = false;)),
            Role::Flatten { prefix } => Some(quote! {
                closed &= <#ty as __l::Shape>::field_names(&::std::format!("{prefix}{}", #prefix), out);
            }),
            Role::Json | Role::Plain | Role::Wire(_) | Role::Text => {
                Some(quote!(out.push(::std::format!("{prefix}{}", #name));))
            }
        }
    }

    /// The function that names the property in queries.
    pub fn field_fn(&self) -> Option<TokenStream> {
        let (ident, ty, visibility) = (&self.ident, &self.ty, &self.visibility);
        let own = &self.attribute.name;
        let (class, name) = match self.role() {
            Role::PartitionKey => (quote!(<#ty as __l::KeyText>::Class), "PartitionKey"),
            Role::RowKey => (quote!(<#ty as __l::KeyText>::Class), "RowKey"),
            Role::Timestamp => (quote!(__l::class::Moment), "Timestamp"),
            Role::Plain => (quote_spanned!(self.span()=> <#ty as __l::FieldType>::Class), own.as_str()),
            Role::Text => (quote!(__l::class::Text), own.as_str()),
            Role::Wire(class) => {
                let class = format_ident!("{class}");
                (quote!(__l::class::#class), own.as_str())
            }
            _ => return None,
        };
        let class: TokenStream = rooted(class);
        let doc = format!("The property `{name}` in queries.");
        self.attribute.field_fn.then(|| {
            quote! {
                #[doc = #doc]
                #[allow(dead_code, clippy::all)]
                #visibility const fn #ident() -> ::lazuli_client::Field<#class> {
                    ::lazuli_client::Field::new(#name)
                }
            }
        })
    }

    /// Where an error about the field's type is shown: at the type.
    fn span(&self) -> Span {
        self.ty.span().resolved_at(Span::call_site())
    }

    fn indexed_prefix(&self) -> String {
        format!("{}_", self.attribute.name)
    }

    fn is_option(&self) -> bool {
        matches!(&self.ty, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "Option"))
    }
}

/// The field functions stand outside of the block that knows the short name.
fn rooted(tokens: TokenStream) -> TokenStream {
    use proc_macro2::{Group, TokenTree};
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(ident) if ident == "__l" => quote!(::lazuli_client::__private),
            TokenTree::Group(group) => {
                TokenTree::Group(Group::new(group.delimiter(), rooted(group.stream()))).into()
            }
            other => other.into(),
        })
        .collect()
}
