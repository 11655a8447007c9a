//! What is wrong is told in words, at the place where it is (CL-14).

use quote::quote;
use syn::DeriveInput;

use super::*;

/// The message for a type that cannot be derived.
#[track_caller]
fn check(input: proc_macro2::TokenStream, message: &str) {
    let input: DeriveInput = syn::parse2(input).expect("it is a type");
    let told = entity_code(&input).expect_err("it is refused").to_string();
    assert!(told.contains(message), "{told}");
}

#[test]
fn structs_that_are_no_entities() {
    let keys = quote! { #[table(partition_key)] a: String, #[table(row_key)] b: String };
    check(quote! { struct X { #[table(row_key)] b: String } }, "no partition_key: mark a field");
    check(quote! { struct X { #[table(partition_key)] a: String } }, "no row_key: mark a field");
    check(quote! { struct X(String, String); }, "fields need names");
    check(quote! { struct X<T> { #keys, c: T } }, "types with parameters");
    check(quote! { union X { a: u8 } }, "an entity is a struct, or an enum of entities");
    check(quote! { struct X { #keys, #[table(partition_key)] c: String } }, "another field for the same");
    check(quote! { #[table(row_key = f)] struct X { #keys } }, "which one is it?");
    check(
        quote! { struct X { #keys, c: i32, #[table(rename = "c")] d: i32 } },
        "another field has the name c",
    );
    check(quote! { #[table(name = "a-b")] struct X { #keys } }, "not a table name");
    check(quote! { #[table(kind = "Product..Guitar")] struct X { #keys } }, "base first");
    check(quote! { #[table(rename_all = "Title Case")] struct X { #keys } }, "unknown case; use one of");
    check(quote! { #[table(tablename = "T")] struct X { #keys } }, "unknown; a type can have name, kind");
}

#[test]
fn fields_that_are_no_properties() {
    #[track_caller]
    fn field(field: proc_macro2::TokenStream, message: &str) {
        check(
            quote! { struct X { #[table(partition_key)] a: String, #[table(row_key)] b: String, #field } },
            message,
        );
    }
    field(quote! { #[table(partition)] c: i32 }, "unknown; a field can have partition_key, row_key");
    field(quote! { #[table(json, int64)] c: i32 }, "one of these, not two");
    field(quote! { #[table(rename = "a-b")] c: i32 }, "'a-b' cannot be the name of a property");
    field(quote! { #[table(rename = "1a")] c: i32 }, "not a digit first");
    field(quote! { #[table(rename = "Timestamp")] c: i32 }, "is the service's own; mark the field");
    field(quote! { #[table(prefix = "A_")] c: i32 }, "a prefix goes with `flatten`");
    field(quote! { #[table(skip, rename = "C")] c: i32 }, "no property of its own");
    field(quote! { #[table(flatten, default)] c: Part }, "`default` is for fields that are a property");
}

#[test]
fn enums_that_are_no_kinds() {
    check(quote! { enum E {} }, "has a variant for each");
    check(quote! { enum E<T> { A(T) } }, "types with parameters");
    check(quote! { enum E { A } }, "a variant holds one entity");
    check(quote! { enum E { A(B, C) } }, "a variant holds one entity");
    check(quote! { enum E { #[table(other)] A(B), #[table(other)] C(D) } }, "one variant at most");
    check(quote! { enum E { #[table(skip)] A(B) } }, "a variant can have `other`");
    check(quote! { #[table(partition_key = f)] enum E { A(B) } }, "the variants have keys of their own");
    for word in [quote!(strict), quote!(eq_by_key), quote!(rename_all = "PascalCase")] {
        check(quote! { #[table(#word)] enum E { A(B) } }, "are for the types of the variants");
    }
}
