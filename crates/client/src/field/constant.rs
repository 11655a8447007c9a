//! A constant on the left of a comparison: `constant(18).le(Person::age())` (LA-08).

use lazuli_model::table::filter::Operator;

use super::{Field, Prop};
use crate::filter::Filter;
use crate::value::{Operand, Scalar, class};

/// A constant to compare a property with, for bounds written as in mathematics. The filter is the same as with
/// the property on the left.
///
/// ```
/// use lazuli_client::{constant, prop};
///
/// let teenager = constant(13).le(prop("Age")) & constant(20).gt(prop("Age"));
/// assert_eq!(teenager, prop("Age").ge(13) & prop("Age").lt(20));
/// ```
pub fn constant<V>(value: V) -> Constant<V> {
    Constant(value)
}

/// A constant on the left of a comparison: see [`constant`].
///
/// ```
/// use lazuli_client::{Constant, constant, prop};
///
/// let limit: Constant<i32> = constant(500);
/// assert_eq!(limit.gt(prop("Price")).to_string(), "Price lt 500");
/// ```
#[derive(Clone, Debug)]
pub struct Constant<V>(V);

impl<V> Constant<V> {
    /// Equal to the property.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    /// assert_eq!(lazuli_client::constant(28).eq(Person::age()), Person::age().eq(28));
    /// ```
    pub fn eq(self, property: impl Comparable<V>) -> Filter {
        property.compare_with(Operator::Eq, self.0)
    }

    /// Not equal to the property, but of the same type.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    /// assert_eq!(lazuli_client::constant(28).ne(Person::age()), Person::age().ne(28));
    /// ```
    pub fn ne(self, property: impl Comparable<V>) -> Filter {
        property.compare_with(Operator::Ne, self.0)
    }

    /// Less than the property.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    /// assert_eq!(lazuli_client::constant(28).lt(Person::age()), Person::age().gt(28));
    /// ```
    pub fn lt(self, property: impl Sortable<V>) -> Filter {
        property.compare_with(Operator::Gt, self.0)
    }

    /// Less than or equal to the property.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    /// assert_eq!(lazuli_client::constant(28).le(Person::age()), Person::age().ge(28));
    /// ```
    pub fn le(self, property: impl Sortable<V>) -> Filter {
        property.compare_with(Operator::Ge, self.0)
    }

    /// Greater than the property.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    /// assert_eq!(lazuli_client::constant(28).gt(Person::age()), Person::age().lt(28));
    /// ```
    pub fn gt(self, property: impl Sortable<V>) -> Filter {
        property.compare_with(Operator::Lt, self.0)
    }

    /// Greater than or equal to the property.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    /// assert_eq!(lazuli_client::constant(28).ge(Person::age()), Person::age().le(28));
    /// ```
    pub fn ge(self, property: impl Sortable<V>) -> Filter {
        property.compare_with(Operator::Le, self.0)
    }
}

mod sealed {
    use super::{Filter, Operator};

    pub trait Compare<V> {
        fn compare_with(self, operator: Operator, value: V) -> Filter;
    }
}
use sealed::Compare;

/// A property that can be compared with a `V`: a [`Field`] of that type, or any [`Prop`].
///
/// ```
/// use lazuli_client::{constant, row_key};
///
/// assert_eq!(constant("b").eq(row_key()), row_key().eq("b"));
/// ```
///
/// ```compile_fail
/// use lazuli_client::{constant, row_key};
///
/// constant(5).eq(row_key()); // keys are strings
/// ```
pub trait Comparable<V>: Compare<V> {}

/// A property whose values have an order: any type except `bool`, `Guid` and bytes.
///
/// ```
/// use lazuli_client::{constant, prop};
///
/// assert_eq!(constant(5).lt(prop("Price")), prop("Price").gt(5));
/// ```
///
/// ```compile_fail
/// use lazuli_client::{constant, prop};
///
/// constant(true).lt(prop("Used"));
/// ```
pub trait Sortable<V>: Comparable<V> {}

impl<V: Scalar> Compare<V> for Prop {
    fn compare_with(self, operator: Operator, value: V) -> Filter {
        self.compare(operator, value)
    }
}

impl<V: Scalar> Comparable<V> for Prop {}

impl<V: Scalar<Class: class::Ordered>> Sortable<V> for Prop {}

impl<C, V: Operand<C>> Compare<V> for Field<C> {
    fn compare_with(self, operator: Operator, value: V) -> Filter {
        self.compare(operator, value)
    }
}

impl<C, V: Operand<C>> Comparable<V> for Field<C> {}

impl<C: class::Ordered, V: Operand<C>> Sortable<V> for Field<C> {}

#[cfg(test)]
mod tests {
    use lazuli_model::{DateTime, Guid};

    use super::*;
    use crate::field::prop;

    /// Two comparisons, each in both orders.
    macro_rules! check_two {
        ($($class:ident: $value:expr),*) => {$(
            let (name, field) = (|| prop("A"), || Field::<class::$class>::new("A"));
            for (left, right) in [
                (constant($value).eq(name()), name().eq($value)),
                (constant($value).ne(name()), name().ne($value)),
                (constant($value).eq(field()), field().eq($value)),
                (constant($value).ne(field()), field().ne($value)),
            ] {
                assert_eq!(left, right);
            }
        )*};
    }

    /// Six comparisons, each in both orders.
    macro_rules! check_six {
        ($($class:ident: $value:expr),*) => {$(
            check_two!($class: $value);
            let (name, field) = (|| prop("A"), || Field::<class::$class>::new("A"));
            for (left, right, text) in [
                (constant($value).lt(name()), name().gt($value), "A gt "),
                (constant($value).le(name()), name().ge($value), "A ge "),
                (constant($value).gt(name()), name().lt($value), "A lt "),
                (constant($value).ge(name()), name().le($value), "A le "),
                (constant($value).lt(field()), field().gt($value), "A gt "),
                (constant($value).le(field()), field().ge($value), "A ge "),
                (constant($value).gt(field()), field().lt($value), "A lt "),
                (constant($value).ge(field()), field().le($value), "A le "),
            ] {
                assert_eq!(left, right);
                assert!(left.to_string().starts_with(text), "{left}");
            }
        )*};
    }

    /// LA-08: the 36 comparisons of the thesis, with the constant on the left and on the right.
    #[test]
    fn every_type_is_compared_in_both_orders() {
        check_two!(Flag: true, Bytes: vec![1_u8], Identifier: Guid([7; 16]));
        check_six!(Text: "a", Int32: 5, Int64: 5_i64, Double: 2.5, Moment: DateTime::STORABLE_MIN);
    }
}
