//! Makes tables.
//!
//! - `character_classes.rs`: the classes of characters that patterns of byte-level tokenizers name,
//!   for `src/pattern/classes.rs`, from the tables of `regex-syntax`.
//! - `bert_classes.rs`: the same for `src/pipeline/classes.rs`.
//! - `assigned_in_unicode_9.rs` (`formats`): the characters that Unicode 9.0 had assigned, as an
//!   array of ranges, from the age table of `regex-syntax`. That crate thus is no part of the
//!   library.
//! - `decompositions.txt` (`train`): the compatibility decompositions of Unicode 17 in the form
//!   that `table` in `src/normalize/rules/builtin/decompose.rs` reads, 50 kB instead of the 200 kB
//!   of tables of `unicode-normalization`.
//! - the types of feature `proto` from the schema in `proto/`, without a `protoc` program.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    let tables = [
        ("character_classes.rs", classes::table(&classes::PATTERNS)?),
        ("bert_classes.rs", classes::table(&classes::BERT)?),
    ];
    for (name, table) in tables {
        std::fs::write(folder.join(name), table)?;
    }
    #[cfg(feature = "formats")]
    std::fs::write(
        folder.join("assigned_in_unicode_9.rs"),
        tables::assigned_in_unicode_9()?,
    )?;
    #[cfg(feature = "train")]
    {
        std::fs::write(folder.join("decompositions.txt"), tables::decompositions())?;
    }
    #[cfg(feature = "proto")]
    {
        println!("cargo::rerun-if-changed=proto");
        let descriptors = protox::compile(["proto/sentencepiece_model.proto"], ["proto"])?;
        prost_build::compile_fds(descriptors)?;
    }
    Ok(())
}

mod classes {
    use regex_syntax::hir::{Class, HirKind};

    /// The bits of a class in `src/pattern/classes.rs`, with the expression of their characters.
    /// Characters that Unicode 16 had not assigned have no class, whichever version `regex-syntax`
    /// knows.
    pub const PATTERNS: [(u8, &str); 8] = [
        (1, r"[[\p{Lu}\p{Lt}]&&\p{age:16.0}]"),
        (2, r"[\p{Ll}&&\p{age:16.0}]"),
        (4, r"[[\p{Lm}\p{Lo}]&&\p{age:16.0}]"),
        (8, r"[\p{M}&&\p{age:16.0}]"),
        (16, r"[\p{N}&&\p{age:16.0}]"),
        (32, r"[\s&&\p{age:16.0}]"),
        (64, r"[[\p{P}\p{S}]&&\p{age:16.0}]"),
        (128, r"[\p{Han}&&\p{age:16.0}]"),
    ];

    /// The same for `src/pipeline/classes.rs`, which says which versions of Unicode these are. Since
    /// Unicode 8, U+1885, U+1886, U+A9BD and U+111C9 have become nonspacing marks, U+1734 and U+1171E
    /// have ceased to be, and U+166D and U+111C9 have ceased to be punctuation.
    pub const BERT: [(u8, &str); 5] = [
        (1, r"[[[\p{Cc}\p{Cf}\p{Co}]&&\p{age:8.0}--\t\n\r]\x{FFFD}]"),
        (
            2,
            r"[[\p{Mn}&&\p{age:8.0}--\x{1885}\x{1886}\x{A9BD}\x{111C9}]\x{1734}\x{1171E}]",
        ),
        (4, r"[[\p{P}&&\p{age:8.0}]\x{166D}\x{111C9}!-/:-@\[-`{-~]"),
        (8, r"\s"),
        (
            16,
            r"[\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{2F800}-\x{2FA1F}]",
        ),
    ];

    /// Constants of Rust: for each page of 128 characters the number of its block, and the blocks of
    /// 128 classes.
    pub fn table(bits: &[(u8, &str)]) -> Result<String, Box<dyn std::error::Error>> {
        let mut classes = vec![0_u8; 0x11_0000];
        for (bit, expression) in bits {
            let pattern = regex_syntax::parse(expression)?;
            let HirKind::Class(Class::Unicode(class)) = pattern.kind() else {
                return Err(format!("{expression} is no class of characters").into());
            };
            for range in class.iter() {
                for c in range.start()..=range.end() {
                    classes[c as usize] |= bit;
                }
            }
        }
        let mut blocks: Vec<&[u8]> = Vec::new();
        let mut pages = Vec::new();
        for page in classes.chunks(128) {
            let block = blocks.iter().position(|block| *block == page);
            pages.push(block.unwrap_or(blocks.len()));
            if block.is_none() {
                blocks.push(page);
            }
        }
        Ok(format!(
            "static PAGES: [u8; {}] = {pages:?};\nstatic CLASSES: [u8; {}] = {:?};\n",
            pages.len(),
            blocks.len() * 128,
            blocks.concat()
        ))
    }
}

#[cfg(feature = "formats")]
mod tables {
    use regex_syntax::hir::{Class, HirKind};
    #[cfg(feature = "train")]
    use unicode_normalization::UnicodeNormalization as _;

    /// A constant of Rust: ranges of characters, ascending.
    pub fn assigned_in_unicode_9() -> Result<String, Box<dyn std::error::Error>> {
        let pattern = regex_syntax::parse(r"\p{age:9.0}")?;
        let HirKind::Class(Class::Unicode(class)) = pattern.kind() else {
            return Err("the age pattern of regex-syntax is no class of characters".into());
        };
        let ranges: Vec<_> = class
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect();
        Ok(format!(
            "const ASSIGNED: [(char, char); {}] = {ranges:?};",
            ranges.len()
        ))
    }

    /// For each character that decomposes, except the syllables of Hangul: its distance from the
    /// one before, its decomposition, and then U+0001 if it is its own composition, U+0000 if it
    /// has the decomposition as its composition, or else U+0002, the composition and U+0000.
    #[cfg(feature = "train")]
    pub fn decompositions() -> String {
        let mut table = String::new();
        let mut before = 0;
        for c in ('\u{1}'..=char::MAX).filter(|c| !('\u{AC00}'..='\u{D7A3}').contains(c)) {
            let decomposed: String = std::iter::once(c).nfkd().collect();
            let composed: String = std::iter::once(c).nfkc().collect();
            if decomposed.chars().eq([c]) {
                continue;
            }
            table.extend(char::from_u32(u32::from(c) - before));
            before = c.into();
            table += &decomposed;
            match composed {
                composed if composed.chars().eq([c]) => table.push('\u{1}'),
                composed if composed == decomposed => table.push('\0'),
                composed => table.extend(["\u{2}", &composed, "\0"]),
            }
        }
        table
    }
}
