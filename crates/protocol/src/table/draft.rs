//! An entity as it was sent, before validation; shared by the JSON and the Atom parsers.

use std::borrow::Cow;

use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::table::key::KeyError;
use lazuli_model::{EntityKey, ErrorCode, Failure, Key, Properties, Value, ValueRef};

/// Maximum members, more than any valid entity has, including annotations and control information.
pub const MEMBERS_MAX: usize = 2048;

/// An entity as it was sent. Strings are borrowed from the request if they need no decoding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntityDraft<'a> {
    /// PartitionKey, if given.
    pub partition: Option<Cow<'a, str>>,
    /// RowKey, if given.
    pub row: Option<Cow<'a, str>>,
    /// The other properties in their order, without nulls.
    pub properties: Vec<(Cow<'a, str>, DraftValue<'a>)>,
    /// The names of properties with a null value, including keys.
    pub nulls: Vec<Cow<'a, str>>,
    /// Is a key not a string?
    pub has_key_of_wrong_type: bool,
}

/// The value of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftValue<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// Any other value.
    Other(Value),
}

impl From<Value> for DraftValue<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => DraftValue::Text(text.into()),
            other => DraftValue::Other(other),
        }
    }
}

impl DraftValue<'_> {
    /// The value, borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            DraftValue::Text(text) => ValueRef::String(text),
            DraftValue::Other(value) => value.as_ref(),
        }
    }
}

impl<'a> EntityDraft<'a> {
    /// Is this a property that the service handles separately?
    pub fn is_system(name: &str) -> bool {
        matches!(name, PARTITION_KEY | ROW_KEY | TIMESTAMP)
    }

    /// Is the name metadata of the entity or of a property, rather than a property?
    pub fn is_control(name: &str) -> bool {
        name.starts_with("odata.") || name.contains('@')
    }

    /// Handles a system property that is a string or null.
    pub fn set_system(&mut self, name: &str, text: Option<Cow<'a, str>>) -> Result<(), Failure> {
        let place = match name {
            PARTITION_KEY => &mut self.partition,
            ROW_KEY => &mut self.row,
            _ => return Ok(()),
        };
        match (text, &place) {
            (Some(_), Some(_)) => return Err(ErrorCode::DuplicatePropertiesSpecified.into()),
            (Some(text), None) => *place = Some(text),
            (None, _) => self.nulls.push(name.to_owned().into()),
        }
        Ok(())
    }

    /// Handles a system property of another type: the key of an insert must be a string. The Timestamp is
    /// always ignored, and so are keys in the body if the URL has them.
    pub fn set_system_of_wrong_type(&mut self, name: &str) {
        self.has_key_of_wrong_type |= name != TIMESTAMP;
    }

    /// The entity to insert, which must have both keys.
    pub fn into_insert(self) -> Result<(EntityKey, Properties), Failure> {
        if self.has_key_of_wrong_type {
            return Err(ErrorCode::InvalidInput.into());
        }
        self.check_nulls()?;
        let (Some(partition), Some(row)) = (&self.partition, &self.row) else {
            return Err(ErrorCode::PropertiesNeedValue.into());
        };
        let key = EntityKey { partition: body_key(PARTITION_KEY, partition)?, row: body_key(ROW_KEY, row)? };
        Ok((key, Properties::of(&self.borrowed())?))
    }

    /// The properties of an update, whose key is in the URL; keys in the body are ignored.
    pub fn into_update(self) -> Result<Properties, Failure> {
        self.check_nulls()?;
        Properties::sorted(self.borrowed())
    }

    fn borrowed(&self) -> Vec<(&str, ValueRef<'_>)> {
        self.properties.iter().map(|(name, value)| (&**name, value.as_ref())).collect()
    }

    /// A null is not stored, but it counts as a property: its name must not occur again, with or without a
    /// value.
    fn check_nulls(&self) -> Result<(), Failure> {
        if self.nulls.is_empty() {
            return Ok(());
        }
        let keys = [(PARTITION_KEY, &self.partition), (ROW_KEY, &self.row)];
        let mut names: Vec<&str> =
            keys.iter().filter(|(_, key)| key.is_some()).map(|(name, _)| *name).collect();
        names.extend(self.properties.iter().map(|(name, _)| &**name));
        names.extend(self.nulls.iter().map(|name| &**name));
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(ErrorCode::DuplicatePropertiesSpecified.into());
        }
        Ok(())
    }
}

fn body_key(name: &str, text: &str) -> Result<Key, Failure> {
    Key::new(text).map_err(|error| match error {
        KeyError::TooLong => ErrorCode::KeyValueTooLarge.into(),
        KeyError::Character(_) => Failure::out_of_range(name, text),
    })
}
