//! The commands in the documents are ones that the program takes. Each runs in an empty folder, where it fails
//! because its files are missing (exit status 1), and not because of its verb or its flags (exit status 2).

use std::path::Path;
use std::process::Stdio;

use crate::support::program;

/// The commands of the blocks of a page, a line each: of blocks for a shell all lines, of others those after `$ `.
fn command_lines(page: &str) -> Vec<String> {
    let (mut lines, mut block) = (Vec::new(), None);
    for line in page.replace("\\\n", " ").lines() {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(language), None) => block = Some(language == "sh"),
            (None, Some(true)) => lines.push(line.to_owned()),
            (None, Some(false)) => lines.extend(line.strip_prefix("$ ").map(str::to_owned)),
            (None, None) => {}
        }
    }
    lines
}

/// The words of the commands of a line, without comments and redirections.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut is_redirected = false;
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '|' | '&' | ';' | '<' | '>') => {
                if let Some(word) = word.take() {
                    let command: &mut Vec<String> = commands.last_mut().unwrap();
                    if !is_redirected {
                        command.push(word);
                    }
                    is_redirected = false;
                }
                match c {
                    '|' | '&' | ';' => commands.push(Vec::new()),
                    '<' | '>' => is_redirected = true,
                    _ => {}
                }
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    commands
}

#[test]
fn each_command_in_the_documents_has_a_verb_and_flags_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let guides = std::fs::read_dir(root.join("docs")).unwrap();
    let mut pages: Vec<_> = guides
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    pages.push(root.join("README.md"));
    let (mut refused, mut count) = (Vec::new(), 0);
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in command_lines(&text) {
            for command in commands(&line) {
                let Some((name, arguments)) = command.split_first() else {
                    continue;
                };
                if name.rsplit('/').next() != Some("spiece") {
                    continue;
                }
                count += 1;
                let folder = tempfile::tempdir().unwrap();
                let mut program = program();
                program
                    .args(arguments)
                    .current_dir(folder.path())
                    .stdin(Stdio::null());
                let output = program.output().unwrap();
                if output.status.code() == Some(2) {
                    let message = String::from_utf8_lossy(&output.stderr);
                    refused.push(format!("{}: {line}\n{message}", page.display()));
                }
            }
        }
    }
    assert!(count > 50, "{count} commands were found");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn commands_are_found_in_blocks_of_a_page() {
    let page = "spiece no\n```sh\nspiece a --b='c d' \\\n  e > f | spiece g # h\n```\n```text\n$ x && y<z\nno\n```\n";
    let found: Vec<_> = command_lines(page)
        .iter()
        .flat_map(|line| commands(line))
        .collect();
    let expected: [&[&str]; 5] = [
        &["spiece", "a", "--b=c d", "e"],
        &["spiece", "g"],
        &["x"],
        &[],
        &["y"],
    ];
    assert_eq!(found, expected);
}
