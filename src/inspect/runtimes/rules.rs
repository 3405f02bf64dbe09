//! What each program does with a model, as rules that give reasons.

use super::{Runtime, RuntimeFile, RuntimeVerdict};
use crate::base::{WHITESPACE_MARK_STR, lossy_string};
use crate::byte_bpe::ByteBpe;
use crate::formats::{
    ByteFileOptions, FileFormat, GgufOptions, JsonOptions, Reason, ReasonKind, Verdict,
};
use crate::inspect::OlderReleaseProblem;
use crate::model::{Model, ModelType, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::tokenizer::Tokenizer;

/// A program, and the rule that judges it.
struct Program {
    name: &'static str,
    version: &'static str,
    file: RuntimeFile,
    setting: Option<&'static str>,
    judge: fn(&ModelRules<'_>) -> RuntimeVerdict,
}

const PROGRAMS: [Program; 10] = [
    Program {
        name: "mistral-common",
        version: "1.13.1",
        file: RuntimeFile::Model,
        setting: None,
        // It runs SentencePiece 0.2.3.
        judge: |_| RuntimeVerdict::Exact,
    },
    Program {
        name: "tensorflow-text",
        version: "2.21.1",
        file: RuntimeFile::Model,
        setting: Some("SentencepieceTokenizer"),
        judge: |rules| rules.tensorflow_text(),
    },
    Program {
        name: "tensorflow-text Fast",
        version: "2.21.1",
        file: RuntimeFile::Model,
        setting: Some("FastSentencepieceTokenizer; SentencepieceTokenizer differs less"),
        judge: |rules| rules.tensorflow_text_fast(),
    },
    Program {
        name: "onnxruntime-extensions",
        version: "0.15.2",
        file: RuntimeFile::Model,
        setting: Some("the operator SentencepieceTokenizer"),
        judge: |rules| rules.onnxruntime_extensions(),
    },
    Program {
        name: "transformers",
        version: "5.24.0",
        file: RuntimeFile::Folder,
        setting: Some("split_special_tokens=True, unless texts may have special tokens"),
        judge: |rules| RuntimeVerdict::of_conversion(&rules.folder),
    },
    Program {
        name: "llama.cpp",
        version: "node-llama-cpp 3.22.1",
        file: RuntimeFile::Gguf,
        setting: Some("parse_special off; the GGUF file of spiece, not of its own converter"),
        judge: |rules| RuntimeVerdict::of_conversion(&rules.gguf),
    },
    Program {
        name: "@huggingface/tokenizers",
        version: "0.2.0",
        file: RuntimeFile::Folder,
        setting: None,
        judge: |rules| rules.tokenizers_js(),
    },
    Program {
        name: "openvino-tokenizers",
        version: "2026.4.1.0",
        file: RuntimeFile::Folder,
        setting: None,
        judge: |rules| rules.openvino(),
    },
    Program {
        name: "onnxruntime-genai",
        version: "onnxruntime-extensions 0.15.2",
        file: RuntimeFile::Folder,
        setting: Some(
            "tokenizer_class in tokenizer_config.json: LlamaTokenizer (BPE) or T5Tokenizer (unigram)",
        ),
        judge: |rules| rules.onnxruntime_genai(),
    },
    Program {
        name: "splintr",
        version: "0.22.0",
        file: RuntimeFile::Folder,
        setting: Some("encode_ordinary"),
        judge: |rules| rules.splintr(),
    },
];

/// A character of private use, which hardly any model has as a piece.
const UNSEEN: &str = "\u{e000}";

/// What the rules need of a model.
pub(super) struct ModelRules<'m> {
    tokenizer: &'m Tokenizer,
    model: &'m Model,
    /// The verdict of the folder, or why there is none.
    folder: Result<Verdict, String>,
    /// The verdict of the GGUF file, or why there is none.
    gguf: Result<Verdict, String>,
}

impl<'m> ModelRules<'m> {
    pub(super) fn new(tokenizer: &'m Tokenizer, model: &'m Model) -> Self {
        let folder = model.to_tokenizer_json(&JsonOptions::default());
        let gguf = model.to_gguf_vocab(&GgufOptions::default());
        Self {
            tokenizer,
            model,
            folder: folder
                .map(|file| file.verdict)
                .map_err(|error| error.to_string()),
            gguf: gguf
                .map(|file| file.verdict)
                .map_err(|error| error.to_string()),
        }
    }

    pub(super) fn runtimes(&self) -> Vec<Runtime> {
        let runtime = |program: &Program| Runtime {
            program: program.name,
            version: program.version,
            file: program.file,
            verdict: (program.judge)(self),
            setting: program.setting,
        };
        PROGRAMS.iter().map(runtime).collect()
    }

    fn tensorflow_text(&self) -> RuntimeVerdict {
        self.older_release(Vec::new())
    }

    fn onnxruntime_extensions(&self) -> RuntimeVerdict {
        self.older_release(self.nul_ends_text().into_iter().collect())
    }

    /// The verdict on a program that is built with SentencePiece 0.2.0 or older.
    fn older_release(&self, mut reasons: Vec<Reason>) -> RuntimeVerdict {
        for problem in self.model.older_release_problems() {
            match problem {
                OlderReleaseProblem::NulPiece { .. } => {
                    let explanation = "its SentencePiece is older than 0.2.3 and does not find the piece that is a NUL";
                    reasons.extend(self.reason_unless(
                        ReasonKind::PieceText,
                        explanation,
                        "\0",
                        &self.ids(UNSEEN),
                    ));
                }
                OlderReleaseProblem::NoUnknownPiece | OlderReleaseProblem::SelfTest { .. } => {
                    return RuntimeVerdict::Refused(problem.to_string());
                }
            }
        }
        // Elsewhere the first word begins with the mark of a space.
        let has_mark = self.model.normalizer_spec().add_dummy_prefix()
            && !self.model.trainer_spec().treat_whitespace_as_suffix();
        let mut pieces = self.model.pieces();
        let control = pieces.find(|piece| piece.kind == PieceKind::Control);
        if let Some(control) = control.filter(|_| self.model_type() == ModelType::Word && !has_mark)
        {
            let text = lossy_string(control.text);
            let explanation = "its SentencePiece is older than 0.2.3 and fails for a text that begins with the word of a control piece";
            reasons.push(Reason::new(ReasonKind::MetaPiece, explanation).with_example(text));
        }
        if self.model_type() == ModelType::Unigram {
            let explanation = "its SentencePiece is older than 0.2.2 and compares sums of scores in 64 bits, so that nearly equal sums \
                 and long texts can have other ids";
            reasons.push(Reason::new(ReasonKind::Rounding, explanation));
        }
        RuntimeVerdict::of_reasons(reasons)
    }

    fn tensorflow_text_fast(&self) -> RuntimeVerdict {
        let has_nul = self.model.pieces().any(|piece| piece.text == b"\0");
        if has_nul {
            return RuntimeVerdict::Refused(
                "its trie takes no piece that is a NUL, and loading fails".to_owned(),
            );
        }
        let mut reasons = Vec::new();
        if self.model_type() != ModelType::Unigram {
            let explanation =
                "it encodes every model as a unigram model, with the scores of the pieces";
            reasons.push(Reason::new(ReasonKind::MergeOrder, explanation));
        }
        reasons.extend(self.no_byte_pieces());
        let explanation = "a text of tabs and line ends gets no ids";
        reasons.extend(self.reason_unless(ReasonKind::Whitespace, explanation, "\t", &[]));
        reasons.push(Reason::new(
            ReasonKind::Rounding,
            "it adds scores in another way than SentencePiece",
        ));
        RuntimeVerdict::of_reasons(reasons)
    }

    fn tokenizers_js(&self) -> RuntimeVerdict {
        let mut reasons = Vec::new();
        reasons.extend(self.found_special_texts());
        reasons.extend(self.prefix_of_nothing(&["  ", "\t"]));
        if self.model_type() == ModelType::Unigram {
            reasons.extend(self.no_byte_pieces());
        }
        if self.has_rules() {
            let explanation =
                "it does not read the normalization rules, and applies NFKC and rules of its own";
            reasons.push(Reason::new(ReasonKind::NormalizationRules, explanation));
        }
        self.of_folder(reasons)
    }

    fn openvino(&self) -> RuntimeVerdict {
        let mut reasons = Vec::new();
        reasons.extend(self.found_special_texts());
        let explanation = "a NUL at the end of a text is lost";
        reasons.extend(self.reason_unless(ReasonKind::PieceText, explanation, "\0", &[]));
        match self.model_type() {
            ModelType::Unigram => reasons.extend(self.no_byte_pieces()),
            _ => reasons.extend(self.unknown_bytes()),
        }
        self.of_folder(reasons)
    }

    fn onnxruntime_genai(&self) -> RuntimeVerdict {
        let mut reasons = Vec::new();
        reasons.extend(self.nul_ends_text());
        reasons.extend(self.found_special_texts());
        let explanation = "it cuts text at spaces and at U+2581 before it encodes, so that runs of them can have other ids";
        reasons.push(Reason::new(ReasonKind::Whitespace, explanation));
        match self.model_type() {
            ModelType::Unigram => {
                reasons.extend(self.no_byte_pieces());
                let explanation = "a single character can get the id of an unrelated piece";
                reasons.push(Reason::new(ReasonKind::PieceText, explanation));
            }
            _ => reasons.extend(self.unknown_bytes()),
        }
        self.of_folder(reasons)
    }

    fn splintr(&self) -> RuntimeVerdict {
        let mut reasons = Vec::new();
        reasons.extend(self.prefix_of_nothing(match self.model_type() {
            ModelType::Bpe => &["", "  ", "\t"],
            _ => &["  ", "\t"],
        }));
        if self.has_symbols() {
            let explanation = "it finds user-defined symbols in other places of a text";
            reasons.push(Reason::new(ReasonKind::UserDefinedSymbol, explanation));
        }
        self.of_folder(reasons)
    }

    /// The verdict on a program that reads the folder in a way of its own: never exact, since
    /// nothing is proved of it.
    fn of_folder(&self, mut reasons: Vec<Reason>) -> RuntimeVerdict {
        if let Err(cause) = &self.folder {
            return RuntimeVerdict::Refused(cause.clone());
        }
        if reasons.is_empty() {
            let explanation = "it applies the tokenizer.json with code of its own; no difference is known for this model, and none is excluded";
            reasons.push(Reason::new(ReasonKind::Setting, explanation));
        }
        RuntimeVerdict::Differs(reasons)
    }

    /// The reason if a NUL ends the text.
    fn nul_ends_text(&self) -> Option<Reason> {
        let explanation = "a NUL ends the text; what follows it is lost";
        self.reason_unless(ReasonKind::PieceText, explanation, "\0", &[])
    }

    /// The reason if the texts of control and unknown pieces are found in text.
    fn found_special_texts(&self) -> Option<Reason> {
        let is_found =
            |piece: &Piece<'_>| matches!(piece.kind, PieceKind::Control | PieceKind::Unknown);
        let explanation = "it finds the texts of control and unknown pieces in every text, and has no option against it";
        let found = self.model.pieces().filter(is_found);
        let mut reasons = found.filter_map(|piece| {
            let text = std::str::from_utf8(piece.text).ok()?;
            self.reason_unless(ReasonKind::MetaPiece, explanation, text, &[piece.id])
        });
        reasons.next()
    }

    /// The reason if a text of which the normalizer leaves nothing gets the dummy prefix.
    fn prefix_of_nothing(&self, texts: &[&str]) -> Option<Reason> {
        // Otherwise the folder has an expression that asks for a character.
        let has_plain_prefix = self.model.normalizer_spec().add_dummy_prefix()
            && !self.model.trainer_spec().treat_whitespace_as_suffix()
            && (self.model_type() == ModelType::Unigram || !self.has_symbols());
        if !has_plain_prefix {
            return None;
        }
        let text = texts.iter().find(|text| self.ids(text).is_empty())?;
        let prefix = self.model.piece_to_id(WHITESPACE_MARK_STR)?;
        let explanation = "a text of which normalization leaves nothing gets a dummy prefix";
        self.reason_unless(ReasonKind::Whitespace, explanation, text, &[prefix])
    }

    /// The reason if characters without a piece do not become byte pieces.
    fn no_byte_pieces(&self) -> Option<Reason> {
        let explanation = "it gives the unknown piece where the model gives byte pieces";
        let ids = self.ids(UNSEEN);
        let is_byte = |id: &&PieceId| {
            let piece = self.model.piece(**id);
            piece.is_some_and(|piece| piece.kind == PieceKind::Byte)
        };
        ids.iter().find(is_byte)?;
        Some(Reason::new(ReasonKind::UnknownCharacter, explanation).with_example(UNSEEN))
    }

    /// The reason if each byte of a character without a piece is an unknown piece.
    fn unknown_bytes(&self) -> Option<Reason> {
        let unknown = self.tokenizer.unk_id()?;
        let explanation = "each byte of a character without a piece becomes the unknown piece, instead of all together";
        self.ids(UNSEEN).iter().find(|id| **id == unknown)?;
        Some(Reason::new(ReasonKind::UnknownCharacter, explanation).with_example(UNSEEN))
    }

    /// The reason with the example `text`, unless the model gives the ids of the other program.
    fn reason_unless(
        &self,
        kind: ReasonKind,
        explanation: &str,
        text: &str,
        others: &[PieceId],
    ) -> Option<Reason> {
        let differs = self.ids(text) != others;
        differs.then(|| Reason::new(kind, explanation).with_example(text))
    }

    fn ids(&self, text: &str) -> Vec<PieceId> {
        self.tokenizer.encode(text)
    }

    fn model_type(&self) -> ModelType {
        self.model.model_type()
    }

    fn has_symbols(&self) -> bool {
        let mut pieces = self.model.pieces();
        pieces.any(|piece| piece.kind == PieceKind::UserDefined)
    }

    fn has_rules(&self) -> bool {
        let spec = self.model.normalizer_spec();
        !spec.precompiled_charsmap().is_empty()
    }
}

/// The rules for byte-level vocabularies: the verdicts of the conversions.
pub(super) struct ByteRules<'b> {
    bpe: &'b ByteBpe,
}

impl<'b> ByteRules<'b> {
    pub(super) fn new(bpe: &'b ByteBpe) -> Self {
        Self { bpe }
    }

    pub(super) fn runtimes(&self) -> Vec<Runtime> {
        let table = [
            (
                "tiktoken",
                "0.14.0",
                FileFormat::Tiktoken,
                RuntimeFile::Tiktoken,
            ),
            (
                "transformers",
                "5.24.0",
                FileFormat::Folder,
                RuntimeFile::Folder,
            ),
            (
                "llama.cpp",
                "node-llama-cpp 3.22.1",
                FileFormat::Gguf,
                RuntimeFile::Gguf,
            ),
        ];
        let runtime = |(program, version, format, file)| {
            let written = self.bpe.to_format(format, &ByteFileOptions::default());
            let conversion = written
                .map(|files| files.verdict)
                .map_err(|error| error.to_string());
            Runtime {
                program,
                version,
                file,
                verdict: RuntimeVerdict::of_conversion(&conversion),
                setting: None,
            }
        };
        table.into_iter().map(runtime).collect()
    }
}
