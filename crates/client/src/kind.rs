//! Kinds: several types of entity in one table, distinguished by a property that holds the lineage of each.
//!
//! A kind is named with dots, base first: `Product.Guitar`. Its lineage, `Entity/Product/Guitar/`, is stored, so
//! that "a product of any kind" is a prefix, and a prefix is a range that the service can filter by (LA-11, LA-14).
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use lazuli_client::Entity;
//!
//! #[derive(Entity)]
//! #[table(kind = "Product")]
//! struct Product { #[table(partition_key)] brand: String, #[table(row_key)] number: String }
//!
//! #[derive(Entity)]
//! #[table(kind = "Product.Guitar")]
//! struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String, strings: i32 }
//!
//! let table = service.create_table("Products").await?;
//! table.insert(&Product { brand: "Boss".into(), number: "MT2".into() }).await?;
//! table.insert(&Guitar { brand: "Gibson".into(), number: "SG".into(), strings: 6 }).await?;
//! assert_eq!(table.query::<Product>().collect().await?.len(), 2);
//! assert_eq!(table.query::<Guitar>().collect().await?.len(), 1);
//! # Ok(()) })
//! ```

use crate::filter::Filter;

/// The property that holds the lineage of an entity.
///
/// ```
/// # use lazuli_client::{Entity, kind};
/// #[derive(Entity)]
/// #[table(kind = "Product.Guitar")]
/// struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String }
///
/// let stored = Guitar { brand: "Gibson".into(), number: "SG".into() }.properties()?;
/// assert_eq!(stored.get::<String>(kind::KIND_PROPERTY)?, Some(kind::lineage("Product.Guitar")));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub const KIND_PROPERTY: &str = "_Type";

/// The start of every lineage.
///
/// ```
/// use lazuli_client::kind;
///
/// assert_eq!(kind::is_kind(kind::LINEAGE_ROOT), kind::is_kind(&kind::lineage(""))); // any kind
/// ```
pub const LINEAGE_ROOT: &str = "Entity/";

/// The lineage of a kind.
///
/// ```
/// assert_eq!(lazuli_client::kind::lineage("Product.Guitar"), "Entity/Product/Guitar/");
/// ```
pub fn lineage(kind: &str) -> String {
    let mut out = LINEAGE_ROOT.to_owned();
    for part in kind.split('.').filter(|part| !part.is_empty()) {
        out.push_str(part);
        out.push('/');
    }
    out
}

/// The condition that an entity has this lineage or one that extends it.
///
/// ```
/// let guitars = lazuli_client::kind::is_kind("Entity/Product/");
/// assert_eq!(guitars.to_string(), "_Type ge 'Entity/Product/' and _Type lt 'Entity/Product0'");
/// ```
pub fn is_kind(lineage: &str) -> Filter {
    crate::field::prop(KIND_PROPERTY).starts_with(lineage)
}
