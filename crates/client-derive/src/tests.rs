//! Invalid types produce clear messages at the right position (CL-14).

use quote::quote;
use syn::DeriveInput;

use super::*;

/// Asserts the error message for a type that cannot be derived.
#[track_caller]
fn check(input: proc_macro2::TokenStream, message: &str) {
    let input: DeriveInput = syn::parse2(input).expect("a type");
    let error = entity_code(&input).expect_err("the type is rejected").to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn invalid_structs() {
    let keys = quote! { #[table(partition_key)] a: String, #[table(row_key)] b: String };
    check(quote! { struct X { #[table(row_key)] b: String } }, "missing partition_key: mark a field");
    check(quote! { struct X { #[table(partition_key)] a: String } }, "missing row_key: mark a field");
    check(quote! { struct X(String, String); }, "fields must be named");
    check(quote! { struct X<T> { #keys, c: T } }, "generic types");
    check(quote! { union X { a: u8 } }, "an entity must be a struct or an enum of entities");
    check(quote! { struct X { #keys, #[table(partition_key)] c: String } }, "already has this role");
    check(quote! { #[table(row_key = f)] struct X { #keys } }, "keep one");
    check(
        quote! { struct X { #keys, c: i32, #[table(rename = "c")] d: i32 } },
        "another field is also named c",
    );
    check(quote! { #[table(name = "a-b")] struct X { #keys } }, "invalid table name");
    check(quote! { #[table(kind = "Product..Guitar")] struct X { #keys } }, "base first");
    check(quote! { #[table(rename_all = "Title Case")] struct X { #keys } }, "unknown case; use one of");
    check(
        quote! { #[table(tablename = "T")] struct X { #keys } },
        "unknown attribute; a type can have name, kind",
    );
}

#[test]
fn invalid_fields() {
    #[track_caller]
    fn field(field: proc_macro2::TokenStream, message: &str) {
        check(
            quote! { struct X { #[table(partition_key)] a: String, #[table(row_key)] b: String, #field } },
            message,
        );
    }
    field(
        quote! { #[table(partition)] c: i32 },
        "unknown attribute; a field can have partition_key, row_key",
    );
    field(quote! { #[table(json, int64)] c: i32 }, "exclude each other");
    field(quote! { #[table(rename = "a-b")] c: i32 }, "'a-b' is not a valid property name");
    field(quote! { #[table(rename = "1a")] c: i32 }, "not starting with a digit");
    field(quote! { #[table(rename = "Timestamp")] c: i32 }, "is reserved; mark the field");
    field(quote! { #[table(prefix = "A_")] c: i32 }, "`prefix` requires `flatten`");
    field(quote! { #[table(skip, rename = "C")] c: i32 }, "not stored as one property");
    field(quote! { #[table(flatten, default)] c: Part }, "`default` requires a field");
}

#[test]
fn invalid_enums() {
    check(quote! { enum E {} }, "needs a variant for each");
    check(quote! { enum E<T> { A(T) } }, "generic types");
    check(quote! { enum E { A } }, "a variant must hold one entity");
    check(quote! { enum E { A(B, C) } }, "a variant must hold one entity");
    check(quote! { enum E { #[table(other)] A(B), #[table(other)] C(D) } }, "at most one variant");
    check(quote! { enum E { #[table(skip)] A(B) } }, "a variant can have `other`");
    check(quote! { #[table(partition_key = f)] enum E { A(B) } }, "the variants have their own keys");
    for word in [quote!(strict), quote!(eq_by_key), quote!(rename_all = "PascalCase")] {
        check(quote! { #[table(#word)] enum E { A(B) } }, "to the types of the variants");
    }
}
