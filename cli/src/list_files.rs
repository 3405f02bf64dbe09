//! Files that list symbols, one a line: `--control_symbols_file` and its like.
//!
//! Every line is a text, as in `spm_train`: there are no comments, because a symbol can begin with
//! any character. The last line may lack its line feed.

use std::collections::HashMap;

use super::io::{self, CliError, CliResult};

/// The symbols of a file.
///
/// # Errors
/// A line that no program accepts as a symbol: malformed UTF-8, an empty line, or one that occurs
/// twice.
pub(crate) fn symbols(path: &str) -> CliResult<Vec<String>> {
    let symbols = lines(path)?;
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (line, symbol) in (1..).zip(&symbols) {
        if symbol.is_empty() {
            let problem = "is empty; remove it (each line is a symbol, without comments)";
            return Err(in_line(path, line, problem));
        }
        if let Some(first) = seen.insert(symbol, line) {
            let problem = format!("is {symbol:?}, as line {first} is; remove one of them");
            return Err(in_line(path, line, &problem));
        }
    }
    Ok(symbols)
}

/// The symbols of a file, none of which ends with a carriage return or begins with a byte order
/// mark, which editors add without showing them.
///
/// # Errors
/// As [`symbols`], or an invisible character.
pub(crate) fn visible_symbols(path: &str) -> CliResult<Vec<String>> {
    let symbols = symbols(path)?;
    match invisible_character(path, &symbols) {
        Some(problem) => Err(CliError::Error(problem)),
        None => Ok(symbols),
    }
}

/// Says which line of a file has an invisible character, which becomes a part of the symbol.
pub(crate) fn invisible_character(path: &str, symbols: &[String]) -> Option<String> {
    let problem = |(line, symbol): (usize, &String)| {
        let character = if line == 1 && symbol.starts_with('\u{feff}') {
            "begins with a byte order mark (U+FEFF)"
        } else if symbol.ends_with('\r') {
            "ends with a carriage return (U+000D)"
        } else {
            return None;
        };
        Some(format!(
            "{path}: line {line} {character}, which would be a part of the symbol; save the file as UTF-8 without a byte \
             order mark, and with line feeds alone"
        ))
    };
    (1..).zip(symbols).find_map(problem)
}

/// The lines of a text file; an empty file has none.
///
/// # Errors
/// The file cannot be read, or a line is not UTF-8.
pub(crate) fn lines(path: &str) -> CliResult<Vec<String>> {
    let bytes = io::read_file(path)?;
    let text = str::from_utf8(&bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        in_line(path, line, "is not UTF-8; convert the file to UTF-8")
    })?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.split('\n').map(str::to_owned).collect())
}

/// The error for a line of a file.
pub(crate) fn in_line(path: &str, line: usize, problem: &str) -> CliError {
    CliError::Error(format!("{path}: line {line} {problem}"))
}
