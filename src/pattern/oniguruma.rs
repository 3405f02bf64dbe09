//! Expressions that mean the same to Oniguruma and to the crate `regex`.
//!
//! Few constructs of usual expressions mean something else to the other (`general`). For Oniguruma
//! they are replaced. What comes out is taken only if both engines make the same automaton of the
//! two expressions; so the replacements need no proof.
//!
//! | construct | for Oniguruma |
//! |---|---|
//! | `$`, `^` | `\z`, `\A` |
//! | `{1,3}+` | `{1,3}`: possessive quantifiers that differ from greedy ones are refused when a pattern is made |
//! | `\w`, `\W` | classes with the two joiners, which `\w` does not have there |
mod expressions;

use super::known::{expression_with_gaps, expression_without_gaps};
use super::{Engine, Pattern, PatternSyntax};

impl Pattern {
    /// The pattern of a syntax that cuts every text as this one does, by the expression of published
    /// vocabularies, or by the same one if it means the same; `None` if none is known. Programs that know
    /// some expressions, such as tokenizers 1.0, know those of published vocabularies.
    pub(crate) fn for_syntax(&self, syntax: PatternSyntax) -> Option<Self> {
        if self.syntax == syntax {
            return Some(self.clone());
        }
        let replaced = match syntax {
            PatternSyntax::Oniguruma => expressions::replaced(&self.expression),
            PatternSyntax::Rust => None,
        };
        let published = match syntax {
            PatternSyntax::Oniguruma => self.published(),
            PatternSyntax::Rust => None,
        };
        let own = [&*self.expression];
        let expressions = published.into_iter().chain(own).chain(replaced.as_deref());
        let mut patterns = expressions.filter_map(|it| Self::with_syntax(it, syntax).ok());
        patterns.find(|pattern| self.cuts_like(pattern))
    }

    /// Whether every character is certainly part of a match.
    pub(crate) fn is_total(&self) -> bool {
        if let Engine::Scanner(scanner) = &self.engine {
            return scanner.is_total();
        }
        self.without_gaps().is_some() || expressions::is_total(self)
    }

    /// The pattern for tiktoken that matches what this one does, and the texts between; `None` if
    /// there is none.
    pub(crate) fn with_gaps(&self) -> Option<Self> {
        let syntax = PatternSyntax::Rust;
        let matches = self.for_syntax(syntax)?;
        Self::with_syntax(&expression_with_gaps(matches.expression()), syntax).ok()
    }

    /// The pattern of which this is the one [with gaps](Self::with_gaps).
    pub(crate) fn without_gaps(&self) -> Option<Self> {
        let is_machine = matches!(self.engine, Engine::Machine(_));
        let inner = expression_without_gaps(&self.expression).filter(|_| is_machine)?;
        Self::with_syntax(inner, self.syntax).ok()
    }

    /// Whether both certainly cut every text in the same way.
    fn cuts_like(&self, other: &Self) -> bool {
        match (&self.engine, &other.engine) {
            (Engine::Scanner(ours), Engine::Scanner(theirs)) => ours == theirs,
            _ => expressions::are_equal([self, other]),
        }
    }
}
