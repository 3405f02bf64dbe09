//! Which characters stand side by side in matches of an expression.
//!
//! If no match has `x` directly before `y`, every text can be cut between the two: the matches of the
//! parts are those of the text. The sets are no smaller than the true ones. Expressions with
//! look-around have no answer, since their matches depend on text outside.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::Pattern;
use super::general::alternatives::Alternatives;

/// What can stand in matches.
#[derive(Debug)]
pub(crate) struct Adjacency {
    /// All characters of matches.
    characters: ClassUnicode,
    /// Sets of characters of which one of the second can follow one of the first.
    pairs: Vec<(ClassUnicode, ClassUnicode)>,
}

impl Pattern {
    /// What can stand in matches; `None` if it is not known, or if the empty text can match.
    pub(crate) fn adjacency(&self) -> Option<Adjacency> {
        let alternatives = Alternatives::new(&self.wider_expression(), self.syntax).ok()?;
        if alternatives.may_be_empty() {
            return None;
        }
        let mut adjacency = Adjacency {
            characters: ClassUnicode::empty(),
            pairs: Vec::new(),
        };
        for (at, hir) in alternatives.patterns.iter().enumerate() {
            // A run of white space at the end of the text: what is before it does not matter.
            let is_run = alternatives.cut.contains(&(at + 1));
            if !is_run && !hir.properties().look_set().is_empty() {
                return None;
            }
            adjacency.add(hir)?;
        }
        Some(adjacency)
    }
}

impl Adjacency {
    /// Whether a match can contain a character.
    pub(crate) fn has(&self, c: char) -> bool {
        contains(&self.characters, c)
    }

    /// Whether a match can have `first` directly before `second`.
    pub(crate) fn has_pair(&self, first: char, second: char) -> bool {
        let mut pairs = self.pairs.iter();
        pairs.any(|(before, after)| contains(before, first) && contains(after, second))
    }

    /// Adds what an expression matches, and returns its ends.
    fn add(&mut self, hir: &Hir) -> Option<Ends> {
        Some(match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Ends::empty(),
            HirKind::Literal(literal) => {
                let mut ends = Ends::empty();
                for c in std::str::from_utf8(&literal.0).ok()?.chars() {
                    let class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
                    let next = one_of(&mut self.characters, class);
                    ends = self.join(ends, next);
                }
                ends
            }
            HirKind::Class(Class::Unicode(class)) => one_of(&mut self.characters, class.clone()),
            HirKind::Class(Class::Bytes(_)) => return None,
            HirKind::Capture(capture) => self.add(&capture.sub)?,
            HirKind::Repetition(repetition) => {
                let mut ends = self.add(&repetition.sub)?;
                if repetition.max.is_none_or(|max| max > 1) {
                    self.pairs.push((ends.last.clone(), ends.first.clone()));
                }
                ends.is_optional |= repetition.min == 0;
                ends
            }
            HirKind::Concat(parts) => {
                let mut ends = Ends::empty();
                for part in parts {
                    let next = self.add(part)?;
                    ends = self.join(ends, next);
                }
                ends
            }
            HirKind::Alternation(parts) => {
                let mut ends = Ends {
                    is_optional: false,
                    ..Ends::empty()
                };
                for part in parts {
                    let next = self.add(part)?;
                    ends.first.union(&next.first);
                    ends.last.union(&next.last);
                    ends.is_optional |= next.is_optional;
                }
                ends
            }
        })
    }

    /// The ends of one expression and another one after it.
    fn join(&mut self, mut left: Ends, mut right: Ends) -> Ends {
        self.pairs.push((left.last.clone(), right.first.clone()));
        if left.is_optional {
            left.first.union(&right.first);
        }
        if right.is_optional {
            right.last.union(&left.last);
        }
        Ends {
            first: left.first,
            last: right.last,
            is_optional: left.is_optional && right.is_optional,
        }
    }
}

/// The characters with which matches of an expression begin and end.
struct Ends {
    first: ClassUnicode,
    last: ClassUnicode,
    /// Whether it can match the empty text.
    is_optional: bool,
}

impl Ends {
    fn empty() -> Self {
        Self {
            first: ClassUnicode::empty(),
            last: ClassUnicode::empty(),
            is_optional: true,
        }
    }
}

/// The ends of a match of one character of a class, which is added to all characters.
fn one_of(characters: &mut ClassUnicode, class: ClassUnicode) -> Ends {
    characters.union(&class);
    Ends {
        first: class.clone(),
        last: class,
        is_optional: false,
    }
}

fn contains(class: &ClassUnicode, c: char) -> bool {
    class
        .iter()
        .any(|range| range.start() <= c && c <= range.end())
}
