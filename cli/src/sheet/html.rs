//! Sheets as one page of HTML: tables and bars, without scripts and requests.
//!
//! Texts of models and files are untrusted. All of them are escaped, and the policy of the page
//! allows no script and no request. The same report gives the same bytes.

use std::fmt::Write as _;

use super::{ListItem, Part, Sheet};

const STYLE: &str = include_str!("page.css");
/// What a page without scripts cannot do.
const NOTE: &str =
    "The playground of spiece, a page in its folder wasm/playground, shows the tokens of any text.";

/// The page of these sheets, each with a heading unless it is empty.
pub(crate) fn page(title: &str, sheets: &[(&str, Sheet)]) -> Vec<u8> {
    let title = escaped(title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{NOTE}</p>\n"
    );
    for (heading, sheet) in sheets {
        if !heading.is_empty() {
            let _ = writeln!(out, "<h2>{}</h2>", escaped(heading));
        }
        push_sheet(sheet, &mut out);
    }
    out.push_str("</body>\n</html>\n");
    out.into_bytes()
}

fn push_sheet(sheet: &Sheet, out: &mut String) {
    let is_row = |part: &Part| !matches!(part, Part::List { .. });
    for parts in sheet.parts.chunk_by(|a, b| is_row(a) && is_row(b)) {
        match parts {
            [Part::List { heading, items }] => push_list(heading, items, out),
            rows => {
                out.push_str("<table>\n");
                rows.iter().for_each(|row| push_row(row, out));
                out.push_str("</table>\n");
            }
        }
    }
}

fn push_row(row: &Part, out: &mut String) {
    // Writing to memory does not fail.
    let _ = match row {
        Part::Row { name, value } => writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td><bdi>{}</bdi></td></tr>",
            escaped(name),
            escaped(value)
        ),
        Part::Counts { name, counts, .. } => {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{name}</th><td><table class=\"counts\">"
            );
            let largest = counts.iter().map(|(_, count)| *count as f64);
            let largest = largest.fold(0.0, f64::max);
            for (name, count) in counts {
                let _ = write!(
                    out,
                    "<tr><th scope=\"row\"><bdi>{}</bdi></th><td class=\"number\">{count}</td><td>{}</td></tr>",
                    escaped(name),
                    bar(*count as f64, largest)
                );
            }
            writeln!(out, "</table></td></tr>")
        }
        Part::List { .. } => Ok(()),
    };
}

fn push_list(heading: &str, items: &[ListItem], out: &mut String) {
    let _ = writeln!(out, "<h3>{}</h3>", escaped(heading));
    if items.is_empty() {
        return;
    }
    let largest = items.iter().filter_map(|item| item.size);
    let largest = largest.fold(0.0, f64::max);
    out.push_str("<ul>\n");
    for ListItem { text, size } in items {
        let bar = size.map(|size| bar(size, largest)).unwrap_or_default();
        let _ = writeln!(out, "<li><bdi>{}</bdi>{bar}</li>", escaped(text));
    }
    out.push_str("</ul>\n");
}

/// A bar whose length is a share of the largest value.
fn bar(value: f64, largest: f64) -> String {
    let percent = match largest > 0.0 {
        true => 100.0 * value / largest,
        false => 0.0,
    };
    format!("<span class=\"bar\"><span style=\"width:{percent:.1}%\"></span></span>")
}

/// A text for the content of an element. What a terminal would not show is escaped already.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_texts_stay_text() {
        let hostile = "</title><script>alert(1)</script><!--\"'&lt;";
        let mut sheet = Sheet::default();
        sheet.row(hostile, hostile);
        sheet.counts("kinds", [(hostile.to_owned(), 3)].into_iter(), 1);
        sheet.list(hostile, [hostile.to_owned()].into_iter());
        sheet.measured_list(hostile, [(hostile.to_owned(), f64::NAN)].into_iter());
        let page = String::from_utf8(page(hostile, &[(hostile, sheet)])).unwrap();
        let own = String::from_utf8(super::page("", &[("a", Sheet::default())])).unwrap();
        for tag in ["<script", "<!--", "<title", "</title", "<img"] {
            let count = |page: &str| page.matches(tag).count();
            assert_eq!(count(&page), count(&own), "{tag}");
        }
        let written =
            "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!--&quot;&#39;&amp;lt;";
        assert_eq!(page.matches(written).count(), 10);
    }

    #[test]
    fn rows_are_tables_counts_have_bars_and_lists_are_lists() {
        let mut sheet = Sheet::default();
        sheet.row("pieces", "4");
        let counts = [("a", 1), ("b", 4)].map(|(name, count)| (name.to_owned(), count));
        sheet.counts("kinds", counts.into_iter(), 1);
        sheet.measured_list(
            "lengths",
            [("x".to_owned(), 2.0), ("y".to_owned(), 1.0)].into_iter(),
        );
        sheet.heading("nothing");
        assert_eq!(
            String::from_utf8(sheet.to_text()).unwrap(),
            "pieces               4\nkinds                a 1, 1 more\n\nlengths\n  x\n  y\n\nnothing\n"
        );
        let mut out = String::new();
        push_sheet(&sheet, &mut out);
        let widths: Vec<&str> = out
            .split("width:")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once('%')?.0))
            .collect();
        assert_eq!(widths, ["25.0", "100.0", "100.0", "50.0"]);
        assert_eq!(out.matches("<li>").count(), 2);
        assert_eq!(out.matches("<h3>").count(), 2);
    }
}
