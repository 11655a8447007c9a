//! Functions that derived code calls to decode and name entities that are a [`Shape`].

use lazuli_model::Value;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY};

use crate::decode::{DecodeError, Head, RawEntity};
use crate::entity::{Builder, Entity, Shape, Writer};
use crate::error::Result;
use crate::kind::KIND_PROPERTY;
use crate::value::{FromValue, WireValue};

/// A part that can be completely absent: `None` writes nothing, and if there are no properties, it is decoded
/// as `None`.
impl<S: Shape> Shape for Option<S> {
    type Builder = OptionBuilder<S::Builder>;

    fn write_fields(&self, out: &mut Writer) -> Result<()> {
        self.as_ref().map_or(Ok(()), |shape| shape.write_fields(out))
    }

    fn field_value(&self, name: &str) -> Option<Value> {
        self.as_ref().and_then(|shape| shape.field_value(name))
    }

    fn field_names(prefix: &str, out: &mut Vec<String>) -> bool {
        S::field_names(prefix, out)
    }
}

/// Decodes a part that can be absent.
#[derive(Debug, Default)]
pub struct OptionBuilder<B> {
    inner: B,
    seen: bool,
}

impl<B: Builder> Builder for OptionBuilder<B> {
    type Output = Option<B::Output>;

    fn take(&mut self, name: &str, value: &WireValue<'_>) -> std::result::Result<bool, DecodeError> {
        let taken = self.inner.take(name, value)?;
        self.seen |= taken && *value != WireValue::Null;
        Ok(taken)
    }

    fn keep(&mut self, name: &str, value: &WireValue<'_>) -> bool {
        // An unknown property alone does not make the part present; it is left for other parts that keep unknown properties.
        self.seen && self.inner.keep(name, value)
    }

    fn finish(self, head: &Head<'_>) -> std::result::Result<Self::Output, DecodeError> {
        if self.seen { self.inner.finish(head).map(Some) } else { Ok(None) }
    }
}

/// Decodes an entity that is a [`Shape`]. Called by derived code.
pub fn decode_shape<T: Entity + Shape>(
    raw: &RawEntity<'_>,
    strict: bool,
) -> std::result::Result<T, DecodeError> {
    let mut builder = <T as Shape>::Builder::default();
    // Unknown properties are assigned last: only then is it known which parts are present.
    let mut left = Vec::new();
    for (name, value) in raw.members() {
        if name == KIND_PROPERTY && T::LINEAGE.is_some_and(|own| is_text(value, own)) {
            continue;
        }
        if !builder.take(name, value)? {
            left.push((name, value));
        }
    }
    for (name, value) in left {
        let kept = builder.keep(name, value);
        if !kept && strict && name != KIND_PROPERTY && *value != WireValue::Null {
            return Err(DecodeError::unknown(name));
        }
    }
    builder.finish(&raw.head)
}

fn is_text(value: &WireValue<'_>, text: &str) -> bool {
    matches!(value, WireValue::String(found) if found == text)
}

/// The value of a property of an entity that is a [`Shape`]. Called by derived code.
pub fn shape_value<T: Entity + Shape>(entity: &T, name: &str) -> Option<Value> {
    match name {
        PARTITION_KEY => Some(Value::String(entity.partition_key().into_owned())),
        ROW_KEY => Some(Value::String(entity.row_key().into_owned())),
        name => entity.field_value(name).or_else(|| {
            let own = T::LINEAGE.filter(|_| name == KIND_PROPERTY);
            own.map(|lineage| Value::String(lineage.to_owned()))
        }),
    }
}

/// The names that a query for a [`Shape`] must select. Called by derived code.
pub fn shape_names<T: Entity + Shape>() -> Option<Vec<String>> {
    let mut names = Vec::new();
    T::field_names("", &mut names).then(|| {
        names.extend(T::LINEAGE.map(|_| KIND_PROPERTY.to_owned()));
        names
    })
}

/// Decodes a property into its slot. Null counts as absent. Called by derived code.
pub fn fill<T: FromValue>(
    place: &mut Option<T>,
    name: &str,
    value: &WireValue<'_>,
) -> std::result::Result<bool, DecodeError> {
    if *value != WireValue::Null {
        *place = Some(T::from_value(value).map_err(|wrong| DecodeError::wrong(name, &wrong))?);
    }
    Ok(true)
}

/// The decoded value, or the value for an absent property. Called by derived code.
pub fn settle<T: FromValue>(place: Option<T>, name: &str) -> std::result::Result<T, DecodeError> {
    place.or_else(T::absent).ok_or_else(|| DecodeError::missing(name))
}
