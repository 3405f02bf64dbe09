//! Tests of the reader, the writer and the verdict.

use std::io;

use super::*;
use crate::formats::ReasonKind;
use crate::{PieceKind, Tokenizer};

fn golden(name: &str) -> Model {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/");
    Model::open(format!("{path}{name}.model")).unwrap()
}

fn bytes_of(model: &Model) -> Vec<u8> {
    model.to_gguf_vocab(&GgufOptions::default()).unwrap().bytes
}

fn reasons(model: &Model) -> Vec<ReasonKind> {
    let verdict = model
        .to_gguf_vocab(&GgufOptions::default())
        .unwrap()
        .verdict;
    verdict.reasons().iter().map(|reason| reason.kind).collect()
}

/// A BPE model with byte pieces and no dummy prefix.
fn model_of(change: impl FnOnce(&mut crate::ModelBuilder)) -> Model {
    let mut builder = Model::builder();
    builder
        .model_type(crate::ModelType::Bpe)
        .add_dummy_prefix(false)
        .remove_extra_whitespaces(false);
    builder
        .piece("<unk>", 0.0, PieceKind::Unknown)
        .piece("<s>", 0.0, PieceKind::Control)
        .byte_pieces();
    for (rank, text) in ["<s", "ab", "a", "b", "<", "s", ">", "\u{2581}"]
        .into_iter()
        .enumerate()
    {
        if text != "<s" {
            builder.piece(text, -(rank as f32), PieceKind::Normal);
        }
    }
    change(&mut builder);
    builder.build().unwrap()
}

#[test]
fn a_model_that_was_written_is_read_with_the_same_ids() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/testdata/udhr_small.txt"
    ))
    .unwrap();
    for name in [
        "golden/llama2",
        "golden/spm_default",
        "golden/nfkc",
        "golden/symbols",
        "golden/unigram",
        "golden/whitespace_suffix",
        "golden/no_unk",
        "golden/unigram_suffix",
        "golden/ids_permuted",
        "run/bpe_unused",
        "run/unigram_bytes",
        "run/bpe_scores",
    ] {
        let model = golden(name);
        let back = Model::from_gguf(&bytes_of(&model)[..]).unwrap().value;
        // Symbols with spaces are found by llama.cpp only; what is read is found.
        let key = |piece: crate::Piece<'_>| {
            let mut text = String::from_utf8_lossy(piece.text).into_owned();
            if piece.kind == PieceKind::UserDefined {
                text = text.replace(' ', "\u{2581}");
            }
            (text, piece.score.to_bits(), piece.kind)
        };
        assert!(back.pieces().map(key).eq(model.pieces().map(key)), "{name}");
        let [ours, theirs] = [&model, &back].map(|model| Tokenizer::new(model.clone()));
        assert_eq!(ours.bos_id(), theirs.bos_id(), "{name}");
        for line in text
            .lines()
            .chain(["", " a  b ", "<s></s>\t", "\u{2581}\u{ff21}"])
        {
            assert_eq!(ours.encode(line), theirs.encode(line), "{name}: {line}");
        }
        assert_eq!(bytes_of(&back), bytes_of(&model), "{name}");
    }
}

#[test]
fn word_and_char_models_and_missing_pieces_are_refused() {
    for name in ["golden/word", "golden/char"] {
        let error = golden(name)
            .to_gguf_vocab(&GgufOptions::default())
            .unwrap_err();
        assert!(matches!(error, FormatError::ModelType { .. }), "{error}");
    }
    let mut options = GgufOptions::default();
    options.add_eos = true;
    let error = model_of(|_| ()).to_gguf_vocab(&options).unwrap_err();
    assert!(
        matches!(
            error,
            FormatError::NoSuchPiece {
                option: "add_eos",
                ..
            }
        ),
        "{error}"
    );
    options.add_eos = false;
    options.add_bos = true;
    assert!(model_of(|_| ()).to_gguf_vocab(&options).is_ok());
}

/// Drops the builder that a setter returns.
fn ignore(_: &mut crate::ModelBuilder) {}

#[test]
fn each_difference_of_llama_cpp_is_a_reason() {
    use ReasonKind::{
        MetaPiece, NormalizationRules, PieceText, Rounding, UnknownCharacter, UnusedPiece,
        UserDefinedSymbol, Whitespace,
    };
    assert_eq!(reasons(&model_of(|_| ())), []);
    assert_eq!(reasons(&golden("golden/llama2")), []);
    type ModelChange = fn(&mut crate::ModelBuilder);
    let table: &[(ModelChange, &[ReasonKind])] = &[
        (|b| ignore(b.remove_extra_whitespaces(true)), &[Whitespace]),
        (|b| ignore(b.escape_whitespaces(false)), &[Whitespace]),
        (
            |b| b.trainer_spec_mut().treat_whitespace_as_suffix = Some(true),
            &[Whitespace],
        ),
        (|b| ignore(b.piece("<x>", 0.0, PieceKind::UserDefined)), &[]),
        (
            |b| {
                ignore(
                    b.add_dummy_prefix(true)
                        .piece("<x>", 0.0, PieceKind::UserDefined),
                )
            },
            &[UserDefinedSymbol],
        ),
        (
            |b| {
                ignore(b.piece("---", 0.0, PieceKind::UserDefined).piece(
                    "-->",
                    0.0,
                    PieceKind::UserDefined,
                ))
            },
            &[UserDefinedSymbol],
        ),
        (
            |b| {
                ignore(b.piece("---", 0.0, PieceKind::UserDefined).piece(
                    "--",
                    0.0,
                    PieceKind::UserDefined,
                ))
            },
            &[UserDefinedSymbol],
        ),
        (
            |b| {
                ignore(b.piece("xyz", 0.0, PieceKind::UserDefined).piece(
                    "xy",
                    0.0,
                    PieceKind::UserDefined,
                ))
            },
            &[],
        ),
        (
            |b| ignore(b.piece("x\u{2581}y", 0.0, PieceKind::UserDefined)),
            &[UserDefinedSymbol],
        ),
        (
            |b| ignore(b.piece("<fim_prefix>", 0.0, PieceKind::UserDefined)),
            &[UserDefinedSymbol],
        ),
        (
            |b| ignore(b.piece("<|start|>", 0.0, PieceKind::Control)),
            &[UserDefinedSymbol],
        ),
        (
            |b| ignore(b.piece("<s", -9.0, PieceKind::Normal)),
            &[MetaPiece],
        ),
        (
            |b| ignore(b.piece("c", -9.0, PieceKind::Control)),
            &[MetaPiece],
        ),
        (
            |b| ignore(b.piece("aba", -9.0, PieceKind::Unused)),
            &[UnusedPiece],
        ),
        (|b| ignore(b.piece("abxx", -9.0, PieceKind::Unused)), &[]),
        (
            |b| ignore(b.piece([0xff_u8], -9.0, PieceKind::Normal)),
            &[PieceText],
        ),
    ];
    for (number, (change, expected)) in table.iter().enumerate() {
        assert_eq!(reasons(&model_of(change)), *expected, "row {number}");
    }
    assert!(reasons(&golden("golden/nfkc")).contains(&NormalizationRules));
    assert!(reasons(&golden("golden/unigram")).contains(&Rounding));
    assert!(reasons(&golden("golden/spm_default")).contains(&UnknownCharacter));
    let nfkc = golden("golden/nfkc")
        .to_gguf_vocab(&GgufOptions::default())
        .unwrap()
        .verdict;
    let rules = nfkc
        .reasons()
        .iter()
        .find(|reason| reason.kind == NormalizationRules)
        .unwrap();
    let example = rules.example.as_ref().unwrap();
    assert_ne!(golden_normalized(example), format!("\u{2581}{example}"));
}

fn golden_normalized(text: &str) -> String {
    let tokenizer = Tokenizer::new(golden("golden/nfkc"));
    tokenizer.normalize(text)
}

/// A file whose header says that it has `fields` fields, followed by `bytes`.
fn file_with(version: u32, fields: u64, bytes: &[u8]) -> Vec<u8> {
    let mut file = b"GGUF".to_vec();
    file.extend(version.to_le_bytes());
    file.extend(0_u64.to_le_bytes());
    file.extend(fields.to_le_bytes());
    file.extend_from_slice(bytes);
    file
}

/// A field: its name, the number of its type, its value.
fn field(name: &str, value_type: u32, value: &[u8]) -> Vec<u8> {
    let mut field = (name.len() as u64).to_le_bytes().to_vec();
    field.extend_from_slice(name.as_bytes());
    field.extend(value_type.to_le_bytes());
    field.extend_from_slice(value);
    field
}

fn problem(file: &[u8]) -> String {
    match Model::from_gguf(file).unwrap_err() {
        FormatError::Damaged { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn hostile_headers_are_refused_in_bounded_memory() {
    let array =
        |element: u32, count: u64| [&element.to_le_bytes()[..], &count.to_le_bytes()].concat();
    let twice = [field("a", 0, &[1]), field("a", 0, &[1])].concat();
    let table: &[(Vec<u8>, &str)] = &[
        (b"GGUX".to_vec(), "begin with"),
        (b"GG".to_vec(), "magic"),
        (b"GGUF\0\0\0\x03".to_vec(), "big-endian"),
        (file_with(1, 0, b""), "version is 1"),
        (file_with(4, 0, b""), "version is 4"),
        (file_with(3, u64::MAX, b""), "more than 65536"),
        (file_with(3, 1, b""), "ends in"),
        (file_with(3, 1, &u64::MAX.to_le_bytes()), "too long"),
        (file_with(3, 1, &field("a", 13, b"")), "unknown type 13"),
        (
            file_with(3, 1, &field("a", 9, &array(9, 1))),
            "array of arrays",
        ),
        (
            file_with(3, 1, &field("a", 9, &array(4, u64::MAX))),
            "ends in",
        ),
        (
            file_with(3, 1, &field("a", 9, &array(8, u64::MAX))),
            "ends in",
        ),
        (
            file_with(
                3,
                1,
                &field("tokenizer.ggml.tokens", 9, &array(8, u64::MAX)),
            ),
            "ends in",
        ),
        (
            file_with(
                3,
                1,
                &field("tokenizer.ggml.scores", 9, &array(6, u64::MAX)),
            ),
            "ends in",
        ),
        (
            file_with(3, 1, &field("tokenizer.x", 8, &(1_u64 << 40).to_le_bytes())),
            "too long",
        ),
        (
            file_with(3, 1, &field("tokenizer.x", 7, &[2])),
            "truth value",
        ),
        (
            file_with(3, 1, &field("tokenizer.x", 10, &[255; 8])),
            "too large",
        ),
        (file_with(3, 2, &twice), "occurs twice"),
        (file_with(3, 0, b""), "tokenizer.ggml.model"),
        (
            file_with(2, 1, &field("tokenizer.ggml.model", 4, &[0; 4])),
            "another type",
        ),
    ];
    for (file, expected) in table {
        let found = problem(file);
        assert!(found.contains(expected), "{found}, not {expected}");
    }
    let gpt2 = field("tokenizer.ggml.model", 8, b"\x04\0\0\0\0\0\0\0gpt2");
    let error = Model::from_gguf(&file_with(3, 1, &gpt2)[..]).unwrap_err();
    assert!(
        matches!(&error, FormatError::NoModel { found, .. } if found == "gpt2"),
        "{error}"
    );
}

#[test]
fn every_prefix_and_every_changed_byte_is_refused_or_read() {
    let whole = bytes_of(&model_of(|_| ()));
    assert!(Model::from_gguf(&whole[..]).is_ok());
    for length in 0..whole.len() {
        assert!(
            Model::from_gguf(&whole[..length]).is_err(),
            "{length} bytes"
        );
    }
    for position in 0..whole.len() {
        let mut changed = whole.clone();
        changed[position] ^= 0x81;
        // Some bytes are part of a text or a score.
        let _ = Model::from_gguf(&changed[..]);
    }
}

/// A vocabulary as a converter of llama.cpp writes it.
struct ConvertedVocab {
    model: &'static str,
    tokens: Vec<(&'static str, f32, i32)>,
    /// Roles and ids.
    special: &'static [(&'static str, u32)],
    /// The type of the array of scores; `None` to leave it out.
    scores: Option<u32>,
}

const F32_ARRAY: Option<u32> = Some(6);
const I32_ARRAY: Option<u32> = Some(5);

impl ConvertedVocab {
    /// These tokens, and all byte tokens and some letters after them.
    fn llama(
        first: &[(&'static str, f32, i32)],
        special: &'static [(&'static str, u32)],
        scores: Option<u32>,
    ) -> Self {
        let mut tokens = first.to_vec();
        for byte in 0..=255 {
            let text: &str = Box::leak(format!("<0x{byte:02X}>").into_boxed_str());
            tokens.push((text, 0.0, 6));
        }
        for (rank, text) in ["ab", "a", "b", "\u{2581}"].into_iter().enumerate() {
            tokens.push((text, -(rank as f32), 1));
        }
        Self {
            model: "llama",
            tokens,
            special,
            scores,
        }
    }

    fn read(&self) -> Converted<Model> {
        let array = |element: u32, elements: Vec<u8>| {
            let count = self.tokens.len() as u64;
            [&element.to_le_bytes()[..], &count.to_le_bytes(), &elements].concat()
        };
        let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
        let tokens = self.tokens.iter();
        let texts = tokens.clone().flat_map(|token| text(token.0)).collect();
        let types = tokens.clone().flat_map(|token| token.2.to_le_bytes());
        let mut fields = vec![
            field("tokenizer.ggml.model", 8, &text(self.model)),
            field("tokenizer.ggml.tokens", 9, &array(8, texts)),
            field("tokenizer.ggml.token_type", 9, &array(5, types.collect())),
            field("tokenizer.ggml.add_space_prefix", 7, &[0]),
        ];
        if let Some(element) = self.scores {
            let bytes = |score: f32| match element {
                6 => score.to_le_bytes(),
                _ => score.to_string().parse::<i32>().unwrap().to_le_bytes(),
            };
            let scores = tokens.flat_map(|token| bytes(token.1)).collect();
            fields.push(field("tokenizer.ggml.scores", 9, &array(element, scores)));
        }
        for (role, id) in self.special {
            let name = format!("tokenizer.ggml.{role}_token_id");
            fields.push(field(&name, 4, &id.to_le_bytes()));
        }
        let file = file_with(3, fields.len() as u64, &fields.concat());
        Model::from_gguf(&file[..]).unwrap_or_else(|error| panic!("{}: {error}", self.model))
    }
}

/// What `conversion/base.py`, `phi.py`, `internlm.py`, `xverse.py`, `t5.py`, `bert.py` and
/// `gguf-py/gguf/vocab.py` of llama.cpp write, and what older releases of them wrote.
#[test]
fn every_use_of_token_types_by_converters_becomes_a_model_with_one_unknown_piece() {
    use PieceKind::{Control, Unknown, Unused, UserDefined};
    const UNK: (&str, f32, i32) = ("<unk>", 0.0, 2);
    const UNK_CONTROL: (&str, f32, i32) = ("<unk>", -1000.0, 3);
    const BOS: (&str, f32, i32) = ("<s>", 0.0, 3);
    const PAD_UNUSED: (&str, f32, i32) = ("[PAD2]", -10000.0, 5);
    const PAD_UNKNOWN: (&str, f32, i32) = ("[PAD2]", -10000.0, 2);
    const PAD_UNKNOWN_TOO: (&str, f32, i32) = ("[PAD3]", -10000.0, 2);
    const UNK_AND_BOS: &[(&str, u32)] = &[("unknown", 0), ("bos", 1), ("eos", 1), ("padding", 0)];
    type Row = (
        &'static str,
        ConvertedVocab,
        &'static [(&'static str, PieceKind)],
        &'static [ReasonKind],
    );
    let llama = ConvertedVocab::llama;
    let rows: [Row; 12] = [
        (
            "padding that is unused",
            llama(&[UNK, BOS, PAD_UNUSED], UNK_AND_BOS, F32_ARRAY),
            &[("<unk>", Unknown), ("<s>", Control), ("[PAD2]", Unused)],
            &[],
        ),
        (
            "padding of type unknown beside a control <unk>",
            llama(
                &[UNK_CONTROL, BOS, PAD_UNKNOWN, PAD_UNKNOWN_TOO],
                UNK_AND_BOS,
                F32_ARRAY,
            ),
            &[
                ("<unk>", Unknown),
                ("<s>", Control),
                ("[PAD2]", Unused),
                ("[PAD3]", Unused),
            ],
            &[],
        ),
        (
            "padding of type unknown beside <unk> of that type",
            llama(&[UNK, BOS, PAD_UNKNOWN], &[], F32_ARRAY),
            &[("<unk>", Unknown), ("<s>", Control), ("[PAD2]", Unused)],
            &[],
        ),
        (
            "a control <unk>",
            llama(&[UNK_CONTROL, BOS, PAD_UNUSED], UNK_AND_BOS, F32_ARRAY),
            &[("<unk>", Unknown), ("<s>", Control), ("[PAD2]", Unused)],
            &[],
        ),
        (
            "a control <unk> that no field names",
            llama(&[UNK_CONTROL, BOS], &[("bos", 1)], F32_ARRAY),
            &[("<unk>", Unknown), ("<s>", Control)],
            &[],
        ),
        (
            "an unknown piece with another text than <unk>",
            llama(
                &[("<pad>", 0.0, 3), ("</s>", 0.0, 3), ("[UNK]", 0.0, 3)],
                &[("unknown", 2)],
                F32_ARRAY,
            ),
            &[("<pad>", Control), ("</s>", Control), ("[UNK]", Unknown)],
            &[],
        ),
        (
            "a user-defined <unk>",
            llama(&[("<unk>", -1000.0, 4), BOS], UNK_AND_BOS, F32_ARRAY),
            &[("<unk>", Unknown), ("<s>", Control)],
            &[ReasonKind::UserDefinedSymbol],
        ),
        (
            "ids that no token has",
            llama(
                &[UNK, BOS],
                &[("unknown", u32::MAX), ("padding", u32::MAX)],
                F32_ARRAY,
            ),
            &[("<unk>", Unknown), ("<s>", Control)],
            &[],
        ),
        (
            "no scores, and a byte token with another text",
            llama(
                &[("<b'\\x00'>", 0.0, 6), BOS, UNK_CONTROL],
                &[("unknown", 2)],
                None,
            ),
            &[("<b'\\x00'>", Unused), ("<s>", Control), ("<unk>", Unknown)],
            &[],
        ),
        (
            "scores that are integers, and a token without a text",
            llama(&[UNK, BOS, ("", 0.0, 1)], UNK_AND_BOS, I32_ARRAY),
            &[
                ("<unk>", Unknown),
                ("<s>", Control),
                ("[EMPTY_2]", PieceKind::Normal),
            ],
            &[],
        ),
        (
            "added tokens with spaces",
            llama(
                &[UNK, BOS, ("  ", -1000.0, 4), ("\n", -1000.0, 4)],
                UNK_AND_BOS,
                F32_ARRAY,
            ),
            &[
                ("<unk>", Unknown),
                ("<s>", Control),
                ("\u{2581}\u{2581}", UserDefined),
                ("\n", UserDefined),
            ],
            &[ReasonKind::UserDefinedSymbol],
        ),
        (
            "the order of T5",
            ConvertedVocab {
                model: "t5",
                tokens: vec![
                    ("<pad>", 0.0, 3),
                    ("</s>", 0.0, 3),
                    UNK,
                    ("a", -1.0, 1),
                    ("<extra_id_0>", -1000.0, 4),
                    ("[PAD5]", -10000.0, 2),
                ],
                special: &[("padding", 0), ("eos", 1)],
                scores: F32_ARRAY,
            },
            &[
                ("<pad>", Control),
                ("</s>", Control),
                ("<unk>", Unknown),
                ("a", PieceKind::Normal),
                ("<extra_id_0>", UserDefined),
                ("[PAD5]", Unused),
            ],
            &[ReasonKind::Rounding],
        ),
    ];
    for (name, vocab, pieces, reasons) in rows {
        let read = vocab.read();
        let found = read.value.pieces().take(pieces.len());
        let found: Vec<(String, PieceKind)> = found
            .map(|piece| (String::from_utf8_lossy(piece.text).into_owned(), piece.kind))
            .collect();
        let expected: Vec<(String, PieceKind)> = pieces
            .iter()
            .map(|(text, kind)| ((*text).to_owned(), *kind))
            .collect();
        assert_eq!(found, expected, "{name}");
        let unknown = read.value.pieces().filter(|piece| piece.kind == Unknown);
        assert_eq!(unknown.count(), 1, "{name}");
        let kinds: Vec<ReasonKind> = read
            .verdict
            .reasons()
            .iter()
            .map(|reason| reason.kind)
            .collect();
        assert_eq!(kinds, reasons, "{name}: {}", read.verdict);
        // As a `.model` file it is accepted.
        assert!(Model::from_bytes(&read.value.to_bytes()).is_ok(), "{name}");
    }
}

#[test]
fn symbols_are_written_with_spaces_and_read_with_marks() {
    let model = model_of(|b| ignore(b.piece("x\u{2581}y", 0.0, PieceKind::UserDefined)));
    let bytes = bytes_of(&model);
    assert!(bytes.windows(3).any(|window| window == b"x y"));
    let back = Model::from_gguf(&bytes[..]).unwrap().value;
    assert!(back.pieces().eq(model.pieces()));
}

/// A reader that counts.
struct CountingReader<R> {
    reader: R,
    bytes: u64,
}

impl<R: io::Read> io::Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

#[test]
fn nothing_after_the_header_is_read() {
    let header = bytes_of(&golden("golden/llama2"));
    let length = header.len() as u64;
    let zeros = io::Read::take(io::repeat(0), 40_000_000_000);
    let mut source = CountingReader {
        reader: io::Read::chain(&header[..], zeros),
        bytes: 0,
    };
    assert!(Model::from_gguf(&mut source).is_ok());
    assert!(
        source.bytes <= length + (1 << 16),
        "{} of {length}",
        source.bytes
    );
}

#[cfg(unix)]
#[test]
fn a_tokenizer_opens_a_file_of_40_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let model = golden("golden/llama2");
    std::fs::write(&path, bytes_of(&model)).unwrap();
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    if file.set_len(40_000_000_000).is_err() {
        println!("skipped: this file system has no sparse files of 40 GB");
        return;
    }
    let tokenizer = Tokenizer::open(&path).unwrap();
    assert_eq!(
        tokenizer.encode("Hello world"),
        Tokenizer::new(model).encode("Hello world")
    );
    std::fs::write(&path, bytes_of(&golden("golden/nfkc"))).unwrap();
    let error = Tokenizer::open(&path).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("m.gguf") && message.contains("normalization_rules"),
        "{message}"
    );
    std::fs::write(&path, b"GGUF\x03\0\0\0").unwrap();
    assert!(
        Tokenizer::open(&path)
            .unwrap_err()
            .to_string()
            .contains("not a valid GGUF file")
    );
}
