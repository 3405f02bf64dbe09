//! Which characters stand next to each other in some piece.

use crate::encode::bloom_filter::BloomFilter;

/// Classes below this number have their neighbours in a plain square of bits.
const SQUARE: u32 = 256;

/// Which characters stand next to each other in some piece. The answer may be yes where it is no, if one of
/// the classes is high: a bit is shared by several pairs. That only joins chunks which could be apart.
#[derive(Debug)]
pub(super) struct Neighbours {
    square: Box<[u64; (SQUARE * SQUARE / 64) as usize]>,
    /// For each class, a bit for each ASCII character that may follow.
    ascii_after: Vec<[u64; 2]>,
    /// Pairs of classes that are not in the square.
    far: BloomFilter,
}

/// Neighbours that are still being gathered.
#[derive(Debug)]
pub(super) struct Draft {
    square: Box<[u64; (SQUARE * SQUARE / 64) as usize]>,
    ascii_after: Vec<[u64; 2]>,
    /// Pairs of classes that are not in the square.
    far: Vec<u64>,
}

impl Draft {
    /// No neighbours, and no class but 0.
    pub(super) fn new() -> Draft {
        Draft {
            square: Box::new([0; (SQUARE * SQUARE / 64) as usize]),
            ascii_after: vec![[0; 2]],
            far: Vec::new(),
        }
    }

    /// Makes room for one more class.
    pub(super) fn add_class(&mut self) {
        self.ascii_after.push([0; 2]);
    }

    /// Adds an ASCII character that stands behind one of class `before`, which is not 0.
    #[inline]
    pub(super) fn add_ascii(&mut self, before: u32, byte: u8) {
        self.ascii_after[before as usize][usize::from(byte / 64 % 2)] |= 1 << (byte % 64);
    }

    /// Adds another character, of class `class`, that stands behind one of class `before`; neither is 0.
    #[inline]
    pub(super) fn add(&mut self, before: u32, class: u32) {
        if (before | class) < SQUARE {
            let bit = before * SQUARE + class;
            self.square[bit as usize / 64] |= 1 << (bit % 64);
        } else {
            self.far.push(u64::from(before) << 32 | u64::from(class));
        }
    }

    /// The neighbours, ready to be asked.
    pub(super) fn finish(self) -> Neighbours {
        // Most pairs come several times; sorting them out would cost more than the room they are given.
        let mut far = BloomFilter::with_capacity(self.far.len());
        self.far.into_iter().for_each(|pair| far.insert(hash(pair)));
        Neighbours {
            square: self.square,
            ascii_after: self.ascii_after,
            far,
        }
    }
}

impl Neighbours {
    /// Whether the ASCII character `byte` may follow this class in a piece.
    #[inline]
    pub(super) fn may_touch_ascii(&self, before: u32, byte: u8) -> bool {
        self.ascii_after[before as usize][usize::from(byte / 64 % 2)] >> (byte % 64) & 1 != 0
    }

    /// Whether these classes, of which the second is not an ASCII character's, may stand next to each other in a
    /// piece; class 0 does not.
    #[inline]
    pub(super) fn may_touch(&self, before: u32, after: u32) -> bool {
        if (before | after) < SQUARE {
            let bit = before * SQUARE + after;
            return self.square[bit as usize / 64] >> (bit % 64) & 1 != 0;
        }
        if before == 0 || after == 0 {
            return false;
        }
        self.far
            .may_contain(hash(u64::from(before) << 32 | u64::from(after)))
    }
}

/// A hash of a pair of classes with random upper bits.
#[inline]
fn hash(pair: u64) -> u64 {
    pair.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
