//! Types that are selected at run time by the kind of each row: an extensible list, unlike a derived enum.

use std::collections::HashMap;
use std::fmt;

use crate::dynamic::Dynamic;
use crate::entity::Entity;
use crate::error::Result;

type Reader<R> = Box<dyn Fn(&Dynamic) -> Result<R> + Send + Sync>;

/// Decodes rows by their own kinds, regardless of the type of the query: for types that are not all known in
/// one place, such as those of plug-ins. Each type is turned into the common type `R`, often a boxed trait
/// object. A row of another kind, or one that its type cannot decode, stays a [`Dynamic`] with all its
/// properties.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Dynamic, Entity, Kinds};
///
/// #[derive(Entity)]
/// #[table(kind = "Product.Guitar")]
/// struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String, strings: i32 }
///
/// let kinds = Kinds::new(|other: Dynamic| format!("{} of {:?}", other.row_key, other.kind()))
///     .with::<Guitar>(|guitar| format!("{} with {} strings", guitar.number, guitar.strings));
///
/// let table = service.create_table("Products").await?;
/// table.insert(&Guitar { brand: "Gibson".into(), number: "SG".into(), strings: 6 }).await?;
/// table.insert(&Dynamic::new("Boss", "MT2")).await?;
/// let told = table.query::<Dynamic>().map(move |row| kinds.read(row)).collect().await?;
/// assert_eq!(told, ["MT2 of None", "SG with 6 strings"]);
/// # Ok(()) })
/// ```
pub struct Kinds<R> {
    readers: HashMap<&'static str, Reader<R>>,
    other: Box<dyn Fn(Dynamic) -> R + Send + Sync>,
}

impl<R> Kinds<R> {
    /// Starts without kinds. `other` gets all rows that no kind can decode.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, Kinds};
    ///
    /// let kinds = Kinds::new(|row| row.row_key);
    /// assert_eq!(kinds.read(Dynamic::new("Gibson", "SG")), "SG");
    /// ```
    pub fn new(other: impl Fn(Dynamic) -> R + Send + Sync + 'static) -> Self {
        Self { readers: HashMap::new(), other: Box::new(other) }
    }

    /// Adds a type that has a kind. `wrap` turns it into the common type.
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, Entity, Kinds, kind};
    /// #[derive(Entity)]
    /// #[table(kind = "Product")]
    /// struct Product { #[table(partition_key)] brand: String, #[table(row_key)] number: String }
    ///
    /// let kinds = Kinds::new(|_| None).with::<Product>(|product| Some(product.brand));
    /// let row = Dynamic::new("Boss", "MT2").with(kind::KIND_PROPERTY, kind::lineage("Product"))?;
    /// assert_eq!(kinds.read(row).as_deref(), Some("Boss"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    #[must_use]
    pub fn with<T: Entity>(mut self, wrap: impl Fn(T) -> R + Send + Sync + 'static) -> Self {
        const { assert!(T::LINEAGE.is_some(), "the entity needs a kind: #[table(kind = \"…\")]") };
        let reader = move |row: &Dynamic| row.read_as::<T>().map(&wrap);
        self.readers.insert(T::LINEAGE.unwrap_or_default(), Box::new(reader));
        self
    }

    /// The row as its own type: one table lookup, regardless of the number of kinds.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, Kinds};
    ///
    /// let kinds = Kinds::new(|row| row.props.len());
    /// assert_eq!(kinds.read(Dynamic::new("Gibson", "SG").with("Frets", 22)?), 1);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn read(&self, row: Dynamic) -> R {
        let reader = row.kind().and_then(|kind| self.readers.get(kind));
        match reader.map(|reader| reader(&row)) {
            Some(Ok(known)) => known,
            Some(Err(_)) | None => (self.other)(row),
        }
    }
}

impl<R> fmt::Debug for Kinds<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.readers.keys()).finish()
    }
}
