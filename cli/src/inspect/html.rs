//! The report of `spiece inspect` and `spiece compare` as one HTML file.
//!
//! The page shows the report of one model, or of two models with their comparison, and tokenizes
//! what is typed, without a network. The same input gives the same bytes.
//!
//! `page.html` has the sections, `page.css` and `parts.css` the style, and the scripts fill
//! the sections from one JSON document ([`data`]) that holds the report, the pieces and the rules
//! of the normalizer. The scripts encode as the library does, with the same arithmetic;
//! `tests/browser/html_report.py` compares their ids with those of `spiece encode`.
//!
//! Texts of models and files are untrusted. They occur in the JSON, which cannot end its element
//! (see [`escape`]), and in the title, which is escaped; the scripts insert them as text nodes
//! only. The policy of the page allows exactly its own style and script, by their hashes, and no
//! request.
//!
//! Cost: linear in the pieces. A model of 32,000 pieces gives 0.6 MB, and 0.9 MB with the rules
//! `nmt_nfkc`: 0.5 MB texts and scores, 0.3 MB rules, 0.07 MB style and scripts.
//!
//! Example: the piece `</script>` is `"\u003c/script\u003e"` in the JSON, and the text `</script>`
//! on the page.

mod data;
mod escape;
#[cfg(test)]
mod tests;

use serde::Serialize;

use self::data::ModelData;
use self::escape::{escape_markup, escape_script_json};
use super::report::InspectReport;
use crate::io::CliResult;

/// The page with markers `{{name}}` for what differs.
const TEMPLATE: &str = include_str!("html/page.html");
/// The style: colours, layout and panel; then tokens and tables.
const STYLE: &str = concat!(
    include_str!("html/page.css"),
    include_str!("html/parts.css")
);
/// The scripts in the order of their dependencies. They share one scope.
const SCRIPTS: [&str; 14] = [
    include_str!("html/bytes.js"),
    include_str!("html/trie.js"),
    include_str!("html/charsmap.js"),
    include_str!("html/normalizer.js"),
    include_str!("html/model.js"),
    include_str!("html/bpe.js"),
    include_str!("html/unigram.js"),
    include_str!("html/encoder.js"),
    include_str!("html/visible.js"),
    include_str!("html/details.js"),
    include_str!("html/tokens.js"),
    include_str!("html/tables.js"),
    include_str!("html/report.js"),
    include_str!("html/main.js"),
];

/// The hashes of the style and of the scripts in the policy of the page. A test compares them with
/// the files and prints the new ones after a change.
const STYLE_HASH: &str = "sha256-21a8qBJJRLodJ/7I4hbjQrdHbeZaFzSDPQj84YKsPR4=";
const SCRIPT_HASH: &str = "sha256-GGxifkLufmFMgs36Rr/wd1e19RCX6ETBi9MdAY3/Wpo=";

/// The report on one model.
pub(super) fn render(report: &InspectReport<'_>) -> CliResult<Vec<u8>> {
    let name = report.visible_name();
    let title = format!("{name} - spiece inspect");
    write_page(&title, &[report], &())
}

/// The report on two models and their comparison.
pub(crate) fn render_comparison(
    reports: [&InspectReport<'_>; 2],
    comparison: &impl Serialize,
) -> CliResult<Vec<u8>> {
    let names = reports.map(InspectReport::visible_name);
    let title = format!("{} - spiece compare", names.join(" and "));
    write_page(&title, &reports, comparison)
}

/// The page with its style, scripts and data.
fn write_page(
    title: &str,
    reports: &[&InspectReport<'_>],
    comparison: &impl Serialize,
) -> CliResult<Vec<u8>> {
    let title = escape_markup(title);
    let policy = policy();
    let data = data(reports, comparison)?;
    let script = script();
    let values = [
        ("policy", policy.as_str()),
        ("title", title.as_str()),
        ("style", STYLE),
        ("data", data.as_str()),
        ("script", script.as_str()),
    ];
    Ok(fill(TEMPLATE, &values).into_bytes())
}

/// The document for the scripts.
#[derive(Serialize)]
struct PageData<'r, C> {
    models: Vec<ModelData<'r>>,
    comparison: &'r C,
}

/// The document for the scripts, as the content of a script element.
fn data(reports: &[&InspectReport<'_>], comparison: &impl Serialize) -> CliResult<String> {
    let models = reports.iter().map(|report| ModelData::new(report));
    let document = PageData {
        models: models.collect::<CliResult<_>>()?,
        comparison,
    };
    // Neither writing to memory nor a value of these types fails.
    let json = serde_json::to_string(&document).unwrap_or_default();
    Ok(escape_script_json(&json))
}

/// All scripts as one, in a scope of its own.
fn script() -> String {
    format!(
        "(function () {{\n'use strict';\n{}}})();\n",
        SCRIPTS.concat()
    )
}

/// The content security policy: nothing but the own style and script, and no requests.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src '{STYLE_HASH}'; script-src '{SCRIPT_HASH}'; img-src data:; base-uri 'none'; \
         form-action 'none'"
    )
}

/// The template with the values of its markers. What is inserted is not searched for markers. A
/// marker without a value stays; a test makes sure that the template has none.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let value = values.iter().find_map(|value| marker_value(after, *value));
        let (value, after) = value.unwrap_or(("{{", after));
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The value and what is after its marker, if the text begins with the end of the marker:
/// `name}}`.
fn marker_value<'t>(text: &'t str, (name, value): (&str, &'t str)) -> Option<(&'t str, &'t str)> {
    let after = text.strip_prefix(name)?.strip_prefix("}}")?;
    Some((value, after))
}
