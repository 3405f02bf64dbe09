//! Character classes, and which classes are adjacent in some piece.
//!
//! | module | job |
//! |---|---|
//! | [`char_table`] | character -> class, symbol, hash |
//! | [`class_bigrams`] | whether two classes are adjacent in some piece |
//! | [`ascii`] | the same for ASCII bytes, eight at a time |
//!
//! Input: the pieces of a model, then text. Output: the positions at which the text may be split
//! into chunks (see [`bigrams`](crate::encode::bigrams)), and the symbols of its characters.

pub(super) mod ascii;
pub(super) mod char_table;
pub(super) mod class_bigrams;
