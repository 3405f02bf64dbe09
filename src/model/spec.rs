//! The specs of a model file: how the model was trained and how text is normalized.
//!
//! [`TrainerSpec`] and [`NormalizerSpec`] are plain structs with one public field for each field of
//! the schema (`proto/sentencepiece_model.proto`), and one method of the same name that gives the
//! value or the schema's default. Presence is kept, as in proto2: `None` means that the file does
//! not have the field.
//!
//! One table for each message ([`trainer`], [`normalizer`]) lists number, name, type and default of
//! all fields; reading, writing, comparing and editing are derived from it. Rules of protobuf that
//! reading follows:
//!
//! - The last value of a field wins; lists are appended to.
//! - A message that occurs twice is one message: reading the second continues the first.
//! - A field with an unknown number, with another wire type than the table's, or with an enum value
//!   that does not exist is an unknown field: it is ignored here, and kept in the bytes of the
//!   file.
//! - Numbers of more than 32 bits are cut to their low 32 bits in `int32` fields; in `bool` fields,
//!   any number except 0 is true.
//!
//! Example: the bytes `18 02 20 80 7d` are a [`TrainerSpec`] with `model_type` (field 3) BPE (2)
//! and `vocab_size` (field 4) 16000. All other fields are `None`; `spec.unk_piece()` gives the
//! default `<unk>`.
//!
//! A list takes no more memory than the file's bytes for it.

mod list;
mod normalizer;
#[cfg(test)]
mod tests;
mod trainer;

pub use self::list::BytesList;
pub use self::normalizer::NormalizerSpec;
pub use self::trainer::TrainerSpec;
use super::ModelType;
use super::wire::{
    Problem, Reader, Value, write_bytes_field, write_float_field, write_varint_field,
};

/// A message whose fields are listed in a table.
pub(super) trait Spec: Clone + Default + PartialEq {
    /// The numbers of all fields, ascending.
    const NUMBERS: &'static [u32];

    /// Reads one field. False if the field is unknown.
    fn merge_field(&mut self, number: u32, value: Value<'_>) -> bool;

    /// Appends the field with this number, with all of its values; nothing if it is absent.
    fn write_field(&self, number: u32, out: &mut Vec<u8>);

    /// Reads all fields of a message.
    fn merge(&mut self, message: &[u8]) -> Result<(), Problem> {
        let mut reader = Reader::nested(message);
        while let Some(field) = reader.field()? {
            self.merge_field(field.number, field.value);
        }
        Ok(())
    }

    /// The message, with its fields in the order of their numbers.
    fn encode(&self) -> Vec<u8> {
        let mut message = Vec::new();
        for number in Self::NUMBERS {
            self.write_field(*number, &mut message);
        }
        message
    }
}

/// A type that a field of a spec can have, with presence.
trait FieldType {
    /// Takes one value from a message. False if the value is of another type.
    fn merge(&mut self, value: Value<'_>) -> bool;

    /// Appends the field, if it is present.
    fn write(&self, number: u32, out: &mut Vec<u8>);

    /// The value for people, if the field is present.
    #[cfg(feature = "train")]
    fn shown(&self) -> Option<String>;
}

/// Implements [`FieldType`] for types that are numbers on the wire.
macro_rules! varint_field {
    ($type:ty, $read:expr, $write:expr) => {
        impl FieldType for Option<$type> {
            fn merge(&mut self, value: Value<'_>) -> bool {
                let Value::Varint(number) = value else {
                    return false;
                };
                let read: fn(u64) -> Option<$type> = $read;
                let Some(value) = read(number) else {
                    return false;
                };
                *self = Some(value);
                true
            }

            fn write(&self, number: u32, out: &mut Vec<u8>) {
                let write: fn($type) -> u64 = $write;
                if let Some(value) = *self {
                    write_varint_field(number, write(value), out);
                }
            }

            #[cfg(feature = "train")]
            fn shown(&self) -> Option<String> {
                self.map(|value| value.to_string())
            }
        }
    };
}
varint_field!(bool, |number| Some(number != 0), u64::from);
varint_field!(u64, Some, |value| value);
varint_field!(i32, |number| Some(low_i32(number)), |value| {
    i64::from(value).cast_unsigned()
});
varint_field!(
    ModelType,
    |number| ModelType::from_number(low_i32(number)),
    |value| u64::from(value.number())
);

/// The low 32 bits of a number, as protobuf reads an `int32`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "protobuf drops the high bits"
)]
pub(super) fn low_i32(number: u64) -> i32 {
    (number as u32).cast_signed()
}

impl FieldType for Option<f32> {
    fn merge(&mut self, value: Value<'_>) -> bool {
        let Value::Fixed32(bytes) = value else {
            return false;
        };
        *self = Some(f32::from_le_bytes(bytes));
        true
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(value) = *self {
            write_float_field(number, value, out);
        }
    }

    #[cfg(feature = "train")]
    fn shown(&self) -> Option<String> {
        self.map(|value| value.to_string())
    }
}

impl FieldType for Option<Vec<u8>> {
    fn merge(&mut self, value: Value<'_>) -> bool {
        let Value::Bytes(bytes) = value else {
            return false;
        };
        *self = Some(bytes.to_vec());
        true
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(value) = self {
            write_bytes_field(number, value, out);
        }
    }

    #[cfg(feature = "train")]
    fn shown(&self) -> Option<String> {
        let bytes = self.as_ref()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl FieldType for BytesList {
    fn merge(&mut self, value: Value<'_>) -> bool {
        let Value::Bytes(bytes) = value else {
            return false;
        };
        self.push(bytes);
        true
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        for value in self {
            write_bytes_field(number, value, out);
        }
    }

    #[cfg(feature = "train")]
    fn shown(&self) -> Option<String> {
        let values: Vec<_> = self.iter().map(String::from_utf8_lossy).collect();
        (!values.is_empty()).then(|| values.join(","))
    }
}

/// The type of a struct's field: a list, or a value that may be absent.
macro_rules! stored_type {
    (list) => { BytesList };
    (bytes) => { Option<Vec<u8>> };
    ($type:ident) => { Option<$type> };
}

/// The method that gives a field or its default.
macro_rules! accessor {
    ($name:ident, list) => {
        #[doc = concat!("The values of [`", stringify!($name), "`](Self#structfield.", stringify!($name), ").")]
        pub fn $name(&self) -> &BytesList {
            &self.$name
        }
    };
    ($name:ident, bytes, $default:expr) => {
        #[doc = concat!("The value of [`", stringify!($name), "`](Self#structfield.", stringify!($name), "), by default `", stringify!($default), "`.")]
        pub fn $name(&self) -> &[u8] {
            self.$name.as_deref().unwrap_or($default)
        }
    };
    ($name:ident, $type:ident, $default:expr) => {
        #[doc = concat!("The value of [`", stringify!($name), "`](Self#structfield.", stringify!($name), "), by default `", stringify!($default), "`.")]
        pub fn $name(&self) -> $type {
            self.$name.unwrap_or($default)
        }
    };
}

/// Makes the struct of a message from the table of its fields.
macro_rules! spec {
    (
        $(#[doc = $struct_doc:literal])+
        $spec:ident {
            $($(#[doc = $doc:literal])+ $number:literal $name:ident: $type:ident $(= $default:expr)?;)*
        }
    ) => {
        $(#[doc = $struct_doc])+
        #[derive(Debug, Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub struct $spec {
            $($(#[doc = $doc])+ pub $name: stored_type!($type),)*
        }

        impl $spec {
            $(accessor!($name, $type $(, $default)?);)*

            /// The names of the fields that are present, and their values for people.
            #[cfg(feature = "train")]
            pub(crate) fn present_fields(&self) -> impl Iterator<Item = (&'static str, String)> {
                let fields = [$((stringify!($name), FieldType::shown(&self.$name))),*];
                fields.into_iter().filter_map(|(name, value)| Some((name, value?)))
            }
        }

        impl Spec for $spec {
            const NUMBERS: &'static [u32] = &[$($number),*];

            fn merge_field(&mut self, number: u32, value: Value<'_>) -> bool {
                match number {
                    $($number => FieldType::merge(&mut self.$name, value),)*
                    _ => false,
                }
            }

            fn write_field(&self, number: u32, out: &mut Vec<u8>) {
                match number {
                    $($number => FieldType::write(&self.$name, number, out),)*
                    _ => {}
                }
            }
        }

        #[cfg(test)]
        impl $spec {
            /// Number, name and type of all fields.
            pub(super) const TABLE: &'static [(u32, &'static str, &'static str)] =
                &[$(($number, stringify!($name), stringify!($type))),*];
        }
    };
}
use {accessor, spec, stored_type};
