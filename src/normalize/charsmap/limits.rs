//! The limits of charsmaps, for compiling and applying them.

/// The reference considers at most this many matches at one position of a text, and refuses to
/// compile rules that could have as many.
pub(super) const MAX_MATCHES: usize = 32;

/// The longest source in bytes. The trie of a damaged file may contain cycles; a lookup therefore
/// never follows more bytes, and rules with longer sources are not compiled.
pub(super) const MAX_SOURCE_BYTES: usize = 1000;
