//! How llama.cpp cuts text, by the names in `tokenizer.ggml.pre`.
//!
//! A name stands for a list of expressions, of which each cuts what the one before has left: its matches
//! and the texts between them are the parts. Most lists cut as a named pretokenizer does.

use crate::formats::bytes::PretokenRule;
use crate::pattern::{GPT2_EXPRESSION, Pattern, PatternSyntax, Pretokenizer, Split, SplitBehavior};

/// The name that llama.cpp takes where a file has none, with a warning.
pub(super) const DEFAULT: &str = "default";

/// Each digit.
const NUMBER: &str = r"\p{N}";
/// Letters with case.
const DEEPSEEK_LETTERS: &str = "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛ\
     ὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚ\
     ａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";
const DEEPSEEK_PUNCTUATION: &str = "\\s?[!-/:-~！-／：-～‘-‟\u{3000}-。]+";
/// From U+0800 to U+9FA5, and Hangul.
const DEEPSEEK_CJK: &str = "[一-龥\u{800}-一가-\u{d7ff}]+";

/// A pattern of llama.cpp.
pub(super) struct GgufPattern {
    /// The names, the first of which is written.
    pub(super) names: &'static [&'static str],
    pub(super) cuts: GgufCuts,
    pub(super) rule: PretokenRule,
}

/// How text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GgufCuts {
    /// As the pretokenizer of this name.
    Named(&'static str),
    /// At the matches of each expression.
    Splits(&'static [&'static str]),
}

impl GgufCuts {
    pub(super) fn pretokenizer(self) -> Option<Pretokenizer> {
        match self {
            Self::Named(name) => Pretokenizer::named(name),
            Self::Splits(expressions) => {
                let splits: Option<Vec<Split>> = expressions.iter().map(|it| split(it)).collect();
                splits.map(Pretokenizer::new)
            }
        }
    }

    /// Whether a pretokenizer cuts in this way.
    pub(super) fn are_those_of(self, pretokenizer: &Pretokenizer) -> bool {
        match self {
            Self::Named(name) => pretokenizer.name() == Some(name),
            Self::Splits(expressions) => {
                let splits = pretokenizer.splits();
                let pairs = splits.iter().zip(expressions);
                splits.len() == expressions.len()
                    && pairs.into_iter().all(|(theirs, expression)| {
                        split(expression).is_some_and(|ours| cut_alike(theirs, &ours))
                    })
            }
        }
    }
}

/// The split at the matches of an expression.
fn split(expression: &str) -> Option<Split> {
    if expression == NUMBER {
        return Split::at_numbers(true).ok();
    }
    let pattern = Pattern::with_syntax(expression, PatternSyntax::Oniguruma);
    Some(Split::new(pattern.ok()?, SplitBehavior::Isolated))
}

fn cut_alike(a: &Split, b: &Split) -> bool {
    let name = |split: &Split| Pretokenizer::new(vec![split.clone()]).name();
    a == b || name(a).is_some() && name(a) == name(b)
}

/// The patterns of llama.cpp, by `llama-vocab.cpp` of September 2026.
pub(super) const PATTERNS: [GgufPattern; 13] = [
    GgufPattern {
        names: &[
            "gpt-2",
            "phi-2",
            "jina-es",
            "jina-de",
            "jina-v2-es",
            "jina-v2-de",
            "jina-v1-en",
            "jina-v2-code",
            "roberta-bpe",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "modern-bert",
            "exaone4",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
        ],
        cuts: GgufCuts::Named("gpt2"),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        cuts: GgufCuts::Named("llama3"),
        rule: PretokenRule::LookUpFirst,
    },
    GgufPattern {
        names: &["dbrx", "smaug-bpe", "glm4", "chatglm-bpe"],
        cuts: GgufCuts::Named("llama3"),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &[
            "qwen2",
            "deepseek-r1-qwen",
            "kormo",
            "f2llmv2",
            "stablelm2",
            "hunyuan",
            "solar-open",
            "megrez",
            "grok-2",
        ],
        cuts: GgufCuts::Named("qwen2"),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"],
        cuts: GgufCuts::Named("o200k"),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &["tekken"],
        cuts: GgufCuts::Named("tekken"),
        rule: PretokenRule::LookUpFirst,
    },
    GgufPattern {
        names: &["kimi-k2"],
        cuts: GgufCuts::Named("kimi"),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        cuts: GgufCuts::Named("deepseek-v3"),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &[
            "smollm",
            "starcoder",
            "refact",
            "command-r",
            "codeshell",
            "exaone",
            "minerva-7b",
            "mellum2",
        ],
        cuts: GgufCuts::Splits(&[NUMBER, GPT2_EXPRESSION]),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &["deepseek-llm"],
        cuts: GgufCuts::Splits(&[
            r"[\r\n]",
            DEEPSEEK_LETTERS,
            DEEPSEEK_PUNCTUATION,
            r"\s+$",
            DEEPSEEK_CJK,
            r"\p{N}+",
        ]),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &["deepseek-coder"],
        cuts: GgufCuts::Splits(&[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", DEEPSEEK_CJK, NUMBER]),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &["falcon"],
        cuts: GgufCuts::Splits(&[
            r"[\p{P}\$\+<=>\^~\|`]+",
            GPT2_EXPRESSION,
            r"[0-9][0-9][0-9]",
        ]),
        rule: PretokenRule::Merge,
    },
    GgufPattern {
        names: &[DEFAULT],
        cuts: GgufCuts::Splits(&[
            r"[\p{P}\$\+<=>\^~\|]+",
            GPT2_EXPRESSION,
            r"\p{N}+",
            r"[0-9][0-9][0-9]",
        ]),
        rule: PretokenRule::Merge,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_is_read_is_found_again_when_it_is_written() {
        for pattern in &PATTERNS {
            let pretokenizer = pattern.cuts.pretokenizer().expect(pattern.names[0]);
            for other in &PATTERNS {
                assert_eq!(
                    other.cuts.are_those_of(&pretokenizer),
                    other.cuts == pattern.cuts,
                    "{} {}",
                    pattern.names[0],
                    other.names[0]
                );
            }
        }
    }
}
