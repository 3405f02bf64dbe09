//! FNV-1a, a 64-bit hash of bytes that is the same on all platforms and in all releases
//! (<http://www.isthe.com/chongo/tech/comp/fnv/>).
//!
//! It recognizes what is known and tells what differs. Equal hashes by accident are out of question;
//! by intention they are easy to make, so nothing is trusted because of a hash.

/// The hash of bytes.
pub(crate) fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    #[test]
    fn hashes_are_those_of_the_page_of_fnv() {
        assert_eq!(fnv1a(*b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a(*b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a(*b"foobar"), 0x8594_4171_F739_67E8);
    }
}
