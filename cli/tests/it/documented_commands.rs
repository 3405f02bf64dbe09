//! The commands in the documents are ones that the program takes. Each runs in an empty folder, where it fails
//! because its files are missing (exit status 1), and not because of its verb or its flags (exit status 2). The
//! commands of docs/BYTES.md run as they stand there, and print what stands below them.

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

/// The commands after `$ ` in the blocks of a page, each with the lines below it.
#[cfg(unix)]
fn transcripts(page: &str) -> Vec<(&str, Vec<&str>)> {
    let (mut transcripts, mut is_block) = (Vec::<(&str, Vec<&str>)>::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            is_block = line == "```text";
            continue;
        }
        match line.strip_prefix("$ ") {
            Some(command) if is_block => transcripts.push((command, Vec::new())),
            _ if is_block => {
                if let Some((_, output)) = transcripts.last_mut() {
                    output.push(line);
                }
            }
            _ => {}
        }
    }
    transcripts
}

#[cfg(unix)]
#[test]
fn each_command_of_the_page_on_byte_level_bpe_prints_what_stands_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/BYTES.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_spiece")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let transcripts = transcripts(&page);
    assert!(transcripts.len() > 10, "{transcripts:?}");
    for (command, expected) in transcripts {
        // The page shows a file.
        if let Some(file) = command.strip_prefix("cat ") {
            std::fs::write(folder.path().join(file), expected.join("\n") + "\n").unwrap();
            continue;
        }
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &format!("{{ {command}; }} 2>&1")])
            .env("PATH", &path);
        let output = shell.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        // The page leaves out stages and times.
        let mut printed_lines = printed.lines();
        for line in expected {
            assert!(
                printed_lines.any(|printed| printed == line),
                "{command} does not print {line:?}, but:\n{printed}"
            );
        }
    }
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
