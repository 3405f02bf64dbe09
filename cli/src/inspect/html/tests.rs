//! The HTML report: what is escaped, the hashes of the policy, sizes, and equal bytes for equal
//! input.

use sha2::{Digest as _, Sha256};

use super::*;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use spiece::{Model, ModelType, PieceKind, Tokenizer};

/// The page of a model whose file has this name.
fn page_of(tokenizer: &Tokenizer, name: &str) -> String {
    let report = InspectReport::new(name.to_owned(), tokenizer).unwrap();
    String::from_utf8(render(&report).unwrap()).unwrap()
}

/// A unigram model with these normal pieces.
fn tokenizer_of<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> Tokenizer {
    let mut builder = Model::builder();
    builder
        .model_type(ModelType::Unigram)
        .piece("<unk>", 0.0, PieceKind::Unknown);
    for (number, text) in (1_u16..).zip(texts) {
        builder.piece(text, -f32::from(number) / 7.0, PieceKind::Normal);
    }
    Tokenizer::new(builder.build().unwrap())
}

/// The content of the data element.
fn data_of(page: &str) -> &str {
    let start = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(start).unwrap();
    rest.split_once("</script>").unwrap().0
}

/// The hash of a source in a policy. The parser of HTML turns CR LF into LF before it hashes.
fn hash_of(source: &str) -> String {
    let digest = Sha256::digest(source.replace("\r\n", "\n"));
    format!("sha256-{}", BASE64_STANDARD.encode(digest))
}

#[test]
fn the_policy_allows_the_style_and_the_script() {
    let hint = "a file of the page has changed; set STYLE_HASH or SCRIPT_HASH to the left value";
    assert_eq!(hash_of(STYLE), STYLE_HASH, "{hint}");
    assert_eq!(hash_of(&script()), SCRIPT_HASH, "{hint}");
}

#[test]
fn the_sources_cannot_end_their_elements() {
    let script = script();
    for end in ["</script", "<script", "<!--"] {
        assert!(!script.to_lowercase().contains(end), "{end}");
    }
    assert!(!STYLE.to_lowercase().contains("</style"));
    let markers = ["policy", "title", "style", "data", "script"];
    let without = markers.map(|name| (name, ""));
    assert!(!fill(TEMPLATE, &without).contains("{{"));
}

#[test]
fn inserted_values_are_not_searched_for_markers() {
    let values = [("title", "{{data}}"), ("data", "x")];
    assert_eq!(
        fill("a {{title}} {{data}} {{other}} {{", &values),
        "a {{data}} x {{other}} {{"
    );
}

#[test]
fn hostile_pieces_and_names_stay_text() {
    let texts: [&[u8]; 9] = [
        b"</script><script>alert(1)</script>",
        b"<!--",
        b"]]>",
        b"&lt;img src=x onerror=alert(1)>",
        "\u{202e}abc\u{2066}".as_bytes(),
        "\u{2028}\u{2029}".as_bytes(),
        b"\xff\xfe",
        b"\x1b[2J\r\n",
        b"{{title}}",
    ];
    let tokenizer = tokenizer_of(texts);
    let page = page_of(
        &tokenizer,
        "</title><script>alert(2)</script>\u{202e}\u{1b}",
    );
    let own = page_of(&tokenizer_of([&b"a"[..]]), "a.model");
    for tag in ["<script", "</script", "<!--", "<title", "</title", "<img"] {
        let count = |page: &str| page.to_lowercase().matches(tag).count();
        assert_eq!(count(&page), count(&own), "{tag}");
    }
    let data = data_of(&page);
    assert!(!data.contains(['<', '>', '&']));
    assert!(!page.contains(|c: char| c.is_control() && c != '\n'));
    assert!(!page.contains(['\u{202e}', '\u{2028}', '\u{2029}', '\u{2066}']));
    assert!(data.contains("\"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"));
    assert!(data.contains(",[255,254],"));
    assert!(data.contains("\"{{title}}\""));
    assert!(
        page.contains("<title>&lt;/title&gt;&lt;script&gt;alert(2)&lt;/script&gt;\\u{202e}\\u{1b}")
    );
}

#[test]
fn a_model_of_32_000_pieces_with_the_largest_rules_gives_less_than_2_mb() {
    let texts: Vec<String> = (0..32_000)
        .map(|number| format!("▁piece{number}"))
        .collect();
    let tokenizer = tokenizer_of(texts.iter().map(|text| text.as_bytes()));
    // The model has no rules; those of nmt_nfkc_cf, the largest built-in set, have 247,164 bytes.
    let rules = BASE64_STANDARD.encode([0; 247_164]).len();
    let size = page_of(&tokenizer, "large.model").len() + rules;
    assert!(size < 2_000_000, "{size}");
}

#[test]
fn equal_input_gives_equal_pages() {
    let open = || Tokenizer::open("../testdata/golden/spm_default.model").unwrap();
    let first = page_of(&open(), "a.model");
    assert!(first == page_of(&open(), "a.model"));
    assert!(first.len() < 1_000_000, "{}", first.len());
    assert!(first.starts_with("<!doctype html>"));
}
