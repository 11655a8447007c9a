//! The derive macros of `lazuli-client`: `Entity` for stored types, `Shape` for a part of one.
//!
//! Use them through `lazuli_client`, which documents them; the generated code refers to it by that name.
//!
//! ```
//! use lazuli_client::Entity;
//!
//! #[derive(Entity)]
//! struct Person {
//!     #[table(partition_key)] city: String,
//!     #[table(row_key)] name: String,
//! }
//!
//! let jan = Person { city: "Delft".into(), name: "Jan".into() };
//! assert_eq!((jan.partition_key(), jan.row_key()), ("Delft".into(), "Jan".into()));
//! ```

mod attribute;
mod case;
mod field;
mod kinds;
mod record;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Makes a struct an entity, or lets an enum of entities decode each row as the variant of its kind.
///
/// ```
/// use lazuli_client::Entity;
///
/// #[derive(Entity)]
/// #[table(name = "Orders", rename_all = "PascalCase")]
/// struct Order {
///     #[table(partition_key)] year: String,
///     #[table(row_key)] number: String,
///     total: i64,
/// }
///
/// let order = Order { year: "2024".into(), number: "0001".into(), total: 10 };
/// assert_eq!((Order::TABLE, order.row_key()), (Some("Orders"), "0001".into()));
/// assert_eq!(order.value_of("Total"), Some(lazuli_client::Value::Int64(10)));
/// // Queries are checked by the compiler.
/// assert_eq!(Order::total().lt(20).to_string(), "Total lt 20L");
/// ```
#[proc_macro_derive(Entity, attributes(table))]
pub fn entity(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    entity_code(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn entity_code(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    match &input.data {
        Data::Struct(_) => record::entity(input),
        Data::Enum(data) => kinds::entity(input, data),
        Data::Union(_) => {
            Err(Error::new_spanned(&input.ident, "an entity must be a struct or an enum of entities"))
        }
    }
}

/// Makes a struct a part of an entity: properties without keys.
///
/// ```
/// use lazuli_client::{Entity, Shape};
///
/// #[derive(Shape)]
/// struct Address { city: String, zip: String }
///
/// #[derive(Entity)]
/// struct Person {
///     #[table(partition_key)] country: String,
///     #[table(row_key)] name: String,
///     #[table(flatten, prefix = "Home_")] home: Address,
/// }
///
/// let home = Address { city: "Delft".into(), zip: "2611".into() };
/// let person = Person { country: "NL".into(), name: "Jan".into(), home };
/// assert_eq!(person.value_of("Home_city"), Some(lazuli_client::Value::String("Delft".into())));
/// ```
#[proc_macro_derive(Shape, attributes(table))]
pub fn shape(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::shape(&input).unwrap_or_else(Error::into_compile_error).into()
}
