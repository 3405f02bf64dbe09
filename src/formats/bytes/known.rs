//! Published vocabularies whose files lack the pattern and the special tokens.
//!
//! `.tiktoken` files and pairs of `vocab.json` and `merges.txt` have tokens only. What is missing
//! stands in the source code of the programs that publish them; it is known here for the most used
//! ones.
//!
//! Several releases can share one vocabulary and have different special tokens: Qwen 1, 2, 2.5 and 3
//! do, and so do Llama 3, 3.1 and 3.2. Only what all of them agree on is known here. The others are in
//! `tokenizer_config.json` of the release, or are given by the caller
//! ([`ByteFormatOptions::special_tokens`](super::ByteFormatOptions)).
//!
//! A vocabulary is recognized by its tokens and ids, so that line ends, the order of lines and the
//! format do not matter: r50k_base.tiktoken and GPT-2's `vocab.json` are the same one. They are
//! compared by a 64-bit hash (FNV-1a, see `fnv`), which costs no
//! dependency and a millisecond. Accidental equality is out of question. Another vocabulary that is
//! made to have the same hash gets a known pattern, as if the pattern were written in its file: nothing
//! is trusted because a vocabulary is known.

use super::tokens::TokenList;
use crate::base::fnv::fnv1a;
use crate::byte_bpe::{SpecialToken, TextForm};
use crate::encode::bpe::merge_list::ListOrder;

/// What the program of a published vocabulary knows.
#[derive(Debug)]
pub(super) struct KnownVocabulary {
    /// The name of the pattern.
    pub(super) pattern: &'static str,
    pub(super) text_form: TextForm,
    /// Texts and ids, in the order of the ids.
    special_tokens: &'static [(&'static str, u32)],
    /// The ids of special tokens that are reserved, except those above: `<|reserved_token_ID|>`.
    reserved: Option<std::ops::Range<u32>>,
    token_count: usize,
    hash: u64,
}

/// The vocabularies, with the names of their `.tiktoken` files or programs:
/// `tiktoken_ext/openai_public.py` of tiktoken 0.14.0, `tokenizer.py` of Llama 3 and 3.1,
/// `tokenization_qwen.py` of Qwen 1, the `tokenizer.json` of Qwen 2, 2.5 and 3, and
/// `tokenization_kimi.py` of Kimi K2.
const KNOWN: [KnownVocabulary; 7] = [
    // r50k_base, and GPT-2.
    KnownVocabulary {
        pattern: "r50k",
        text_form: TextForm::AsIs,
        special_tokens: &[("<|endoftext|>", 50_256)],
        reserved: None,
        token_count: 50_256,
        hash: 0xE84D_B5C6_4BCE_D13C,
    },
    // p50k_base. The encoding p50k_edit has the same file and three special tokens more.
    KnownVocabulary {
        pattern: "r50k",
        text_form: TextForm::AsIs,
        special_tokens: &[("<|endoftext|>", 50_256)],
        reserved: None,
        token_count: 50_280,
        hash: 0x6616_BAF4_BF77_8C00,
    },
    // cl100k_base.
    KnownVocabulary {
        pattern: "cl100k",
        text_form: TextForm::AsIs,
        special_tokens: &[
            ("<|endoftext|>", 100_257),
            ("<|fim_prefix|>", 100_258),
            ("<|fim_middle|>", 100_259),
            ("<|fim_suffix|>", 100_260),
            ("<|endofprompt|>", 100_276),
        ],
        reserved: None,
        token_count: 100_256,
        hash: 0x31EF_14B1_712D_B7C4,
    },
    // o200k_base. The encoding o200k_harmony has the same file and more special tokens.
    KnownVocabulary {
        pattern: "o200k",
        text_form: TextForm::AsIs,
        special_tokens: &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)],
        reserved: None,
        token_count: 199_998,
        hash: 0x18D0_51CE_F189_4E54,
    },
    // Llama 3 to 3.3. The releases give names of their own to the ids from 128,004 on.
    KnownVocabulary {
        pattern: "llama3",
        text_form: TextForm::AsIs,
        special_tokens: &[
            ("<|begin_of_text|>", 128_000),
            ("<|end_of_text|>", 128_001),
            ("<|reserved_special_token_0|>", 128_002),
            ("<|reserved_special_token_1|>", 128_003),
            ("<|start_header_id|>", 128_006),
            ("<|end_header_id|>", 128_007),
            ("<|eot_id|>", 128_009),
        ],
        reserved: None,
        token_count: 128_000,
        hash: 0x2E50_C684_8E76_5CC7,
    },
    // Qwen 1 to 3. Qwen 1 has `<|extra_0|>` and further ones after these, Qwen 2 none, Qwen 2.5 and 3
    // have tokens for vision, code and tools, and Qwen 3 has `<think>`.
    KnownVocabulary {
        pattern: "qwen2",
        text_form: TextForm::Nfc,
        special_tokens: &[
            ("<|endoftext|>", 151_643),
            ("<|im_start|>", 151_644),
            ("<|im_end|>", 151_645),
        ],
        reserved: None,
        token_count: 151_643,
        hash: 0xD349_3E0C_07B7_90A4,
    },
    // Kimi K2.
    KnownVocabulary {
        pattern: "kimi",
        text_form: TextForm::AsIs,
        special_tokens: &[
            ("[BOS]", 163_584),
            ("[EOS]", 163_585),
            ("<|im_end|>", 163_586),
            ("<|im_user|>", 163_587),
            ("<|im_assistant|>", 163_588),
            ("<|start_header_id|>", 163_590),
            ("<|end_header_id|>", 163_591),
            ("[EOT]", 163_593),
            ("<|im_system|>", 163_594),
            ("<|tool_calls_section_begin|>", 163_595),
            ("<|tool_calls_section_end|>", 163_596),
            ("<|tool_call_begin|>", 163_597),
            ("<|tool_call_argument_begin|>", 163_598),
            ("<|tool_call_end|>", 163_599),
            ("<|im_middle|>", 163_601),
            ("[UNK]", 163_838),
            ("[PAD]", 163_839),
        ],
        reserved: Some(163_584..163_840),
        token_count: 163_584,
        hash: 0xA502_EBB4_A3F4_883E,
    },
];

impl KnownVocabulary {
    /// The published vocabulary with these tokens.
    pub(super) fn of(tokens: &TokenList, order: &ListOrder) -> Option<&'static Self> {
        // Special tokens stand in some vocabularies, too, but have no merges.
        let merging = &order.tokens[..order.merging];
        let mut known = KNOWN.iter();
        known.find(|it| it.token_count == merging.len() && it.hash == token_hash(tokens, merging))
    }

    pub(super) fn special_tokens(&self) -> Vec<SpecialToken> {
        let listed = self.special_tokens.iter();
        let mut tokens: Vec<SpecialToken> = listed
            .map(|(text, id)| SpecialToken::new(*text, *id))
            .collect();
        if let Some(ids) = &self.reserved {
            let is_listed = |id: &u32| self.special_tokens.iter().any(|(_, other)| other == id);
            let reserved = ids.clone().filter(|id| !is_listed(id));
            tokens.extend(
                reserved.map(|id| SpecialToken::new(format!("<|reserved_token_{id}|>"), id)),
            );
            tokens.sort_by_key(|token| token.id);
        }
        tokens
    }
}

/// The hash of ids and bytes in the order of the ids.
fn token_hash(tokens: &TokenList, positions: &[usize]) -> u64 {
    let mut by_id = positions.to_vec();
    by_id.sort_unstable_by_key(|at| tokens.id(*at));
    // The bytes of each token are followed by its id in four bytes.
    let mut bytes = Vec::new();
    for at in by_id {
        bytes.extend_from_slice(tokens.bytes(at));
        bytes.extend_from_slice(&tokens.id(at).to_le_bytes());
    }
    fnv1a(bytes)
}
