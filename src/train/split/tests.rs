use proptest::prelude::*;

use super::parts::BoundarySplitter;
use super::*;

impl SplitRules {
    /// The definition of a valid piece, over the whole text.
    pub(crate) fn is_valid_piece(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let last = chars.len() - 1;
        let all_marks = chars.iter().all(|c| *c == WHITESPACE_MARK);
        let mut script_before = None;
        for (at, &c) in chars.iter().enumerate() {
            if is_breaking(c) || (self.lone_digits && is_digit(c) && last > 0) {
                return false;
            }
            if c == WHITESPACE_MARK {
                let misplaced = match (self.whitespace_is_suffix, self.whitespace_splits) {
                    (false, true) => at > 0,
                    (false, false) => at > 0 && at == last,
                    (true, true) => at < last,
                    (true, false) => at < last && at == 0,
                };
                if misplaced && !(self.whitespace_runs && all_marks) {
                    return false;
                }
                continue;
            }
            let script = match script_of(c) {
                _ if is_digit(c) && !self.digits_have_script => None,
                _ if c == '\u{30fc}' => Some(Script::HAN),
                Script::HIRAGANA | Script::KATAKANA => Some(Script::HAN),
                Script::INHERITED => script_before,
                script => Some(script),
            };
            if self.one_script
                && script.is_some()
                && script_before.is_some()
                && script != script_before
            {
                return false;
            }
            script_before = script;
        }
        let words = text.split(WHITESPACE_MARK).filter(|word| !word.is_empty());
        let has_end = self.superwords && text.contains(":\u{2581}");
        chars.len() <= self.max_length as usize
            && words.count() <= usize::from(self.max_words)
            && !has_end
    }
}

fn any_rules() -> impl Strategy<Value = SplitRules> {
    let max_words = prop_oneof![Just(u16::MAX), 1..4u16];
    let rules = (2u32..9, any::<[bool; 6]>(), max_words);
    rules.prop_map(|(max_length, flags, max_words)| SplitRules {
        of_bytes: false,
        max_length,
        one_script: flags[0],
        digits_have_script: flags[1],
        lone_digits: flags[2],
        whitespace_splits: flags[3],
        whitespace_is_suffix: flags[4],
        whitespace_runs: flags[5],
        max_words,
        superwords: max_words < u16::MAX,
    })
}

/// Characters of several scripts and all the special kinds.
fn any_text(lengths: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let alphabet: Vec<char> =
        "ab:\u{431}1\u{ff12}\u{2581}\u{301}\u{3042}\u{30a2}\u{30fc}\u{4e00},\u{1f}"
            .chars()
            .collect();
    proptest::collection::vec(proptest::sample::select(alphabet), lengths)
        .prop_map(String::from_iter)
}

proptest! {
    /// The parts of marks and ASCII are those of the text.
    #[test]
    fn ascii_text_is_split_as_other_text(rules in any_rules(), marks in 0usize..4, ascii in "[ -~\t\x00]{0,12}") {
        let text = format!("{}{ascii}", "\u{2581}".repeat(marks));
        let mut splitter = BoundarySplitter::new(rules);
        let mut found = Vec::new();
        splitter.split_ascii(marks, ascii.as_bytes(), |part| found.push(text[part].to_owned()));
        let mut expected = Vec::new();
        splitter.split(&text, |part| expected.push(part.to_owned()));
        prop_assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn shapes_join_exactly_if_the_text_is_a_valid_piece(rules in any_rules(), text in any_text(2..9), left_length in 1usize..8) {
        let chars: Vec<char> = text.chars().collect();
        let left_length = left_length.min(chars.len() - 1);
        let shape_of_part = |part: &[char]| {
            let mut shape = rules.shape_of(part[0])?;
            for c in &part[1..] {
                shape = rules.join(&shape, &rules.shape_of(*c)?)?;
            }
            Some(shape)
        };
        if let (Some(left), Some(right)) = (shape_of_part(&chars[..left_length]), shape_of_part(&chars[left_length..])) {
            prop_assert_eq!(rules.join(&left, &right).is_some(), rules.is_valid_piece(&text));
            prop_assert!(!(rules.is_boundary_between(&left, &right) && rules.is_valid_piece(&text)));
        }
    }

    #[test]
    fn no_valid_piece_crosses_a_boundary(rules in any_rules(), text in any_text(0..13)) {
        let mut parts = Vec::new();
        BoundarySplitter::new(rules).split(&text, |part| parts.push(part));
        prop_assert_eq!(parts.concat(), text.clone());
        let mut boundaries: Vec<usize> = Vec::new();
        let mut end = 0;
        for part in parts {
            end += part.len();
            boundaries.push(end);
        }
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for (i, &from) in ends.iter().enumerate() {
            for &to in &ends[i + 1..] {
                let piece = &text[from..to];
                if piece.chars().count() > 1 && rules.is_valid_piece(piece) {
                    prop_assert!(!boundaries.iter().any(|at| from < *at && *at < to), "{piece:?} crosses a boundary");
                }
            }
        }
    }
}

/// The worked example of the module page.
#[test]
fn the_documented_boundaries_are_found() {
    let mut parts = Vec::new();
    let mut splitter = BoundarySplitter::new(SplitRules::new(&TrainOptions::default()));
    splitter.split("\u{2581}in\u{2581}2024,W\u{f6}rter", |part| {
        parts.push(part)
    });
    let expected = ["\u{2581}in", "\u{2581}2024,", "W\u{f6}rter"];
    assert_eq!(parts, expected);
}
