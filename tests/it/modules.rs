//! The modules of the library depend on each other in one direction: a module that uses another one
//! is never used by it, directly or through others.
//!
//! The test reads the sources as text: every path that begins with `crate::` names a module, or an
//! item that `lib.rs` exports from one. Comments and tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules that each module uses, with a file that does.
type Graph = BTreeMap<String, BTreeMap<String, PathBuf>>;

/// The code of a file, without comments and without the tests at its end.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let tests = text
        .find("\n#[cfg(test)]\nmod ")
        .or_else(|| text.find("\n#[cfg(all(test"));
    let code = &text[..tests.unwrap_or(text.len())];
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// The identifier that a text begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The first names of the paths in a text: one, or those in braces, as in `{a::b, c::{d, e}}`.
fn first_names(text: &str) -> Vec<&str> {
    let Some(list) = text.strip_prefix('{') else {
        return vec![identifier(text)];
    };
    let (mut depth, mut begins, mut names) = (0, true, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if c.is_whitespace() => {}
            _ if begins && depth == 0 => {
                names.push(identifier(&list[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

/// The modules that export the items of the root.
fn exports(library: &str) -> BTreeMap<&str, &str> {
    let statements = library.split("pub use ").skip(1);
    let paths = statements.filter_map(|statement| statement.split(';').next());
    let items = paths.flat_map(|path| {
        let (module, list) = (identifier(path), path.rsplit("::").next().unwrap());
        let list = path.find('{').map_or(list, |brace| &path[brace..]);
        let names = list.split(|c: char| !c.is_alphanumeric() && c != '_');
        names.map(move |name| (name, module))
    });
    items.filter(|(name, _)| !name.is_empty()).collect()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn module_graph() -> Graph {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let library = code(&source.join("lib.rs"));
    let exports = exports(&library);
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let mut graph = Graph::new();
    for path in files {
        let inside = path.strip_prefix(&source).unwrap().with_extension("");
        let mut parts = inside.iter().map(|part| part.to_str().unwrap());
        let module = parts.next().unwrap();
        if module == "lib" || parts.any(|part| part == "tests" || part == "testing") {
            continue;
        }
        let uses = graph.entry(module.to_owned()).or_default();
        for after in code(&path).split("crate::").skip(1) {
            for name in first_names(after) {
                let used = exports.get(name).copied().unwrap_or(name);
                if used != module && source.join(used).with_extension("rs").exists() {
                    uses.entry(used.to_owned()).or_insert_with(|| path.clone());
                }
            }
        }
    }
    graph
}

/// The modules that a module uses, directly or through others.
fn reachable<'g>(graph: &'g Graph, module: &'g str) -> BTreeSet<&'g str> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![module]);
    while let Some(module) = waiting.pop() {
        let used = graph.get(module).into_iter().flat_map(BTreeMap::keys);
        waiting.extend(
            used.filter(|used| found.insert(used.as_str()))
                .map(String::as_str),
        );
    }
    found
}

#[test]
fn no_module_is_used_by_a_module_that_it_uses() {
    let graph = module_graph();
    assert!(graph.len() > 12, "the sources were not found: {graph:?}");
    let mut circular = Vec::new();
    for (module, uses) in &graph {
        for (used, path) in uses {
            if reachable(&graph, used).contains(module.as_str()) {
                circular.push(format!("{module} uses {used} in {}", path.display()));
            }
        }
    }
    assert!(circular.is_empty(), "{}", circular.join("\n"));
}

#[test]
fn the_names_at_the_head_of_a_path_are_found() {
    for (text, expected) in [
        ("model::Model;", &["model"][..]),
        (
            "{Model, text::{a, b}, trie::c};",
            &["Model", "text", "trie"],
        ),
        ("{\n    a::b,\n    C,\n}", &["a", "C"]),
    ] {
        assert_eq!(first_names(text), expected, "{text}");
    }
}

/// Messages of the library are read where there is no program, too: they name no flag and no verb of it.
#[test]
fn messages_of_the_library_name_no_flags_of_the_program() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    files.retain(|file| !file.ends_with("tests.rs"));
    let mut named = Vec::new();
    for file in files {
        // Texts for the maintainer, who runs cargo.
        let code = code(&file).replace("cargo test --lib write_precompiled -- --ignored", "");
        let is_named = |line: &&str| {
            let flag = line.match_indices("--").any(|(at, _)| {
                let before = line[..at].chars().last();
                let after = line[at + 2..].chars().next();
                matches!(before, Some(' ' | '(' | '`' | '"'))
                    && after.is_some_and(|c| c.is_ascii_lowercase())
            });
            flag || line.contains("`spiece ")
        };
        named.extend(
            code.lines()
                .filter(is_named)
                .map(|line| format!("{}: {line}", file.display())),
        );
    }
    assert!(named.is_empty(), "{}", named.join("\n"));
}
