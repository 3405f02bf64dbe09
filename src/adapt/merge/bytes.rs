//! Two byte-level vocabularies become one: the tokens of the first, then those of the second that
//! the first lacks.
//!
//! Tokens of the first keep their ids and ranks. The added ones have the last ranks, in the order
//! of the second's ranks, and the ids after all others; special tokens that the first lacks
//! follow. The pattern and everything else is that of the first.
//!
//! 1. A text that contains none of the added tokens has the same ids as before.
//! 2. No text without an added special token that is found in every text has a new boundary, so
//!    there are never more tokens: added tokens merge after all of the first's. The look-up of
//!    whole pretokens changes nothing about that, since it makes one token of a pretoken.
//! 3. Merging a vocabulary with itself gives the vocabulary.
//!
//! An added token can be *unreachable*: merging makes it of no text, since the first vocabulary
//! merges its bytes in other ways, and no look-up finds it. Removing these changes the ids of no
//! text.

use std::collections::HashSet;

use super::MergeOptions;
use crate::adapt::error::MergeError;
use crate::adapt::id_map::IdMap;
use crate::byte_bpe::{ByteBpe, ByteBpeParts, ByteToken};
use crate::piece::PieceId;

/// A byte-level vocabulary after [`ByteBpe::merge`], and what became of the second one's tokens.
#[derive(Debug)]
pub struct MergedBytes {
    bpe: ByteBpe,
    ids: IdMap,
    unreachable: Vec<PieceId>,
    dropped: Vec<Box<[u8]>>,
}

impl ByteBpe {
    /// Adds the tokens of `second` that this vocabulary lacks, with the last ranks; the module page
    /// of `adapt/merge/bytes.rs` has the guarantees.
    ///
    /// ```
    /// use spiece::adapt::MergeOptions;
    /// use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer};
    /// use spiece::Corpus;
    ///
    /// let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer("gpt2")?;
    /// let trainer = ByteTrainer::new(ByteTrainOptions::new(258, pretokenizer))?;
    /// let [first, second] = ["low low", "new new"].map(|text| trainer.train(Corpus::texts([text])));
    /// let merged = first?.merge(&second?, &MergeOptions::default())?;
    /// assert_eq!(merged.bpe().bytes_to_id("low"), Some(257.into()));
    /// assert_eq!(merged.bpe().bytes_to_id("new"), Some(259.into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The vocabularies cut or normalize text differently, or there are too many tokens.
    pub fn merge(&self, second: &Self, options: &MergeOptions) -> Result<MergedBytes, MergeError> {
        let mut parts = self.parts();
        let others = second.parts();
        if !options.allow_other_normalizer && cuts_differently(&parts, &others) {
            return Err(MergeError::Pretokens);
        }
        let known: HashSet<Box<[u8]>> = parts.tokens.iter().map(|it| it.bytes.clone()).collect();
        let special: HashSet<String> = parts
            .special_tokens
            .iter()
            .map(|token| token.text.clone())
            .collect();
        // A token with the text of a special one would be two entries of one text in other formats.
        let is_new = |token: &ByteToken| {
            let is_special = str::from_utf8(&token.bytes).is_ok_and(|text| special.contains(text));
            !known.contains(&token.bytes) && !is_special
        };
        let mut added: Vec<ByteToken> = others.tokens.into_iter().filter(is_new).collect();
        let mut dropped = Vec::new();
        if options.drop_unreachable {
            let merged = with_tokens(self, &parts, &added)?;
            let unreachable: HashSet<PieceId> = unreachable(self, &merged).into_iter().collect();
            let ids = self.vocab_size()..;
            for (token, id) in std::mem::take(&mut added).into_iter().zip(ids) {
                match unreachable.contains(&PieceId::from_index(id)) {
                    true => dropped.push(token.bytes),
                    false => added.push(token),
                }
            }
        }
        let first_special = self.vocab_size() + added.len();
        let new_special = others.special_tokens.into_iter().filter(|token| {
            let is_token = self.bytes_to_id(&token.text).is_some()
                || added.iter().any(|it| *it.bytes == *token.text.as_bytes());
            !special.contains(&token.text) && !is_token
        });
        for (mut token, id) in new_special.zip(first_special..) {
            token.id = PieceId::from_index(id).get();
            parts.special_tokens.push(token);
        }
        let bpe = with_tokens(self, &parts, &added)?;
        let old_id = |index| (index < self.vocab_size()).then(|| PieceId::from_index(index));
        let old_ids = (0..bpe.vocab_size()).map(old_id).collect();
        Ok(MergedBytes {
            ids: IdMap::from_old_ids(self.vocab_size(), old_ids),
            unreachable: unreachable(self, &bpe),
            bpe,
            dropped,
        })
    }
}

fn cuts_differently(first: &ByteBpeParts, second: &ByteBpeParts) -> bool {
    first.pretokenizer.splits() != second.pretokenizer.splits()
        || first.text_form != second.text_form
        || first.adds_prefix_space != second.adds_prefix_space
}

/// The first vocabulary with these parts, and more tokens with the ids after its own.
fn with_tokens(
    first: &ByteBpe,
    parts: &ByteBpeParts,
    added: &[ByteToken],
) -> Result<ByteBpe, MergeError> {
    let mut parts = parts.clone();
    for (token, id) in added.iter().zip(first.vocab_size()..) {
        parts.tokens.push(ByteToken {
            bytes: token.bytes.clone(),
            id: PieceId::from_index(id).get(),
        });
    }
    Ok(ByteBpe::new(parts)?)
}

/// The added tokens that no text gives.
fn unreachable(first: &ByteBpe, merged: &ByteBpe) -> Vec<PieceId> {
    let tokens = merged.tokens().zip(merged.last_merges());
    let is_unreachable = |((bytes, id), merge): ((&[u8], PieceId), Option<[u32; 2]>)| {
        let is_found = merge.is_some()
            || merged.looks_up_pretokens() && merged.pretokenizer().may_cut_out(bytes);
        (id.index() >= first.vocab_size() && !is_found).then_some(id)
    };
    tokens.filter_map(is_unreachable).collect()
}

impl MergedBytes {
    /// The merged vocabulary.
    pub fn bpe(&self) -> &ByteBpe {
        &self.bpe
    }

    /// The merged vocabulary, without the rest.
    pub fn into_bpe(self) -> ByteBpe {
        self.bpe
    }

    /// How ids of the first vocabulary and of the merged one correspond: the first one's stay.
    pub fn ids(&self) -> &IdMap {
        &self.ids
    }

    /// The new ids of tokens of the second vocabulary that no text gives.
    pub fn unreachable(&self) -> &[PieceId] {
        &self.unreachable
    }

    /// The tokens of the second vocabulary that no text would give and that were therefore not
    /// added.
    pub fn dropped(&self) -> impl Iterator<Item = &[u8]> {
        self.dropped.iter().map(|bytes| &**bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::adapt::extend::bytes::tests::{boundaries, texts, vocabularies, vocabulary};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 2000 }))]

        #[test]
        fn merged_vocabularies_keep_ids_and_boundaries(
            first in vocabularies(),
            second in vocabularies(),
            lines in texts(),
        ) {
            let [old, second] = [&first, &second].map(|parts| ByteBpe::new(parts.clone()).unwrap());
            let merged = old.merge(&second, &MergeOptions::default()).unwrap();
            let new = merged.bpe();
            let parts = new.parts();
            prop_assert_eq!(&parts.tokens[..first.tokens.len()], &first.tokens[..]);
            for (bytes, _) in second.tokens() {
                prop_assert!(new.bytes_to_id(bytes).is_some());
            }
            for line in &lines {
                let has_new = parts.tokens[first.tokens.len()..].iter().any(|token| {
                    memchr::memmem::find(line.as_bytes(), &token.bytes).is_some()
                });
                let (before, after) = (boundaries(&old, line), boundaries(new, line));
                prop_assert!(after.iter().all(|end| before.contains(end)), "{line:?}");
                if !has_new {
                    prop_assert_eq!(old.encode(line), new.encode(line));
                }
            }
            let mut options = MergeOptions::default();
            options.drop_unreachable = true;
            let smaller = old.merge(&second, &options).unwrap();
            prop_assert!(smaller.unreachable().is_empty());
            for line in &lines {
                prop_assert_eq!(boundaries(smaller.bpe(), line), boundaries(new, line));
            }
            let same = old.merge(&old, &MergeOptions::default()).unwrap();
            prop_assert_eq!(same.bpe().parts().tokens, first.tokens);
        }
    }

    #[test]
    fn vocabularies_with_other_patterns_are_merged_only_if_allowed() {
        let first = ByteBpe::new(vocabulary(&["ab"], true)).unwrap();
        let mut parts = vocabulary(&["bc"], true);
        parts.pretokenizer = crate::Pretokenizer::named("cl100k").unwrap();
        let second = ByteBpe::new(parts).unwrap();
        let error = first.merge(&second, &MergeOptions::default()).unwrap_err();
        assert!(matches!(error, MergeError::Pretokens));
        let mut options = MergeOptions::default();
        options.allow_other_normalizer = true;
        let merged = first.merge(&second, &options).unwrap();
        assert_eq!(merged.bpe().encode("bc"), [257]);
        assert_eq!(
            merged.bpe().pretokenizer().splits(),
            first.pretokenizer().splits()
        );
    }
}
