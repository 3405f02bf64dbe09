//! The defaults, the reader and the writer against the types of prost.

use proptest::prelude::*;
use prost::{DecodeError, Message};

use crate::model::proto;
use crate::model::spec::{NormalizerSpec, Spec, TrainerSpec};
use crate::model::wire::Reader;

/// Checks that the scalar fields, except the type of the model, have the values of prost, which are
/// the defaults of the schema.
macro_rules! check_defaults {
    ($spec:ident; $($name:ident),*) => {{
        let (ours, theirs) = ($spec::default(), proto::$spec::default());
        $(assert_eq!(ours.$name(), theirs.$name(), stringify!($name));)*
        let checked = [$(stringify!($name)),*];
        let scalars = $spec::TABLE.iter().filter(|(.., of)| !["list", "ModelType"].contains(of));
        assert!(scalars.map(|(_, name, _)| *name).eq(checked));
    }};
}

#[test]
fn defaults_are_those_of_the_schema() {
    check_defaults!(TrainerSpec; model_prefix, vocab_size, self_test_sample_size, input_format, character_coverage,
        input_sentence_size, mining_sentence_size, training_sentence_size, seed_sentencepiece_size,
        shrinking_factor, num_threads, num_sub_iterations, max_sentence_length, shuffle_input_sentence,
        max_sentencepiece_length, split_by_unicode_script, split_by_whitespace, split_by_number,
        treat_whitespace_as_suffix, split_digits, allow_whitespace_only_pieces,
        vocabulary_output_piece_score, hard_vocab_limit, use_all_vocab, byte_fallback, required_chars, unk_id,
        bos_id, eos_id, pad_id, unk_surface, unk_piece, bos_piece, eos_piece, pad_piece,
        train_extremely_large_corpus, enable_differential_privacy, differential_privacy_noise_level,
        differential_privacy_clipping_threshold, pretokenization_delimiter, seed_sentencepieces_file,
        auto_character_coverage);
    check_defaults!(NormalizerSpec; name, precompiled_charsmap, add_dummy_prefix, remove_extra_whitespaces,
        escape_whitespaces, normalization_rule_tsv, encode_case, decode_case);
    assert_eq!(TrainerSpec::default().model_type().to_string(), "unigram");
}

/// One field with any known or unknown number and any wire type.
fn any_field() -> impl Strategy<Value = Vec<u8>> {
    let varint = prop_oneof![0..5u64, any::<u64>()];
    let bytes = prop::collection::vec(any::<u8>(), 0..6);
    (1..60u32, 0..6u8, varint, bytes).prop_map(|(number, wire_type, varint, bytes)| {
        let mut field = Vec::new();
        match wire_type {
            0 | 1 => prost::encoding::uint64::encode(number, &varint, &mut field),
            2 | 3 => prost::encoding::bytes::encode(number, &bytes, &mut field),
            4 => prost::encoding::fixed64::encode(number, &varint, &mut field),
            _ => prost::encoding::float::encode(number, &f32::from_bits(number), &mut field),
        }
        field
    })
}

/// The known fields of the right wire type, and of an enum value that exists: what is left is what
/// prost reads as protobuf's own libraries do.
fn known_fields<S: Spec>(bytes: &[u8]) -> Vec<u8> {
    let mut known = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Ok(Some(field)) = reader.field() {
        if S::default().merge_field(field.number, field.value) {
            known.extend_from_slice(field.raw);
        }
    }
    known
}

fn check_against_prost<S: Spec + std::fmt::Debug, P: Message + Default>(
    bytes: &[u8],
) -> Result<(), TestCaseError> {
    let mut ours = S::default();
    let read = ours.merge(bytes);
    // The message without known fields: prost checks the wire format and nothing else. It refuses
    // values of more than 64 bits, and tags of more than 32 bits, whose upper bits the reference
    // drops.
    let skipped = <() as Message>::decode(bytes);
    prop_assert!(skipped.is_err() || read.is_ok(), "{:?}", read);
    let is_overflow = |error: &DecodeError| error.to_string().contains("invalid");
    prop_assert!(
        skipped.as_ref().err().is_none_or(is_overflow) || read.is_err(),
        "{:?}",
        skipped
    );
    if read.is_err() {
        return Ok(());
    }
    let Ok(theirs) = P::decode(&known_fields::<S>(bytes)[..]) else {
        prop_assert!(skipped.is_err());
        return Ok(());
    };
    let written = ours.encode();
    prop_assert_eq!(theirs.encode_to_vec(), &written[..]);
    let mut again = S::default();
    again.merge(&written).unwrap();
    prop_assert_eq!(again.encode(), written);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn reader_and_writer_agree_with_prost(
        fields in prop::collection::vec(any_field(), 0..12),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut bytes = fields.concat();
        if let Some((at, byte)) = damage && !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check_against_prost::<TrainerSpec, proto::TrainerSpec>(&bytes)?;
        check_against_prost::<NormalizerSpec, proto::NormalizerSpec>(&bytes)?;
    }
}
