//! The documents say what there is: each relative link leads to a file and a heading, each path below a folder
//! of the repository to a file, and each path and type that the pages for maintainers name is in the sources.
//! The library has the blocks of Rust among its tests.
//!
//! The tests read Markdown as text. A link is `[text](target)` outside of code. A name is the content of a
//! code span: `encode/bpe.rs` and `train/words` are paths, whose first folders may be left out; `Tokenizer`
//! and `Tokenizer::open` are types with what belongs to them. Blocks of code are not looked at.
//!
//! ```text
//! docs/design/MAP.md:17: `train/wrods` is no file or folder
//! ```

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The folders with documents and sources, besides the root itself.
const FOLDERS: [&str; 14] = [
    ".ci", ".github", "benches", "cli", "docs", "examples", "findings", "fuzz", "proto", "python",
    "src", "testdata", "tests", "wasm",
];

/// The pages for maintainers, whose names of types and of all files are compared with the sources.
const FOR_MAINTAINERS: [&str; 2] = ["CONTRIBUTING.md", "docs/design/"];

/// What the pages for maintainers name of other programs.
const FOREIGN: [&str; 1] = ["AutoTokenizer"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether this is the package of the library, which has neither the other crates nor their documents.
fn is_package() -> bool {
    root().join("Cargo.toml.orig").exists()
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // What programs put beside the sources: environments, caches, builds.
        let is_made = name.starts_with('.')
            || matches!(&*name, "target" | "node_modules" | "__pycache__" | "dist");
        if path.is_dir() && !is_made {
            add_files(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}

/// The files of the repository, by their paths from the root with `/`.
fn files() -> Vec<String> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.is_file());
    for folder in FOLDERS {
        add_files(&root().join(folder), &mut files);
    }
    let from_root = |path: PathBuf| {
        let path = path.strip_prefix(root()).unwrap().to_path_buf();
        path.iter()
            .map(|name| name.to_string_lossy())
            .collect::<Vec<_>>()
            .join("/")
    };
    files.into_iter().map(from_root).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text with blocks of code made empty, so that the numbers of lines stay.
fn without_blocks(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let marks = &line[..line.len() - line.trim_start().trim_start_matches('`').len()];
        let marks = marks.trim_start();
        match fence {
            None if marks.len() >= 3 => fence = Some(marks),
            None => {
                lines.push(line);
                continue;
            }
            Some(open) if marks.len() >= open.len() && line.trim() == marks => fence = None,
            Some(_) => {}
        }
        lines.push("");
    }
    lines.join("\n")
}

/// The code spans of a text without blocks of code, each with the line at which it begins.
fn code_spans(text: &str) -> Vec<(usize, &str)> {
    let mut spans = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(start) = text[at..].find('`') {
        let start = at + start;
        line += text[at..start].matches('\n').count();
        let length = text[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        let content = start + length;
        let marks = &text[start..content];
        // A paragraph is the farthest that a span reaches.
        let paragraph = text[content..]
            .find("\n\n")
            .map_or(text.len(), |end| content + end);
        let Some(end) = text[content..paragraph].find(marks) else {
            at = content;
            continue;
        };
        spans.push((line, &text[content..content + end]));
        line += text[start..content + end].matches('\n').count();
        at = content + end + length;
    }
    spans
}

/// The targets of the links of a text without blocks of code, each with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut plain = text.to_owned();
    for (_, span) in code_spans(text) {
        let at = span.as_ptr() as usize - text.as_ptr() as usize;
        let blank: String = span
            .chars()
            .map(|c| {
                if c == '\n' {
                    "\n".into()
                } else {
                    "x".repeat(c.len_utf8())
                }
            })
            .collect();
        plain.replace_range(at..at + span.len(), &blank);
    }
    let starts = plain.match_indices("](").map(|(at, _)| at);
    starts
        .filter_map(|at| {
            let target = &plain[at + 2..];
            let target = &target[..target.find(')')?];
            Some((plain[..at].matches('\n').count() + 1, target.to_owned()))
        })
        .collect()
}

/// The anchors of the headings of a page, as GitHub and docs.rs make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let text = without_blocks(text);
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().to_lowercase();
        let kept = kept
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone())
            .chain(numbered)
            .find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

/// A path relative to the folder of a page, from the root.
fn resolve(page: &str, target: &str) -> String {
    let path = Path::new(page).parent().unwrap().join(target);
    let mut names: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(names.pop()),
            Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    names.join("/")
}

fn pages(files: &[String]) -> impl Iterator<Item = &String> {
    files.iter().filter(|path| path.ends_with(".md"))
}

#[test]
fn each_relative_link_of_a_document_leads_to_a_file_and_a_heading() {
    if is_package() {
        return;
    }
    let files = files();
    let mut broken = Vec::new();
    let mut found = 0;
    for page in pages(&files) {
        let text = read(page);
        for (line, target) in links(&without_blocks(&text)) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            found += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = match path {
                "" => page.clone(),
                path => resolve(page, path),
            };
            if !root().join(&path).exists() {
                broken.push(format!("{page}:{line}: {target}: there is no {path}"));
            } else if !anchor.is_empty() && !anchors(&read(&path)).contains(anchor) {
                broken.push(format!(
                    "{page}:{line}: {target}: {path} has no such heading"
                ));
            }
        }
    }
    assert!(found > 100, "the documents were not found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The paths of documents in a text, such as in a comment or a message.
fn named_documents(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("docs/").filter_map(|(at, _)| {
        let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.');
        let is_whole = !text[..at].chars().next_back().is_some_and(is_path);
        let length = text[at..].find(|c| !is_path(c)).unwrap_or(text.len() - at);
        let path = &text[at..at + length];
        let end = path.find(".md")? + 3;
        is_whole.then_some((text[..at].matches('\n').count() + 1, &path[..end]))
    })
}

#[test]
fn each_document_that_a_file_names_exists() {
    if is_package() {
        return;
    }
    let files = files();
    let ends = [".rs", ".py", ".sh", ".js", ".toml", ".md"];
    let texts = files.iter().filter(|path| {
        ends.iter().any(|end| path.ends_with(end))
            || path.starts_with(".ci/")
            || path.starts_with("benches/")
    });
    let mut missing = Vec::new();
    for path in
        texts.filter(|path| !path.starts_with("testdata/") && *path != "tests/it/documents.rs")
    {
        for (line, document) in named_documents(&read(path)) {
            if !root().join(document).exists() {
                missing.push(format!("{path}:{line}: there is no {document}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// What sources define, and what files there are.
struct Sources {
    files: Vec<String>,
    /// Types, variants, functions and fields, of Rust and of Python, and single words in quotes: names of
    /// components in the files of other programs.
    names: BTreeSet<String>,
}

/// The identifier that a text begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

fn add_names(code: &str, names: &mut BTreeSet<String>) {
    const KEYWORDS: [&str; 9] = [
        "struct ", "enum ", "trait ", "type ", "class ", "fn ", "def ", "const ", "mod ",
    ];
    for line in code
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with("//"))
    {
        for keyword in KEYWORDS {
            for (at, _) in line.match_indices(keyword) {
                names.insert(identifier(&line[at + keyword.len()..]).to_owned());
            }
        }
        // A variant or a field at the start of its line.
        let member = line.strip_prefix("pub ").unwrap_or(line);
        let member = member.strip_prefix("pub(crate) ").unwrap_or(member);
        let name = identifier(member);
        if member[name.len()..]
            .trim_start()
            .starts_with([',', '(', '{', ':', '='])
            || member == name
        {
            names.insert(name.to_owned());
        }
        let quoted = line.split('"').skip(1).step_by(2);
        names.extend(
            quoted
                .filter(|text| identifier(text) == *text)
                .map(str::to_owned),
        );
    }
}

impl Sources {
    fn read() -> Self {
        let files = files();
        let mut names = BTreeSet::new();
        for path in &files {
            let is_code =
                path.ends_with(".rs") || path.ends_with(".py") || path.starts_with(".ci/");
            if is_code && path != "tests/it/documents.rs" {
                add_names(&read(path), &mut names);
            }
        }
        Self { files, names }
    }

    /// Whether a file or folder has this path, of which the first folders and the end `.rs` may be left out.
    fn has_path(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.iter().any(|file| {
            let inside = format!("/{file}");
            let is_end = |at: usize| {
                let rest = &inside[at + 1 + path.len()..];
                rest.is_empty() || rest == ".rs" || rest.starts_with('/')
            };
            inside
                .match_indices(&format!("/{path}"))
                .any(|(at, _)| is_end(at))
        })
    }

    /// What is wrong with the content of a code span.
    fn problem(&self, span: &str) -> Option<String> {
        let is_path = |c: char| {
            c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '{' | '}' | ',')
        };
        let is_file = [".rs", ".py", ".sh", ".md", ".toml"]
            .iter()
            .any(|end| span.ends_with(end) && span.len() > end.len());
        if span.chars().all(is_path) && (is_file || span.trim_end_matches('/').contains('/')) {
            // In `testdata/hostile/TARGET/` a word in capitals stands for any name.
            let is_any = |name: &str| {
                let stem = name.split('.').next().unwrap_or(name);
                !name.ends_with(".md")
                    && stem.len() > 1
                    && stem.chars().all(|c| c.is_ascii_uppercase())
            };
            // Folders that builds make, and paths of the system.
            let is_ours = !span.starts_with(['/', '.', '-']) && !span.starts_with("target/")
                || span.starts_with(".ci/");
            let is_ours = is_ours && !span.split('/').any(is_any);
            let missing = expand(span)
                .into_iter()
                .find(|path| is_ours && !self.has_path(path));
            return missing.map(|path| format!("`{path}` is no file or folder"));
        }
        let first = identifier(span);
        let is_type = first.starts_with(|c: char| c.is_ascii_uppercase())
            && first.contains(|c: char| c.is_ascii_lowercase())
            && !FOREIGN.contains(&first);
        let rest = &span[first.len()..];
        // A sentence, a path of a type, or something else that is no name.
        if !is_type || !(rest.is_empty() || rest.starts_with("::") || rest.starts_with('<')) {
            return None;
        }
        let member = rest.strip_prefix("::").map(identifier);
        let names = [Some(first), member.filter(|name| !name.is_empty())];
        let missing = names
            .into_iter()
            .flatten()
            .find(|name| !self.names.contains(*name));
        missing.map(|name| format!("`{name}` is defined in no source file"))
    }
}

/// The paths of `a/{b,c}`.
fn expand(path: &str) -> Vec<String> {
    match path
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        Some((before, (names, after))) => names
            .split(',')
            .map(|name| format!("{before}{name}{after}"))
            .collect(),
        None => vec![path.to_owned()],
    }
}

#[test]
fn each_file_and_type_that_a_page_names_exists() {
    if is_package() {
        return;
    }
    let sources = Sources::read();
    let (mut problems, mut found) = (Vec::new(), 0);
    // The paths of SentencePiece's repository begin with `src/`, too.
    for page in pages(&sources.files).filter(|page| !page.starts_with("docs/reference/")) {
        let is_for_maintainers = FOR_MAINTAINERS.iter().any(|start| page.starts_with(start));
        let is_ours = |span: &str| {
            span.split_once('/')
                .is_some_and(|(folder, _)| FOLDERS.contains(&folder))
        };
        for (line, span) in code_spans(&without_blocks(&read(page))) {
            if is_for_maintainers || is_ours(span) {
                found += 1;
                let problem = sources.problem(span);
                problems.extend(problem.map(|problem| format!("{page}:{line}: {problem}")));
            }
        }
    }
    assert!(found > 500, "the pages were not found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn each_guide_and_each_finding_stands_in_the_page_that_lists_them() {
    if is_package() {
        return;
    }
    let mut missing = Vec::new();
    for (list, folder, end) in [
        ("docs/README.md", "docs/", ".md"),
        ("docs/design/README.md", "docs/design/", ".md"),
        ("docs/reference/README.md", "docs/reference/", ".md"),
        ("findings/README.md", "findings/", ".sh"),
    ] {
        let text = read(list);
        for file in files() {
            let name = file.strip_prefix(folder).filter(|name| !name.contains('/'));
            let is_listed = |name: &str| {
                let forms = [
                    format!("[{name}]("),
                    format!("]({name}#"),
                    format!("`{name}`"),
                ];
                forms.iter().any(|form| text.contains(form))
            };
            let is_missing =
                |name: &&str| name.ends_with(end) && *name != "README.md" && !is_listed(name);
            missing.extend(
                name.filter(is_missing)
                    .map(|name| format!("{list}: {name} is not listed")),
            );
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn each_page_with_rust_is_among_the_tests_of_documentation() {
    if is_package() {
        return;
    }
    let library = read("src/lib.rs");
    let files = files();
    for page in pages(&files).filter(|page| page.starts_with("docs/")) {
        let is_included = library.contains(&format!("include_str!(\"../{page}\")"));
        assert_eq!(read(page).contains("\n```rust"), is_included, "{page}");
    }
}

#[test]
fn a_page_of_the_design_and_of_the_reference_has_fewer_than_400_lines() {
    if is_package() {
        return;
    }
    let files = files();
    let is_bounded =
        |page: &&String| page.starts_with("docs/design/") || page.starts_with("docs/reference/");
    for page in pages(&files).filter(is_bounded) {
        let lines = read(page).lines().count();
        assert!(
            lines < 400,
            "{page} has {lines} lines: divide it by subject"
        );
    }
}

#[test]
fn links_headings_and_code_spans_are_found_in_markdown() {
    let text = "# A `b` c: d\n\n[x](y.md#z) `[no](link)` ``a ` b``\n```text\n[no](block)\n# no\n```\n## A b c d\n[two\nlines](e)";
    let plain = without_blocks(text);
    let found: Vec<_> = links(&plain);
    assert_eq!(found, [(3, "y.md#z".to_owned()), (10, "e".to_owned())]);
    assert_eq!(
        code_spans(&plain),
        [(1, "b"), (3, "[no](link)"), (3, "a ` b")]
    );
    assert_eq!(
        anchors(text),
        BTreeSet::from(["a-b-c-d".to_owned(), "a-b-c-d-1".to_owned()])
    );
    assert_eq!(
        resolve("docs/design/MAP.md", "../../src/lib.rs"),
        "src/lib.rs"
    );
}

#[test]
fn files_and_types_that_do_not_exist_are_found_in_code_spans() {
    let mut names = BTreeSet::new();
    add_names(
        "pub struct Word<'a> {\n    pub(crate) count: u64,\n}\nenum Kind {\n    Short(u8),\n    \"Split\"\n}\nfn of()",
        &mut names,
    );
    let sources = Sources {
        files: ["src/train/words.rs", "src/train/words/chunks.rs"]
            .map(str::to_owned)
            .into(),
        names,
    };
    for span in [
        "train/words",
        "src/train/words.rs",
        "words/{chunks,chunks}",
        "chunks.rs",
        "train/",
        "Word",
        "Word<'a>",
        "Word::of",
        "Word::count",
        "Kind::Short",
        "Split",
        "a b/c",
        "Other text",
        "--flag",
        "UTF",
        ".rs",
        "/tmp/a",
        "target/release/spiece",
        "train/NAME.rs",
    ] {
        assert_eq!(sources.problem(span), None, "{span}");
    }
    for (span, name) in [
        ("train/wrods", "train/wrods"),
        ("words/{chunks,chunk}", "words/chunk"),
        ("word.rs", "word.rs"),
        ("Words", "Words"),
        ("Word::by", "by"),
        ("Kinds::Short", "Kinds"),
        ("ain/words", "ain/words"),
    ] {
        let problem = sources.problem(span);
        assert!(
            problem
                .as_ref()
                .is_some_and(|problem| problem.starts_with(&format!("`{name}`"))),
            "{span}: {problem:?}"
        );
    }
}
