//! Which programs give the ids of a model, and for which texts another program gives other ids.
//!
//! Programs that read a file of [`Model::to_transformers_folder`](crate::Model) or
//! [`Model::to_gguf_vocab`](crate::Model) as spiece knows them have the verdict of that conversion.
//! What the others do with a text was found by running them: docs/RUNTIMES.md has the
//! measurements, and `tests/formats/runtimes.py --check` repeats them against these verdicts.
//!
//! Each rule says which ids another program gives for some text, and is a reason where the model
//! gives others. So a reason of a rule with an example is certain for that version of the program,
//! and a program is exact only where its ids are proved equal or it runs SentencePiece itself.

mod rules;
#[cfg(all(test, feature = "train"))]
mod tests;

use self::rules::{ByteRules, ModelRules};
use crate::formats::{Reason, Verdict};
use crate::tokenizer::Tokenizer;

/// A program that reads a tokenizer, and whether it gives the same ids.
///
/// ```
/// use spiece::Tokenizer;
/// use spiece::inspect::runtimes;
///
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let runtimes = runtimes(&tokenizer).expect("a SentencePiece model");
/// let transformers = runtimes.iter().find(|runtime| runtime.program == "transformers").unwrap();
/// assert!(transformers.verdict.is_exact());
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Runtime {
    /// The name of the program.
    pub program: &'static str,
    /// The version that the verdict is about.
    pub version: &'static str,
    /// The file that it reads.
    pub file: RuntimeFile,
    /// Whether its ids are equal.
    pub verdict: RuntimeVerdict,
    /// What to set or call in the program, if its defaults give other ids.
    pub setting: Option<&'static str>,
}

/// A file that programs read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuntimeFile {
    /// The `.model` file itself.
    Model,
    /// The folder with `tokenizer.json` that `spiece convert` writes.
    Folder,
    /// The GGUF file that `spiece convert` writes.
    Gguf,
    /// The `.tiktoken` file that `spiece convert` writes.
    Tiktoken,
}

impl RuntimeFile {
    /// The name: `model`, `folder`, `gguf` or `tiktoken`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Folder => "folder",
            Self::Gguf => "gguf",
            Self::Tiktoken => "tiktoken",
        }
    }
}

/// Whether a program gives the ids of a tokenizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeVerdict {
    /// For every text.
    Exact,
    /// Not for every text, or not proved: the reasons, at least one.
    Differs(Vec<Reason>),
    /// There is no file of the tokenizer that the program reads; the cause.
    Refused(String),
}

impl RuntimeVerdict {
    /// Whether the ids of every text are equal.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact)
    }

    /// The reasons of [`Differs`](Self::Differs).
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Self::Differs(reasons) => reasons,
            Self::Exact | Self::Refused(_) => &[],
        }
    }

    fn of_reasons(reasons: Vec<Reason>) -> Self {
        match reasons.is_empty() {
            true => Self::Exact,
            false => Self::Differs(reasons),
        }
    }

    fn of_conversion(conversion: &Result<Verdict, String>) -> Self {
        match conversion {
            Ok(verdict) => Self::of_reasons(verdict.reasons().to_vec()),
            Err(cause) => Self::Refused(cause.clone()),
        }
    }
}

/// Which programs give the ids of a SentencePiece model or a byte-level vocabulary; `None` for any
/// other pipeline, which is a file of `tokenizers` already.
///
/// Cost: that of the conversions, and a few short texts.
pub fn runtimes(tokenizer: &Tokenizer) -> Option<Vec<Runtime>> {
    if let Some(bpe) = tokenizer.byte_bpe() {
        return Some(ByteRules::new(bpe).runtimes());
    }
    if tokenizer.pipeline().is_some() {
        return None;
    }
    Some(ModelRules::new(tokenizer, tokenizer.model()?).runtimes())
}
