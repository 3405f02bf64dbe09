//! Slots in 2 or 4 bytes.
//!
//! A buffer begins with slots of 2 bytes, if the initial symbols fit, and is widened when the first
//! symbol or length that does not fit is made. By then most slots of a large corpus are gone; see
//! [`WordBuffer::compact`](super::WordBuffer::compact).
//!
//! | slot | in 4 bytes | in 2 bytes |
//! |---|---|---|
//! | a symbol | below 2^31 | below 2^15 |
//! | inside a symbol, with its length in the last one | 2^31 + length | 2^15 + length |
//! | a character that is not a symbol yet | 3 * 2^30 + code point | none |
//! | the mark before a word | `u32::MAX` | `u16::MAX` |

use crate::train::bpe::symbols::Symbol;

/// One slot.
pub(crate) trait WordSlot: Copy + Eq + Ord + Default + Send + Sync {
    /// A slot inside a symbol. Slots below this are symbols.
    const INSIDE: Self;
    /// Slots from here on are not part of a symbol.
    const INACTIVE: Self;
    const WORD_START: Self;

    /// The slot in 4 bytes.
    fn wide(self) -> u32;

    /// The symbol that the slot begins, if it begins one.
    #[inline]
    fn symbol(self) -> Option<Symbol> {
        (self < Self::INSIDE).then(|| Symbol(self.wide()))
    }

    /// Whether the slot is inside a symbol.
    #[inline]
    fn is_inside(self) -> bool {
        (Self::INSIDE..Self::INACTIVE).contains(&self)
    }
}

impl WordSlot for u32 {
    const INSIDE: Self = 1 << 31;
    const INACTIVE: Self = 0b11 << 30;
    const WORD_START: Self = Self::MAX;

    #[inline]
    fn wide(self) -> u32 {
        self
    }
}

impl WordSlot for u16 {
    const INSIDE: Self = 1 << 15;
    const INACTIVE: Self = Self::MAX;
    const WORD_START: Self = Self::MAX;

    #[inline]
    fn wide(self) -> u32 {
        match self {
            Self::WORD_START => u32::WORD_START,
            _ if self.is_inside() => u32::INSIDE | u32::from(self - Self::INSIDE),
            _ => u32::from(self),
        }
    }
}

/// A slot of 4 bytes in 2 bytes, if it fits.
pub(super) fn narrow(slot: u32) -> Option<u16> {
    let (first, value) = match slot {
        u32::WORD_START => return Some(u16::WORD_START),
        _ if slot.is_inside() => (u16::INSIDE, slot - u32::INSIDE),
        _ => (0, slot),
    };
    let value = u16::try_from(value)
        .ok()
        .filter(|value| *value < u16::INSIDE)?;
    Some(first + value).filter(|slot| *slot < u16::INACTIVE)
}

/// Slots of one width.
#[derive(Debug, Default)]
pub(super) struct SlotArray {
    /// The slots, unless they have 4 bytes.
    pub(super) narrow: Vec<u16>,
    pub(super) wide: Option<Vec<u32>>,
}

impl From<Vec<u16>> for SlotArray {
    fn from(narrow: Vec<u16>) -> Self {
        Self { narrow, wide: None }
    }
}

impl From<Vec<u32>> for SlotArray {
    fn from(wide: Vec<u32>) -> Self {
        Self {
            narrow: Vec::new(),
            wide: Some(wide),
        }
    }
}

impl SlotArray {
    /// The slots in 4 bytes, which they have from now on.
    pub(super) fn widen(&mut self) -> &mut Vec<u32> {
        self.wide.get_or_insert_with(|| {
            let narrow = std::mem::take(&mut self.narrow);
            narrow.into_iter().map(WordSlot::wide).collect()
        })
    }
}

/// Evaluates an expression with a reference to the vector of slots, whatever its width; `mut` for a
/// mutable one.
macro_rules! with_slots {
    ($slots:expr, $vector:ident => $value:expr) => {
        match &$slots.wide {
            Some($vector) => $value,
            None => {
                let $vector = &$slots.narrow;
                $value
            }
        }
    };
    (mut $slots:expr, $vector:ident => $value:expr) => {
        match &mut $slots.wide {
            Some($vector) => $value,
            None => {
                let $vector = &mut $slots.narrow;
                $value
            }
        }
    };
}
pub(super) use with_slots;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_2_bytes_stand_for_those_of_4_bytes_that_fit() {
        let inside = u32::INSIDE;
        for (wide, expected) in [
            (0, Some(0)),
            (0x7fff, Some(0x7fff)),
            (0x8000, None),
            (u32::INSIDE - 1, None),
            (inside, Some(0x8000)),
            (inside + 0x7ffe, Some(0xfffe)),
            (inside + 0x7fff, None),
            (u32::INACTIVE - 1, None),
            (u32::INACTIVE, None),
            (u32::INACTIVE + 0x6771, None),
            (u32::WORD_START, Some(u16::MAX)),
        ] {
            assert_eq!(narrow(wide), expected, "{wide:#x}");
            if let Some(slot) = expected {
                assert_eq!(slot.wide(), wide, "{slot:#x}");
                assert_eq!(slot.symbol(), wide.symbol(), "{slot:#x}");
                assert_eq!(slot.is_inside(), wide.is_inside(), "{slot:#x}");
            }
        }
    }
}
