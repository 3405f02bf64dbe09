//! The tables against the schema.

#[cfg(feature = "proto")]
mod against_prost;

use super::{NormalizerSpec, Spec, TrainerSpec};

/// The number, name and type of each field of a message, as the tables give them.
fn fields_of_schema(message: &str) -> Vec<(u32, &'static str, &'static str)> {
    let schema = include_str!("../../../proto/sentencepiece_model.proto");
    let (_, rest) = schema
        .split_once(&format!("\nmessage {message} {{"))
        .unwrap();
    let fields = rest.split("\nmessage ").next().unwrap().lines();
    let fields = fields.map(|line| {
        line.split([' ', ';'])
            .filter(|word| !word.is_empty())
            .collect()
    });
    fields
        .filter_map(|words: Vec<&str>| match words[..] {
            [label @ ("optional" | "repeated"), of, name, "=", number, ..] => {
                let of = match (label, of) {
                    ("repeated", "bytes") => "list",
                    ("optional", "bytes" | "bool" | "ModelType") => of,
                    ("optional", "int32") => "i32",
                    ("optional", "uint64") => "u64",
                    ("optional", "float") => "f32",
                    other => panic!("{other:?}"),
                };
                Some((number.parse().unwrap(), name, of))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn the_tables_have_the_fields_of_the_schema() {
    let tables = [
        ("TrainerSpec", TrainerSpec::TABLE, TrainerSpec::NUMBERS),
        (
            "NormalizerSpec",
            NormalizerSpec::TABLE,
            NormalizerSpec::NUMBERS,
        ),
    ];
    for (name, table, numbers) in tables {
        assert_eq!(table, fields_of_schema(name), "{name}");
        assert!(numbers.is_sorted(), "{name}");
    }
}
