//! The derive macros of `lazuli-client`: `Entity` for what is stored, `Shape` for a part of it.
//!
//! Use them through `lazuli_client`, which documents them; the code they write refers to it by that name.

mod attribute;
mod case;
mod field;
mod kinds;
mod record;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Makes a struct an entity, or an enum of entities one that reads each row as its own kind.
#[proc_macro_derive(Entity, attributes(table))]
pub fn entity(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let code = match &input.data {
        Data::Struct(_) => record::entity(&input),
        Data::Enum(data) => kinds::entity(&input, data),
        Data::Union(_) => {
            Err(Error::new_spanned(&input.ident, "an entity is a struct, or an enum of entities"))
        }
    };
    code.unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a part of an entity: properties without keys.
#[proc_macro_derive(Shape, attributes(table))]
pub fn shape(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::shape(&input).unwrap_or_else(Error::into_compile_error).into()
}
