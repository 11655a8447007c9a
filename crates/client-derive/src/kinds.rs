//! The generated code of an enum of entities: each row is decoded as the variant of its kind.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DataEnum, DeriveInput, Error, Fields, Ident, Result, Type, Variant};

use crate::attribute::Container;
use crate::case::Case;
use crate::record::{apart, constants};

struct Kind<'a> {
    ident: &'a Ident,
    ty: &'a Type,
    other: bool,
}

/// `#[derive(Entity)]` on an enum.
pub fn entity(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "generic types are not supported"));
    }
    if data.variants.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "an enum of entities needs a variant for each: `Guitar(Guitar)`",
        ));
    }
    let container = Container::parse(&input.attrs)?;
    if let Some(key) = container.partition_key.as_ref().or(container.row_key.as_ref()) {
        return Err(Error::new_spanned(key, "remove this: the variants have their own keys"));
    }
    if container.strict || container.eq_by_key || container.case != Case::Same {
        let text = "move strict, eq_by_key and rename_all to the types of the variants";
        return Err(Error::new_spanned(&input.ident, text));
    }
    let kinds: Vec<Kind<'_>> = data.variants.iter().map(Kind::parse).collect::<Result<_>>()?;
    let others = kinds.iter().filter(|kind| kind.other).count();
    if others > 1 {
        return Err(Error::new_spanned(&input.ident, "at most one variant can be `other`"));
    }
    let ident = &input.ident;
    let constants = constants(&container);
    let decode = decode(&kinds);
    let variants: Vec<_> = kinds.iter().map(|kind| kind.ident).collect();
    let conversions = kinds.iter().map(|kind| kind.conversion(ident));
    let checks = kinds.iter().filter(|kind| !kind.other).map(Kind::check);
    Ok(apart(&quote! {
        #(#checks)*
        #(#conversions)*

        impl __l::Entity for #ident {
            #constants

            fn partition_key(&self) -> ::std::borrow::Cow<'_, str> {
                match self { #(Self::#variants(inner) => __l::Entity::partition_key(inner),)* }
            }

            fn row_key(&self) -> ::std::borrow::Cow<'_, str> {
                match self { #(Self::#variants(inner) => __l::Entity::row_key(inner),)* }
            }

            fn write(&self, out: &mut __l::Writer) -> ::lazuli_client::Result<()> {
                match self { #(Self::#variants(inner) => __l::Entity::write(inner, out),)* }
            }

            fn value_of(&self, name: &str) -> ::std::option::Option<::lazuli_client::Value> {
                match self { #(Self::#variants(inner) => __l::Entity::value_of(inner, name),)* }
            }

            fn decode(raw: &__l::RawEntity<'_>) -> ::std::result::Result<Self, __l::DecodeError> {
                #decode
            }
        }
    }))
}

/// A row of an unknown kind, or one that its type cannot decode, is decoded as the variant for all others
/// (LA-12).
fn decode(kinds: &[Kind<'_>]) -> TokenStream {
    let other = kinds.iter().find(|kind| kind.other);
    let failed = match other {
        Some(_) => quote!({}),
        None => quote!(return ::std::result::Result::Err(error)),
    };
    let tries = kinds.iter().filter(|kind| !kind.other).map(|Kind { ident, ty, .. }| {
        quote! {
            if lineage.is_some() && lineage == <#ty as __l::Entity>::LINEAGE {
                match <#ty as __l::Entity>::decode(raw) {
                    ::std::result::Result::Ok(entity) => return ::std::result::Result::Ok(Self::#ident(entity)),
                    #[allow(unused_variables, reason = "a variant for all other kinds does not use it")]
                    ::std::result::Result::Err(error) => #failed,
                }
            }
        }
    });
    let rest = match other {
        Some(Kind { ident, ty, .. }) => quote!(<#ty as __l::Entity>::decode(raw).map(Self::#ident)),
        None => quote!(::std::result::Result::Err(__l::unknown_kind(lineage))),
    };
    quote! {
        let lineage = __l::lineage_of(raw);
        #(#tries)*
        #rest
    }
}

impl<'a> Kind<'a> {
    fn parse(variant: &'a Variant) -> Result<Self> {
        let Fields::Unnamed(fields) = &variant.fields else {
            return Err(Error::new_spanned(variant, "a variant must hold one entity: `Guitar(Guitar)`"));
        };
        let (Some(field), 1) = (fields.unnamed.first(), fields.unnamed.len()) else {
            return Err(Error::new_spanned(variant, "a variant must hold one entity: `Guitar(Guitar)`"));
        };
        Ok(Self { ident: &variant.ident, ty: &field.ty, other: is_other(&variant.attrs)? })
    }

    fn conversion(&self, whole: &Ident) -> TokenStream {
        let Self { ident, ty, .. } = self;
        quote! {
            impl ::std::convert::From<#ty> for #whole {
                fn from(entity: #ty) -> Self {
                    Self::#ident(entity)
                }
            }
        }
    }

    /// Without a kind, no row would ever be decoded as this variant.
    fn check(&self) -> TokenStream {
        let Self { ident, ty, .. } = self;
        let text = format!("the entity of variant {ident} needs a kind: #[table(kind = \"…\")]");
        quote!(
            const _: () = ::std::assert!(<#ty as __l::Entity>::LINEAGE.is_some(), #text);
        )
    }
}

fn is_other(attributes: &[Attribute]) -> Result<bool> {
    let mut other = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("table")) {
        attribute.parse_nested_meta(|meta| match meta.path.is_ident("other") {
            true => {
                other = true;
                Ok(())
            }
            false => Err(meta.error("unknown attribute; a variant can have `other`, for all other kinds")),
        })?;
    }
    Ok(other)
}
