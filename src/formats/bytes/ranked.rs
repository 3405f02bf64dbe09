//! A vocabulary of ranks as a list of merges: the reverse of [`merge_list`](crate::encode::bpe::merge_list).
//!
//! Whenever text is merged to a token, the last merge is the one that merging the bytes of the
//! token alone ends with (locality). So the list that has this pair for each token, in the order of
//! the ranks, has every pair that is ever merged by rank; by the theorem of `merge_list` it gives
//! the same parts for all text. A token that merging its own bytes does not give has no pair: only
//! looking up whole pretokens finds it, as for 588 tokens of Llama 3.

use super::tokens::shown;
use crate::byte_bpe::{ByteBpe, SpecialToken};
use crate::formats::{Reason, ReasonKind};

/// How the program of a format finds a token for a pretoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) enum PretokenRule {
    /// It merges its bytes.
    Merge,
    /// If it is a token as a whole, it is this token.
    LookUpFirst,
}

/// The tokens of a vocabulary, in the order of their ranks.
pub(in crate::formats) struct RankedTokens<'b> {
    pub(in crate::formats) bpe: &'b ByteBpe,
    tokens: Vec<(&'b [u8], u32)>,
    /// The ranks of the two tokens that merge to each token.
    last_merges: Vec<Option<[u32; 2]>>,
    special_by_id: Vec<&'b SpecialToken>,
}

impl<'b> RankedTokens<'b> {
    pub(in crate::formats) fn new(bpe: &'b ByteBpe) -> Self {
        let mut special_by_id: Vec<&SpecialToken> = bpe.special_tokens().iter().collect();
        special_by_id.sort_unstable_by_key(|token| token.id);
        Self {
            bpe,
            tokens: bpe.tokens().map(|(it, id)| (it, id.get())).collect(),
            last_merges: bpe.last_merges(),
            special_by_id,
        }
    }

    pub(in crate::formats) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(in crate::formats) fn bytes(&self, rank: usize) -> &'b [u8] {
        self.tokens[rank].0
    }

    pub(in crate::formats) fn id(&self, rank: usize) -> u32 {
        self.tokens[rank].1
    }

    /// The special token that has the id of a token.
    pub(in crate::formats) fn special(&self, rank: usize) -> Option<&'b SpecialToken> {
        let special = &self.special_by_id;
        let at = special.binary_search_by_key(&self.id(rank), |token| token.id);
        Some(special[at.ok()?])
    }

    /// The special tokens by id.
    pub(in crate::formats) fn special_by_id(&self) -> &[&'b SpecialToken] {
        &self.special_by_id
    }

    /// Whether merging gives the token.
    pub(in crate::formats) fn is_merged(&self, rank: usize) -> bool {
        self.bytes(rank).len() == 1 || self.last_merges[rank].is_some()
    }

    /// Whether a token is found only where its text is allowed as a special token.
    pub(in crate::formats) fn is_only_special(&self, rank: usize) -> bool {
        let is_found = self.is_merged(rank)
            || self.bpe.looks_up_pretokens()
                && self.bpe.pretokenizer().may_cut_out(self.bytes(rank));
        self.special(rank).is_some() && !is_found
    }

    /// The ranks of the two tokens of each merge, and of the token that they become, in the order
    /// of the merges.
    pub(in crate::formats) fn merges(&self) -> impl Iterator<Item = ([usize; 2], usize)> {
        let merges = self.last_merges.iter().enumerate();
        merges.filter_map(|(rank, pair)| Some((pair.as_ref()?.map(|part| part as usize), rank)))
    }

    /// The tokens that only a program which looks up whole pretokens finds.
    pub(in crate::formats) fn looked_up(&self) -> impl Iterator<Item = usize> {
        let pretokenizer = self.bpe.pretokenizer();
        (0..self.len())
            .filter(|rank| !self.is_merged(*rank) && pretokenizer.may_cut_out(self.bytes(*rank)))
    }

    /// The reason if a program with this rule gives other ids for pretokens that are a token.
    pub(in crate::formats) fn rule_reason(&self, rule: PretokenRule) -> Option<Reason> {
        let looks_up = self.bpe.looks_up_pretokens();
        if looks_up == (rule == PretokenRule::LookUpFirst) {
            return None;
        }
        let tokens = self.looked_up().filter(|rank| !self.is_only_special(*rank));
        let differing: Vec<&[u8]> = tokens.map(|rank| self.bytes(rank)).collect();
        let first = differing.first()?;
        let [ours, theirs] = match looks_up {
            true => [
                "are found by looking up whole pretokens",
                "the program merges only",
            ],
            false => [
                "are found by no merge",
                "the program looks up whole pretokens",
            ],
        };
        let explanation = format!(
            "{} tokens {ours}, for example {}, but {theirs}",
            differing.len(),
            shown(first),
        );
        Some(Reason {
            example: self.one_pretoken(differing.into_iter()),
            ..Reason::new(ReasonKind::MergeOrder, explanation)
        })
    }

    /// The first text that is one pretoken.
    pub(in crate::formats) fn one_pretoken<'t>(
        &self,
        texts: impl Iterator<Item = &'t [u8]>,
    ) -> Option<String> {
        let pretokenizer = self.bpe.pretokenizer();
        let mut texts = texts.filter_map(|text| std::str::from_utf8(text).ok());
        let found = texts.find(|text| pretokenizer.pretokens(text) == [*text]);
        found.map(str::to_owned)
    }
}
