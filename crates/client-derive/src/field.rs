//! The generated code of one field: its slot during decoding, its encoding, and its name in queries.

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
        let ident = field.ident.clone().ok_or_else(|| Error::new_spanned(field, "fields must be named"))?;
        let attribute = FieldAttribute::parse(field, &ident.unraw().to_string(), case)?;
        Ok(Self { ident, ty: field.ty.clone(), visibility: field.vis.clone(), attribute })
    }

    pub fn role(&self) -> &Role {
        &self.attribute.role
    }

    /// Is it a nested struct whose properties have a prefix?
    pub fn is_prefixed(&self) -> bool {
        matches!(self.role(), Role::Flatten { prefix } if !prefix.is_empty())
    }

    /// Is it a nested struct whose properties keep their own names?
    pub fn is_base(&self) -> bool {
        matches!(self.role(), Role::Flatten { prefix } if prefix.is_empty())
    }

    /// The field of the builder.
    pub fn place(&self) -> Option<TokenStream> {
        let (ident, ty) = (&self.ident, &self.ty);
        match self.role() {
            Role::PartitionKey | Role::RowKey | Role::Timestamp | Role::Etag | Role::Skip => None,
            Role::Extra => Some(quote_spanned!(self.span()=> #ident: ::lazuli_client::Props)),
            Role::Flatten { .. } => Some(quote_spanned!(self.span()=> #ident: <#ty as __l::Shape>::Builder)),
            Role::Indexed => Some(
                quote_spanned!(self.span()=> #ident: ::std::vec::Vec<(usize, <#ty as __l::Collection>::Item)>),
            ),
            Role::Json | Role::Plain | Role::Wire(_) | Role::Text => {
                Some(quote_spanned!(self.span()=> #ident: ::std::option::Option<#ty>))
            }
        }
    }

    /// The match arm that fills the slot by property name.
    pub fn take_arm(&self) -> Option<TokenStream> {
        let (ident, name) = (&self.ident, &self.attribute.name);
        let fill = match self.role() {
            Role::Plain => quote_spanned!(self.span()=> __l::fill),
            Role::Json => quote_spanned!(self.span()=> __l::fill_json),
            Role::Text if self.is_option() => quote_spanned!(self.span()=> __l::fill_text_option),
            Role::Text => quote_spanned!(self.span()=> __l::fill_text),
            Role::Wire(class) => {
                let class = format_ident!("{class}");
                quote_spanned!(self.span()=> __l::fill_stored::<__l::class::#class, _>)
            }
            _ => return None,
        };
        Some(quote_spanned!(self.span()=> #name => return #fill(&mut self.#ident, name, value),))
    }

    /// The code that runs when no name matches.
    pub fn take_rest(&self) -> Option<TokenStream> {
        let ident = &self.ident;
        match self.role() {
            Role::Indexed => {
                let prefix = self.indexed_prefix();
                Some(quote_spanned! {self.span()=>
                    if __l::fill_indexed(&mut self.#ident, #prefix, name, value)? {
                        return ::std::result::Result::Ok(true);
                    }
                })
            }
            Role::Flatten { prefix } => Some(quote_spanned! {self.span()=>
                if let ::std::option::Option::Some(rest) = name.strip_prefix(#prefix)
                    && __l::Builder::take(&mut self.#ident, rest, value)?
                {
                    return ::std::result::Result::Ok(true);
                }
            }),
            _ => None,
        }
    }

    /// Stores a property without a field.
    pub fn keep(&self) -> Option<TokenStream> {
        let ident = &self.ident;
        match self.role() {
            Role::Extra => Some(quote_spanned! {self.span()=>
                __l::keep(&mut self.#ident, name, value);
                return true;
            }),
            Role::Flatten { prefix } => Some(quote_spanned! {self.span()=>
                if let ::std::option::Option::Some(rest) = name.strip_prefix(#prefix)
                    && __l::Builder::keep(&mut self.#ident, rest, value)
                {
                    return true;
                }
            }),
            _ => None,
        }
    }

    /// The value of the field after all properties are read.
    pub fn finish(&self) -> TokenStream {
        let (ident, name) = (&self.ident, &self.attribute.name);
        let value = match self.role() {
            Role::PartitionKey => {
                quote_spanned!(self.span()=> __l::key_from(&head.partition, "PartitionKey")?)
            }
            Role::RowKey => quote_spanned!(self.span()=> __l::key_from(&head.row, "RowKey")?),
            Role::Timestamp => quote_spanned!(self.span()=> head.timestamp),
            Role::Etag => {
                quote_spanned!(self.span()=> head.etag.as_deref().map(::std::borrow::ToOwned::to_owned))
            }
            Role::Skip => quote_spanned!(self.span()=> ::std::default::Default::default()),
            Role::Extra => quote_spanned!(self.span()=> self.#ident),
            Role::Flatten { .. } => quote_spanned!(self.span()=> __l::Builder::finish(self.#ident, head)?),
            Role::Indexed => quote_spanned!(self.span()=> __l::settle_indexed(self.#ident)),
            Role::Json | Role::Plain | Role::Wire(_) | Role::Text if self.attribute.default => {
                quote_spanned!(self.span()=> self.#ident.unwrap_or_default())
            }
            Role::Plain => quote_spanned!(self.span()=> __l::settle(self.#ident, #name)?),
            Role::Json => quote_spanned!(self.span()=> __l::settle_json(self.#ident, #name)?),
            Role::Text if self.is_option() => quote_spanned!(self.span()=> self.#ident.unwrap_or_default()),
            Role::Text => {
                quote_spanned!(self.span()=> self.#ident.ok_or_else(|| __l::DecodeError::missing(#name))?)
            }
            Role::Wire(class) => {
                let class = format_ident!("{class}");
                quote_spanned!(self.span()=> __l::settle_stored::<__l::class::#class, _>(self.#ident, #name)?)
            }
        };
        quote_spanned!(self.span()=> #ident: #value)
    }

    /// Writes the property or properties.
    pub fn write(&self) -> Option<TokenStream> {
        let (ident, name) = (&self.ident, &self.attribute.name);
        Some(match self.role() {
            Role::PartitionKey | Role::RowKey | Role::Timestamp | Role::Etag | Role::Skip => return None,
            Role::Extra => quote_spanned!(self.span()=> out.put_all(&self.#ident)?;),
            Role::Flatten { prefix } => quote_spanned!(self.span()=> out.nested(#prefix, &self.#ident)?;),
            Role::Indexed => {
                let prefix = self.indexed_prefix();
                quote_spanned!(self.span()=> __l::write_indexed(out, #prefix, &self.#ident)?;)
            }
            _ => {
                let value = self.value()?;
                quote_spanned!(self.span()=> out.put(#name, #value?)?;)
            }
        })
    }

    /// The value of the property: a `Result<Option<Value>>`.
    fn value(&self) -> Option<TokenStream> {
        let ident = &self.ident;
        Some(match self.role() {
            Role::Plain => quote_spanned!(self.span()=> __l::plain(&self.#ident)),
            Role::Json => quote_spanned!(self.span()=> __l::to_json(&self.#ident)),
            Role::Text if self.is_option() => quote_spanned!(self.span()=> __l::to_text_option(&self.#ident)),
            Role::Text => quote_spanned!(self.span()=> __l::to_text(&self.#ident)),
            Role::Wire(class) => {
                let class = format_ident!("{class}");
                quote_spanned!(self.span()=> __l::Stored::<__l::class::#class>::to_stored(&self.#ident))
            }
            _ => return None,
        })
    }

    /// A match arm that returns the value by property name.
    pub fn value_arm(&self) -> Option<TokenStream> {
        let (ident, name) = (&self.ident, &self.attribute.name);
        if *self.role() == Role::Timestamp {
            return Some(
                quote_spanned!(self.span()=> "Timestamp" => return __l::ToValue::to_value(&self.#ident),),
            );
        }
        let value = self.value()?;
        Some(quote_spanned!(self.span()=> #name => return #value.ok().flatten(),))
    }

    /// Returns the value when no name matches.
    pub fn value_rest(&self) -> Option<TokenStream> {
        let ident = &self.ident;
        let found = match self.role() {
            Role::Extra => quote_spanned!(self.span()=> self.#ident.value(name).cloned()),
            Role::Indexed => {
                let prefix = self.indexed_prefix();
                quote_spanned!(self.span()=> __l::value_indexed(#prefix, name, &self.#ident))
            }
            Role::Flatten { prefix } => quote_spanned! {self.span()=>
                name.strip_prefix(#prefix).and_then(|rest| __l::Shape::field_value(&self.#ident, rest))
            },
            _ => return None,
        };
        Some(quote_spanned! {self.span()=>
            let found = #found;
            if found.is_some() {
                return found;
            }
        })
    }

    /// Adds the names of the properties that the field stores.
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
            Role::PartitionKey => {
                (quote_spanned!(self.span()=> <#ty as __l::KeyText>::Class), "PartitionKey")
            }
            Role::RowKey => (quote_spanned!(self.span()=> <#ty as __l::KeyText>::Class), "RowKey"),
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
                #[allow(dead_code, clippy::all, reason = "written by a derive; not every property is queried")]
                #visibility const fn #ident() -> ::lazuli_client::Field<#class> {
                    ::lazuli_client::Field::new(#name)
                }
            }
        })
    }

    /// Errors about the field's type are shown at the type.
    pub fn span(&self) -> Span {
        self.ty.span().resolved_at(Span::call_site())
    }

    fn indexed_prefix(&self) -> String {
        format!("{}_", self.attribute.name)
    }

    fn is_option(&self) -> bool {
        matches!(&self.ty, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "Option"))
    }
}

/// The field functions are outside the block that defines the short name.
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
