//! Lists of names, for `select`.

use crate::field::Named;

/// Several property names: an array or `Vec` of one type, or a tuple of several.
///
/// ```
/// # use lazuli_embedded::doc::Person;
/// use lazuli_client::{prop, query::Names};
///
/// fn columns(names: impl Names) -> String {
///     names.into_names().join(",")
/// }
///
/// assert_eq!(columns([Person::city(), Person::name()]), "PartitionKey,RowKey");
/// assert_eq!(columns((Person::age(), prop("Shoes"), "Hats")), "Age,Shoes,Hats");
/// ```
pub trait Names {
    /// The names in the table.
    ///
    /// ```
    /// use lazuli_client::query::Names;
    ///
    /// assert_eq!(vec!["Age", "Hats"].into_names(), ["Age", "Hats"]);
    /// ```
    fn into_names(self) -> Vec<String>;
}

impl<N: Named, const COUNT: usize> Names for [N; COUNT] {
    fn into_names(self) -> Vec<String> {
        self.into_iter().map(Named::into_name).collect()
    }
}

impl<N: Named> Names for Vec<N> {
    fn into_names(self) -> Vec<String> {
        self.into_iter().map(Named::into_name).collect()
    }
}

macro_rules! tuples_of_names {
    ($($($name:ident $at:tt),+;)*) => {$(
        impl<$($name: Named),+> Names for ($($name,)+) {
            fn into_names(self) -> Vec<String> {
                vec![$(self.$at.into_name()),+]
            }
        }
    )*};
}

tuples_of_names! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}
