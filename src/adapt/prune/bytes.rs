//! Pruning of byte-level vocabularies.
//!
//! Always kept: the 256 bytes, the special tokens, and of each kept token the two that merge to it.
//! So every kept token is found as before. New ids are those of the kept tokens in the order of
//! their old ones, without gaps; ranks keep their order.
//!
//! | target | tokens kept | texts with unchanged ids (up to the new numbers) |
//! |---|---|---|
//! | [`PruneGoal::Used`] | those that the text gives, and those of which they are made | all lines of the text |
//! | [`PruneGoal::Size`] | see `leaves` | those whose merges use kept tokens only |
//!
//! The reasons are those of BPE models. With the look-up of whole pretokens: a pretoken that is a
//! kept token is still this one token, and if a line of the text has a pretoken that is a token,
//! then this token is given, so it is kept. A token that only the look-up finds, as 588 of Llama 3,
//! is made of no others; it is removed by its count like a leaf. Without a look-up no text gives
//! it, and it is removed first.
//!
//! Example: the tokens `ab` `abc` and the bytes; the text gives `abc`. `Used` keeps `abc`, and
//! `ab`, of which it is made with `c`.

use super::leaves::{self, PieceHalves};
use super::{PieceUsage, PruneGoal};
use crate::adapt::error::PruneError;
use crate::adapt::id_map::IdMap;
use crate::byte_bpe::ByteBpe;
use crate::piece::PieceId;

/// A byte-level vocabulary after [`ByteBpe::prune`].
#[derive(Debug)]
pub struct PrunedBytes {
    bpe: ByteBpe,
    ids: IdMap,
}

impl ByteBpe {
    /// Removes tokens that a text does not need, or the rarest ones; see [`PruneGoal`], of which
    /// [`UsedWithTail`](PruneGoal::UsedWithTail) is for models only.
    ///
    /// ```
    /// use spiece::adapt::{PruneGoal, UsageCounter};
    /// use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer};
    /// use spiece::{Corpus, Tokenizer, TokenizerConfig};
    ///
    /// let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer("gpt2")?;
    /// let trainer = ByteTrainer::new(ByteTrainOptions::new(300, pretokenizer))?;
    /// let bpe = trainer.train(Corpus::texts(["low lower newer", "newest"]))?;
    /// let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
    /// let mut counter = UsageCounter::new(&tokenizer)?;
    /// counter.add("low");
    /// let bpe = tokenizer.byte_bpe().expect("it is byte-level");
    /// let pruned = bpe.prune(&counter.finish(), PruneGoal::Used)?;
    /// assert_eq!(pruned.bpe().vocab_size(), 258);
    /// assert_eq!(pruned.bpe().merge_pretoken("low").len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The usage is that of another vocabulary, the target is for models only, or the size is
    /// smaller than what is always kept.
    pub fn prune(&self, usage: &PieceUsage, target: PruneGoal) -> Result<PrunedBytes, PruneError> {
        if usage.len() != self.vocab_size() {
            return Err(PruneError::OtherModel);
        }
        let keep = kept(self, usage, target)?;
        let old_ids = (0..keep.len()).filter(|index| keep[*index]);
        let old_ids: Vec<PieceId> = old_ids.map(PieceId::from_index).collect();
        let ids = IdMap::from_old_ids(keep.len(), old_ids.into_iter().map(Some).collect());
        let mut parts = self.parts();
        let has_new_id = |id: &mut u32| match ids.new_id(PieceId::new(*id)) {
            Some(new) => {
                *id = new.get();
                true
            }
            None => false,
        };
        parts.tokens.retain_mut(|token| has_new_id(&mut token.id));
        parts
            .special_tokens
            .retain_mut(|token| has_new_id(&mut token.id));
        let bpe = Self::new(parts)?;
        Ok(PrunedBytes { bpe, ids })
    }
}

/// By id, whether a token remains; ids without a token do not.
fn kept(bpe: &ByteBpe, usage: &PieceUsage, target: PruneGoal) -> Result<Vec<bool>, PruneError> {
    let ids = (0..bpe.vocab_size()).map(PieceId::from_index);
    let mut keep: Vec<bool> = ids.map(|id| bpe.id_to_bytes(id).is_some()).collect();
    let (is_fixed, halves) = facts(bpe);
    match target {
        PruneGoal::Used => {
            for (index, keep) in keep.iter_mut().enumerate() {
                *keep &= is_fixed[index] || usage.is_used(index);
            }
            leaves::close(&mut keep, |index| halves[index]);
            Ok(keep)
        }
        PruneGoal::Size(size) => {
            leaves::remove_leaves(&mut keep, size, &is_fixed, &halves, usage);
            match keep.iter().filter(|kept| **kept).count() {
                smallest if smallest > size => Err(PruneError::TooSmall {
                    size,
                    smallest,
                    keeps_chars: false,
                }),
                _ => Ok(keep),
            }
        }
        PruneGoal::UsedWithTail => Err(PruneError::Tail),
    }
}

/// By id, whether it cannot be removed, and the two tokens that merge to it.
fn facts(bpe: &ByteBpe) -> (Vec<bool>, Vec<Option<PieceHalves>>) {
    // What is no token of several bytes: bytes, special tokens, and ids without a token.
    let mut is_fixed = vec![true; bpe.vocab_size()];
    let mut halves = vec![None; bpe.vocab_size()];
    let tokens: Vec<(&[u8], PieceId)> = bpe.tokens().collect();
    for ((bytes, id), merge) in tokens.iter().zip(bpe.last_merges()) {
        is_fixed[id.index()] = bytes.len() == 1;
        halves[id.index()] = match merge {
            Some(ranks) => Some(ranks.map(|rank| Some(tokens[rank as usize].1))),
            // Found by the look-up, and made of no others.
            None if bytes.len() > 1 && bpe.looks_up_pretokens() => Some([None, None]),
            None => None,
        };
    }
    for token in bpe.special_tokens() {
        is_fixed[PieceId::new(token.id).index()] = true;
    }
    (is_fixed, halves)
}

impl PrunedBytes {
    /// The pruned vocabulary.
    pub fn bpe(&self) -> &ByteBpe {
        &self.bpe
    }

    /// The pruned vocabulary, without the rest.
    pub fn into_bpe(self) -> ByteBpe {
        self.bpe
    }

    /// How old and new ids correspond.
    pub fn ids(&self) -> &IdMap {
        &self.ids
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::adapt::extend::bytes::tests::{texts, vocabularies, vocabulary};
    use crate::adapt::prune::UsageCounter;
    use crate::byte_bpe::{ByteBpeParts, SpecialToken};
    use crate::{Tokenizer, TokenizerConfig};

    fn usage_of(parts: &ByteBpeParts, texts: &[String]) -> (Tokenizer, PieceUsage) {
        let bpe = ByteBpe::new(parts.clone()).unwrap();
        let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
        let mut counter = UsageCounter::new(&tokenizer).unwrap();
        texts.iter().for_each(|text| counter.add(text));
        let usage = counter.finish();
        (tokenizer, usage)
    }

    /// All tokens but special ones, ids and ranks apart.
    fn texts_of(bpe: &ByteBpe) -> Vec<Vec<u8>> {
        bpe.tokens().map(|(bytes, _)| bytes.to_vec()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 2000 }))]

        #[test]
        fn the_lines_of_the_text_have_their_tokens_and_kept_tokens_are_found(
            parts in vocabularies(),
            lines in texts(),
        ) {
            let (tokenizer, usage) = usage_of(&parts, &lines);
            let bpe = tokenizer.byte_bpe().unwrap();
            let pruned = bpe.prune(&usage, PruneGoal::Used).unwrap();
            for line in &lines {
                let new = pruned.bpe().encode(line);
                prop_assert!(pruned.ids().maps(&bpe.encode(line), &new), "{line:?}");
            }
            prop_assert_eq!(pruned.bpe().special_tokens().len(), parts.special_tokens.len());
            let (merges, old_merges) = (pruned.bpe().last_merges(), bpe.last_merges());
            let old_texts = texts_of(bpe);
            for (text, merge) in texts_of(pruned.bpe()).iter().zip(merges) {
                let rank = old_texts.iter().position(|old| old == text).unwrap();
                prop_assert!(merge.is_some() || old_merges[rank].is_none(), "{text:?}");
            }
            // No smaller vocabulary would do: of each token that is left, a line gives it or one
            // that is made of it.
            let again = usage_of(&pruned.bpe().parts(), &lines).1;
            let same = pruned.bpe().prune(&again, PruneGoal::Used).unwrap();
            prop_assert_eq!(same.bpe().vocab_size(), pruned.bpe().vocab_size());
        }

        #[test]
        fn a_size_is_reached_with_tokens_that_are_found(
            parts in vocabularies(),
            lines in texts(),
            share in 0usize..=4,
        ) {
            let (tokenizer, usage) = usage_of(&parts, &lines);
            let bpe = tokenizer.byte_bpe().unwrap();
            let all = parts.tokens.len() + parts.special_tokens.len();
            let smallest = 256 + parts.special_tokens.len();
            let size = smallest + (all - smallest) * share / 4;
            let pruned = bpe.prune(&usage, PruneGoal::Size(size)).unwrap();
            prop_assert_eq!(pruned.bpe().vocab_size(), size);
            let old_texts = texts_of(bpe);
            let old_merges = bpe.last_merges();
            let merges = pruned.bpe().last_merges();
            let mut last = 0;
            for (text, merge) in texts_of(pruned.bpe()).iter().zip(merges) {
                let rank = old_texts.iter().position(|old| old == text).unwrap();
                prop_assert!(rank >= last, "the ranks have their order");
                last = rank;
                prop_assert!(merge.is_some() || old_merges[rank].is_none(), "{text:?}");
            }
            let kept = pruned.ids().kept();
            for (old, new) in kept {
                prop_assert_eq!(bpe.id_to_bytes(old), pruned.bpe().id_to_bytes(new));
            }
            let error = bpe.prune(&usage, PruneGoal::Size(smallest - 1)).unwrap_err();
            prop_assert!(matches!(error, PruneError::TooSmall { .. }), "{}", error);
        }
    }

    #[test]
    fn tokens_of_the_look_up_are_removed_by_their_counts() {
        for (looks_up, kept) in [(true, "xyz"), (false, "ab")] {
            let mut parts = vocabulary(&["xyz", "ab"], looks_up);
            parts.special_tokens = vec![SpecialToken::new("<s>", 258)];
            let (tokenizer, usage) = usage_of(&parts, &["xyz".to_owned()]);
            let bpe = tokenizer.byte_bpe().unwrap();
            let pruned = bpe.prune(&usage, PruneGoal::Size(258)).unwrap();
            let last = pruned.bpe().tokens().last().unwrap();
            assert_eq!(last, (kept.as_bytes(), 256.into()), "{looks_up}");
            assert_eq!(pruned.ids().new_id(258.into()), Some(257.into()));
        }
    }

    #[test]
    fn other_usage_and_tails_are_refused() {
        let (tokenizer, usage) = usage_of(&vocabulary(&["ab"], true), &[]);
        let bpe = tokenizer.byte_bpe().unwrap();
        let error = bpe.prune(&usage, PruneGoal::UsedWithTail).unwrap_err();
        assert!(matches!(error, PruneError::Tail));
        let other = ByteBpe::new(vocabulary(&["ab", "abc"], true)).unwrap();
        let error = other.prune(&usage, PruneGoal::Used).unwrap_err();
        assert!(matches!(error, PruneError::OtherModel));
    }
}
