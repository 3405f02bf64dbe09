//! One 32-bit unit of a double array and its bit fields.
//!
//! | bits | of an inner unit | of a value unit |
//! |---|---|---|
//! | 31 | 0 | 1 |
//! | 30-10 | distance from the cell to its base (xor) | value (bits 30-0) |
//! | 9 | the distance is shifted left by eight bits | |
//! | 8 | a key ends here; its value is in cell `base ^ 0` | |
//! | 7-0 | the byte by which the cell is reached | |

use crate::base::num::low_u8;

/// The cell holds a value.
pub(super) const VALUE_FLAG: u32 = 1 << 31;
/// A key ends in the state; its value is in the child cell with label 0.
pub(super) const LEAF_FLAG: u32 = 1 << 8;
/// The distance is stored divided by 256.
pub(super) const FAR_FLAG: u32 = 1 << 9;
/// The byte by which the cell is reached.
pub(super) const LABEL_MASK: u32 = 0xFF;

/// The unit in a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayUnit(u32);

impl ArrayUnit {
    /// The unit with these bits.
    #[inline]
    pub(super) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(super) fn is_value(self) -> bool {
        self.0 & VALUE_FLAG != 0
    }

    pub(super) fn value(self) -> usize {
        (self.0 & !VALUE_FLAG) as usize
    }

    pub(super) fn has_leaf(self) -> bool {
        self.0 & LEAF_FLAG != 0
    }

    /// The byte by which the cell is reached, if the unit is not a value.
    pub(super) fn label(self) -> u8 {
        low_u8(u64::from(self.0))
    }

    /// Whether the cell is the child by `label`.
    #[inline]
    pub(crate) fn is_reached_by(self, label: u8) -> bool {
        self.0 & (VALUE_FLAG | LABEL_MASK) == u32::from(label)
    }

    /// Distance from the cell to its base.
    #[inline]
    pub(crate) fn offset(self) -> usize {
        ((self.0 >> 10) << ((self.0 & FAR_FLAG) >> 6)) as usize
    }
}
