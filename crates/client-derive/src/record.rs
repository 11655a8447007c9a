//! The generated code of a struct: its builder, its [`Shape`] and, with keys, its `Entity`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Data, DeriveInput, Error, Expr, Fields, Ident, Result, Visibility};

use crate::attribute::{Container, Role};
use crate::field::Member;

/// A struct to be read and written.
struct Record<'a> {
    ident: &'a Ident,
    visibility: &'a Visibility,
    container: Container,
    members: Vec<Member>,
}

/// `#[derive(Entity)]` on a struct.
pub fn entity(input: &DeriveInput) -> Result<TokenStream> {
    let record = Record::parse(input)?;
    let partition = record.key(&Role::PartitionKey, record.container.partition_key.as_ref())?;
    let row = record.key(&Role::RowKey, record.container.row_key.as_ref())?;
    let entity = record.entity_impl(&partition, &row);
    let equality = record.container.eq_by_key.then(|| record.equality());
    let shape = record.shape_impl();
    let fields = record.field_fns();
    let items = apart(&quote! { #shape #entity #equality });
    Ok(quote! { #fields #items })
}

/// `#[derive(Shape)]` on a struct.
pub fn shape(input: &DeriveInput) -> Result<TokenStream> {
    let record = Record::parse(input)?;
    let key = record.members.iter().find(|member| matches!(member.role(), Role::PartitionKey | Role::RowKey));
    if let Some(member) = key {
        return Err(Error::new(
            member.ident.span(),
            "a part of an entity cannot have keys; derive Entity instead",
        ));
    }
    let shape = record.shape_impl();
    let fields = record.field_fns();
    let items = apart(&shape);
    Ok(quote! { #fields #items })
}

/// Wraps items so that their names cannot clash; `__l` abbreviates the path to the client's internals.
pub fn apart(items: &TokenStream) -> TokenStream {
    quote! {
        #[allow(clippy::all, clippy::pedantic, reason = "written by a derive")]
        const _: () = {
            use ::lazuli_client::__private as __l;
            #items
        };
    }
}

impl<'a> Record<'a> {
    fn parse(input: &'a DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new_spanned(&input.ident, "this derive requires a struct"));
        };
        let Fields::Named(fields) = &data.fields else {
            return Err(Error::new_spanned(
                &input.ident,
                "fields must be named, since they become properties",
            ));
        };
        if !input.generics.params.is_empty() {
            return Err(Error::new_spanned(&input.generics, "generic types are not supported"));
        }
        let container = Container::parse(&input.attrs)?;
        let members: Vec<Member> =
            fields.named.iter().map(|field| Member::parse(field, container.case)).collect::<Result<_>>()?;
        let record = Self { ident: &input.ident, visibility: &input.vis, container, members };
        record.check()?;
        Ok(record)
    }

    /// Each role and each name may occur only once.
    fn check(&self) -> Result<()> {
        for (index, member) in self.members.iter().enumerate() {
            let before = &self.members[..index];
            let single = matches!(
                member.role(),
                Role::PartitionKey | Role::RowKey | Role::Timestamp | Role::Etag | Role::Extra
            );
            if single && before.iter().any(|other| other.role() == member.role()) {
                return Err(Error::new(member.ident.span(), "another field already has this role"));
            }
            let stored = |member: &Member| member.take_arm().is_some();
            if stored(member)
                && before.iter().any(|other| stored(other) && other.attribute.name == member.attribute.name)
            {
                let text = format!("another field is also named {}", member.attribute.name);
                return Err(Error::new(member.ident.span(), text));
            }
        }
        Ok(())
    }

    /// The source of a key: a field, a function, or the struct that this one extends.
    fn key(&self, role: &Role, function: Option<&Expr>) -> Result<TokenStream> {
        let method = if *role == Role::PartitionKey {
            format_ident!("partition_key")
        } else {
            format_ident!("row_key")
        };
        let field = self.members.iter().find(|member| member.role() == role);
        match (field, function, self.members.iter().find(|member| member.is_base())) {
            (Some(member), Some(_), _) => Err(Error::new(
                member.ident.span(),
                format!("#[table({method})] is on both this field and the type; keep one"),
            )),
            (Some(member), None, _) => {
                let ident = &member.ident;
                Ok(quote_spanned!(member.span()=> __l::KeyText::to_key(&self.#ident)))
            }
            (None, Some(function), _) => Ok(quote!(__l::computed(self, #function))),
            (None, None, Some(Member { ident, .. })) => Ok(quote!(__l::Entity::#method(&self.#ident))),
            (None, None, None) => Err(Error::new(
                self.ident.span(),
                format!(
                    "missing {method}: mark a field with #[table({method})], or add #[table({method} = function)] to the type"
                ),
            )),
        }
    }

    fn field_fns(&self) -> TokenStream {
        let ident = self.ident;
        let functions = self.members.iter().filter_map(Member::field_fn);
        quote! {
            /// Properties in queries.
            impl #ident {
                #(#functions)*
            }
        }
    }

    fn shape_impl(&self) -> TokenStream {
        let ident = self.ident;
        let builder = self.builder();
        // Flexible properties come last, so that a fixed one is never rejected as a duplicate of a flexible one.
        let (extra, fixed): (Vec<_>, Vec<_>) = self.members.iter().partition(|m| *m.role() == Role::Extra);
        let writes = fixed.iter().chain(&extra).filter_map(|member| member.write());
        let value_arms = self.members.iter().filter_map(Member::value_arm);
        let value_rest = self.members.iter().filter_map(Member::value_rest);
        let names = self.members.iter().filter_map(Member::names);
        quote! {
            #builder

            impl __l::Shape for #ident {
                type Builder = __EntityBuilder;

                fn write_fields(&self, out: &mut __l::Writer) -> ::lazuli_client::Result<()> {
                    #(#writes)*
                    ::std::result::Result::Ok(())
                }

                fn field_value(&self, name: &str) -> ::std::option::Option<::lazuli_client::Value> {
                    match name {
                        #(#value_arms)*
                        _ => {}
                    }
                    #(#value_rest)*
                    ::std::option::Option::None
                }

                #[allow(unused_mut, unused_variables, reason = "a struct may have no fields that use them")]
                fn field_names(prefix: &str, out: &mut ::std::vec::Vec<::std::string::String>) -> bool {
                    let mut closed = true;
                    #(#names)*
                    closed
                }
            }
        }
    }

    fn builder(&self) -> TokenStream {
        let (ident, visibility) = (self.ident, self.visibility);
        let places = self.members.iter().filter_map(Member::place);
        let arms = self.members.iter().filter_map(Member::take_arm);
        let rest = self.members.iter().filter_map(Member::take_rest);
        let extra = self.members.iter().find(|member| *member.role() == Role::Extra);
        // A property with the prefix of a nested struct belongs to that struct, if it keeps unknown properties.
        let prefixed = self.members.iter().filter(|member| member.is_prefixed()).filter_map(Member::keep);
        let own: Vec<_> = match extra {
            Some(extra) => extra.keep().into_iter().collect(),
            None => {
                let bases = self.members.iter().filter(|member| member.is_base());
                bases.filter_map(Member::keep).chain([quote!(false)]).collect()
            }
        };
        let keeps = prefixed.chain(own);
        let finish = self.members.iter().map(Member::finish);
        quote! {
            #[derive(::std::default::Default)]
            #visibility struct __EntityBuilder {
                #(#places,)*
            }

            impl __l::Builder for __EntityBuilder {
                type Output = #ident;

                fn take(
                    &mut self,
                    name: &str,
                    value: &__l::WireValue<'_>,
                ) -> ::std::result::Result<bool, __l::DecodeError> {
                    match name {
                        #(#arms)*
                        _ => {}
                    }
                    #(#rest)*
                    ::std::result::Result::Ok(false)
                }

                #[allow(unused_variables, reason = "a struct may have no fields that use them")]
                fn keep(&mut self, name: &str, value: &__l::WireValue<'_>) -> bool {
                    #(#keeps)*
                }

                #[allow(unused_variables, reason = "a struct may have no fields that use them")]
                fn finish(self, head: &__l::Head<'_>) -> ::std::result::Result<#ident, __l::DecodeError> {
                    ::std::result::Result::Ok(#ident { #(#finish,)* })
                }
            }
        }
    }

    fn entity_impl(&self, partition: &TokenStream, row: &TokenStream) -> TokenStream {
        let ident = self.ident;
        let constants = constants(&self.container);
        let strict = self.container.strict;
        let kind = self.container.lineage.as_ref().map(|lineage| quote!(out.put_kind(#lineage)?;));
        quote! {
            impl __l::Entity for #ident {
                #constants

                fn partition_key(&self) -> ::std::borrow::Cow<'_, str> {
                    #partition
                }

                fn row_key(&self) -> ::std::borrow::Cow<'_, str> {
                    #row
                }

                fn write(&self, out: &mut __l::Writer) -> ::lazuli_client::Result<()> {
                    __l::Shape::write_fields(self, out)?;
                    #kind
                    ::std::result::Result::Ok(())
                }

                fn decode(raw: &__l::RawEntity<'_>) -> ::std::result::Result<Self, __l::DecodeError> {
                    __l::decode_shape(raw, #strict)
                }

                fn value_of(&self, name: &str) -> ::std::option::Option<::lazuli_client::Value> {
                    __l::shape_value(self, name)
                }

                fn names() -> ::std::option::Option<::std::vec::Vec<::std::string::String>> {
                    __l::shape_names::<Self>()
                }
            }
        }
    }

    /// Two entities are equal if their keys are equal (LA-05).
    fn equality(&self) -> TokenStream {
        let ident = self.ident;
        quote! {
            impl ::std::cmp::PartialEq for #ident {
                fn eq(&self, other: &Self) -> bool {
                    __l::Entity::partition_key(self) == __l::Entity::partition_key(other)
                        && __l::Entity::row_key(self) == __l::Entity::row_key(other)
                }
            }

            impl ::std::cmp::Eq for #ident {}

            impl ::std::hash::Hash for #ident {
                fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                    ::std::hash::Hash::hash(&__l::Entity::partition_key(self), state);
                    ::std::hash::Hash::hash(&__l::Entity::row_key(self), state);
                }
            }
        }
    }
}

/// The table and the kind.
pub fn constants(container: &Container) -> TokenStream {
    let table = container.name.as_ref().map(
        |name| quote!(const TABLE: ::std::option::Option<&'static str> = ::std::option::Option::Some(#name);),
    );
    let lineage = container.lineage.as_ref().map(|lineage| {
        quote!(const LINEAGE: ::std::option::Option<&'static str> = ::std::option::Option::Some(#lineage);)
    });
    quote!(#table #lineage)
}
