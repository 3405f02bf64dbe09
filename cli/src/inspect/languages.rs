//! What languages cost with a model, relative to English.
//!
//! The Universal Declaration of Human Rights has the same content in all of 28 languages, so the
//! token counts can be compared. The texts (0.5 MB) are part of the program. Nothing in them
//! separates the languages, so a table has the number of lines of each language.
//!
//! Example: with the model of Llama 2 German takes 1.4 times as many tokens as English, Greek 5.4
//! times.
//!
//! Without byte fallback, a language whose characters are no pieces has few tokens, since all of a
//! word is one unknown token. The share of unknown tokens is therefore part of the cost.

use super::report::{LanguageCost, TextCosts, share};
use spiece::Tokenizer;
use spiece::inspect::TextCounter;

/// A text in several languages, one after the other.
struct DeclarationFile {
    text: &'static str,
    languages: &'static [DeclarationLanguage],
}

/// A language and the number of lines of its text.
struct DeclarationLanguage {
    tag: &'static str,
    name: &'static str,
    lines: usize,
}

/// A row of the table.
const fn language(tag: &'static str, name: &'static str, lines: usize) -> DeclarationLanguage {
    DeclarationLanguage { tag, name, lines }
}

/// All texts. English comes first.
const FILES: &[DeclarationFile] = &[
    DeclarationFile {
        text: include_str!("declaration/udhr.txt"),
        languages: &[
            language("en", "English", 92),
            language("de", "German", 91),
            language("pl", "Polish", 91),
            language("tr", "Turkish", 92),
            language("vi", "Vietnamese", 92),
            language("sw", "Swahili", 92),
            language("ru", "Russian", 91),
            language("el", "Greek", 91),
            language("he", "Hebrew", 89),
            language("ar", "Arabic", 91),
            language("fa", "Persian", 90),
            language("hi", "Hindi", 92),
            language("bn", "Bengali", 95),
            language("ta", "Tamil", 90),
            language("th", "Thai", 89),
            language("km", "Khmer", 91),
            language("ka", "Georgian", 93),
            language("hy", "Armenian", 93),
            language("ja", "Japanese", 90),
            language("zh-Hans", "Chinese (simplified)", 90),
            language("zh-Hant", "Chinese (traditional)", 91),
            language("ko", "Korean", 92),
            language("am", "Amharic", 81),
            language("chr", "Cherokee", 90),
        ],
    },
    DeclarationFile {
        text: include_str!("declaration/udhr_small.txt"),
        languages: &[
            language("fr", "French", 91),
            language("uk", "Ukrainian", 91),
            language("mr", "Marathi", 92),
        ],
    },
    DeclarationFile {
        text: include_str!("declaration/spanish.txt"),
        languages: &[language("es", "Spanish", 92)],
    },
];

/// What each language costs, in the order of the tables.
pub(super) fn language_costs(tokenizer: &Tokenizer) -> Vec<LanguageCost> {
    let mut found: Vec<LanguageCost> = Vec::new();
    for file in FILES {
        let mut lines = file.text.lines();
        for language in file.languages {
            let mut counter = TextCounter::new(tokenizer);
            for (number, line) in (1..).zip(lines.by_ref().take(language.lines)) {
                counter.add_line(number, line.as_bytes());
            }
            let costs = TextCosts::new(&counter.finish());
            let english = found
                .first()
                .map_or(costs.tokens, |first| first.costs.tokens);
            found.push(LanguageCost {
                tag: language.tag,
                name: language.name,
                relative_tokens: share(costs.tokens, english),
                costs,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use unicode_script::{Script, UnicodeScript as _};

    use super::*;

    /// The first letter of each language's text decides its script.
    const SCRIPTS: &[(&str, &str)] = &[
        ("ru", "Cyrillic"),
        ("el", "Greek"),
        ("he", "Hebrew"),
        ("ar", "Arabic"),
        ("fa", "Arabic"),
        ("hi", "Devanagari"),
        ("bn", "Bengali"),
        ("ta", "Tamil"),
        ("th", "Thai"),
        ("km", "Khmer"),
        ("ka", "Georgian"),
        ("hy", "Armenian"),
        ("ja", "Han"),
        ("zh-Hans", "Han"),
        ("zh-Hant", "Han"),
        ("ko", "Hangul"),
        ("am", "Ethiopic"),
        ("chr", "Cherokee"),
        ("uk", "Cyrillic"),
        ("mr", "Devanagari"),
    ];

    /// The package of the program has no `testdata/`, so that it has the texts once more.
    #[test]
    fn the_texts_are_those_of_the_test_data() {
        let names = ["udhr.txt", "udhr_small.txt", "comma,name.txt"];
        for (file, name) in FILES.iter().zip(names) {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/");
            let text = std::fs::read_to_string(format!("{path}{name}")).unwrap();
            assert!(file.text == text, "{name}");
        }
    }

    #[test]
    fn the_tables_cover_the_texts_and_each_text_begins_with_its_title() {
        let titles = [
            ("en", "Universal Declaration"),
            ("de", "Die Allgemeine Erklärung"),
            ("pl", "POWSZECHNA DEKLARACJA"),
            ("tr", "İnsan hakları"),
            ("vi", "Tuyên ngôn"),
            ("sw", "UMOJA WA MATAIFA"),
            ("fa", "اعلامیه جهانی"),
            ("zh-Hans", "世界人权宣言"),
            ("zh-Hant", "世界人權宣言"),
            ("fr", "Déclaration universelle"),
            ("es", "Declaración Universal"),
        ];
        let mut tags = HashSet::new();
        for file in FILES {
            let total: usize = file.languages.iter().map(|language| language.lines).sum();
            assert_eq!(file.text.lines().count(), total);
            let mut lines = file.text.lines();
            for language in file.languages {
                let first = lines.next().unwrap();
                if let Some((_, title)) = titles.iter().find(|(tag, _)| *tag == language.tag) {
                    assert!(first.starts_with(title), "{}: {first}", language.tag);
                }
                let script = SCRIPTS.iter().find(|(tag, _)| *tag == language.tag);
                let name = script.map_or("Latin", |(_, name)| name);
                let mut scripts = first.chars().map(|c| c.script());
                let script = scripts.find(|script| *script != Script::Common).unwrap();
                assert_eq!(script.full_name(), name, "{}: {first}", language.tag);
                assert!(tags.insert(language.tag));
                lines.by_ref().take(language.lines - 1).for_each(drop);
            }
        }
        assert_eq!(tags.len(), 28);
    }
}
