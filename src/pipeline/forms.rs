//! Unicode normalization forms, by the tables of a release of the library tokenizers.
//!
//! Up to 0.23 it has those of Unicode 9 and says for each new character how many old ones it stands for;
//! 1.0 has those of Unicode 17 and no spans. Its forms have spans here: a text is divided before the
//! characters that begin something new in every text, and the characters of a division stand for
//! those that were there, one for one from its start on.

use unicode_normalization::char::{
    canonical_combining_class, decompose_canonical, decompose_compatible,
};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization as Unicode17, is_nfc_quick, is_nfd_quick, is_nfkc_quick,
    is_nfkd_quick,
};
use unicode_normalization_alignments::UnicodeNormalization as Unicode9;

use super::text::{Change, PartWriter};

/// The version of Unicode that normalization forms have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnicodeVersion {
    /// Unicode 9, as tokenizers up to 0.23 has it.
    #[default]
    V9,
    /// Unicode 17, as tokenizers 1.0.0rc3 has it.
    V17,
}

/// Unicode normalization forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnicodeForm {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

impl UnicodeForm {
    /// Whether the form certainly leaves a text as it is, in every version.
    ///
    /// What newer tables leave as it is, older ones leave, too: characters that they do not know have no
    /// decomposition and no class.
    pub(super) fn keeps(self, text: &str) -> bool {
        // The form changes none of these, and nothing across them.
        let is_ideograph = |c: &char| matches!(c, '\u{3400}'..='\u{9FFF}');
        let others = text.chars().filter(|c| !is_ideograph(c));
        let quick = match self {
            Self::Nfc => is_nfc_quick(others),
            Self::Nfd => is_nfd_quick(others),
            Self::Nfkc => is_nfkc_quick(others),
            Self::Nfkd => is_nfkd_quick(others),
        };
        quick == IsNormalized::Yes
    }

    pub(super) fn apply(self, part: &mut PartWriter<'_>, version: UnicodeVersion) {
        let text = part.part().text;
        if !part.tracks() && self.keeps(text) {
            return part.keep();
        }
        let change = |(c, shift)| Change::new(c, shift);
        match (version, self) {
            (UnicodeVersion::V17, _) => part.change(self.changes_of_17(text), 0),
            (UnicodeVersion::V9, Self::Nfc) => {
                part.change(Unicode9::nfc(text.chars()).map(change), 0)
            }
            (UnicodeVersion::V9, Self::Nfd) => {
                part.change(Unicode9::nfd(text.chars()).map(change), 0)
            }
            (UnicodeVersion::V9, Self::Nfkc) => {
                part.change(Unicode9::nfkc(text.chars()).map(change), 0)
            }
            (UnicodeVersion::V9, Self::Nfkd) => {
                part.change(Unicode9::nfkd(text.chars()).map(change), 0)
            }
        }
    }

    fn changes_of_17(self, text: &str) -> Vec<Change> {
        let mut changes = Vec::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let mut inner = rest.char_indices().skip(1);
            let end = inner.find(|(_, c)| self.begins_division(*c));
            let (division, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
            let begin = changes.len();
            let add = |c| changes.push(Change::new(c, 0));
            match self {
                Self::Nfc => Unicode17::nfc(division).for_each(add),
                Self::Nfd => Unicode17::nfd(division).for_each(add),
                Self::Nfkc => Unicode17::nfkc(division).for_each(add),
                Self::Nfkd => Unicode17::nfkd(division).for_each(add),
            }
            let (old, new) = (division.chars().count(), changes.len() - begin);
            let inserted = changes.iter_mut().rev().take(new.saturating_sub(old));
            inserted.for_each(|change| change.shift = 1);
            if let Some(last) = changes.last_mut().filter(|_| new < old) {
                last.shift = -(old - new).cast_signed();
            }
            rest = after;
        }
        changes
    }

    /// Whether what stands before a character has no influence on what becomes of it, nor it on that.
    fn begins_division(self, c: char) -> bool {
        let is_kept = |quick| quick == IsNormalized::Yes;
        let mut first = None;
        let take = |c| first = first.or(Some(c));
        match self {
            Self::Nfc if !is_kept(is_nfc_quick(std::iter::once(c))) => return false,
            Self::Nfkc if !is_kept(is_nfkc_quick(std::iter::once(c))) => return false,
            // A character that stays where it is can decompose to some that do not.
            Self::Nfc | Self::Nfd => decompose_canonical(c, take),
            Self::Nfkc | Self::Nfkd => decompose_compatible(c, take),
        }
        first.is_some_and(|first| canonical_combining_class(first) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each character before and after a mark, between others with which it may be composed.
    #[test]
    fn what_a_form_keeps_is_that_form_in_both_versions() {
        let forms = [
            UnicodeForm::Nfc,
            UnicodeForm::Nfd,
            UnicodeForm::Nfkc,
            UnicodeForm::Nfkd,
        ];
        for c in '\0'..=char::MAX {
            let texts = [
                format!("\u{4E00}{c}"),
                format!("{c}\u{4E00}\u{301}"),
                format!("e{c}\u{323}"),
                format!("\u{1100}{c}"),
            ];
            for (text, form) in texts.iter().flat_map(|text| forms.map(|form| (text, form))) {
                if !form.keeps(text) {
                    continue;
                }
                let old: String = match form {
                    UnicodeForm::Nfc => Unicode9::nfc(text.chars()).map(|(c, _)| c).collect(),
                    UnicodeForm::Nfd => Unicode9::nfd(text.chars()).map(|(c, _)| c).collect(),
                    UnicodeForm::Nfkc => Unicode9::nfkc(text.chars()).map(|(c, _)| c).collect(),
                    UnicodeForm::Nfkd => Unicode9::nfkd(text.chars()).map(|(c, _)| c).collect(),
                };
                assert_eq!(old, *text, "{form:?}");
                let new = form.changes_of_17(text);
                assert!(
                    new.iter().map(|change| change.c).eq(text.chars()),
                    "{form:?} {text:?}"
                );
            }
        }
    }

    /// Every assigned character between others with which it may become another one.
    #[test]
    fn divisions_give_the_form_of_the_whole_text() {
        let text: String = ('\0'..=char::MAX)
            .flat_map(|c| ['e', c, '\u{301}', c, '\u{1100}', '\u{1161}', '\u{323}'])
            .collect();
        for form in [
            UnicodeForm::Nfc,
            UnicodeForm::Nfd,
            UnicodeForm::Nfkc,
            UnicodeForm::Nfkd,
        ] {
            let divided = form.changes_of_17(&text);
            let divided = divided.iter().map(|change| change.c);
            let is_equal = match form {
                UnicodeForm::Nfc => divided.eq(Unicode17::nfc(&*text)),
                UnicodeForm::Nfd => divided.eq(Unicode17::nfd(&*text)),
                UnicodeForm::Nfkc => divided.eq(Unicode17::nfkc(&*text)),
                UnicodeForm::Nfkd => divided.eq(Unicode17::nfkd(&*text)),
            };
            assert!(is_equal, "{form:?}");
        }
    }
}
