//! The modules of the library depend on each other in one direction: a module that uses another one
//! is never used by it, directly or through others. Neither is a file, but for the modules above
//! it: `train/bpe/merge.rs` may use what `train/bpe.rs` defines.
//!
//! The test reads the sources as text. What a file uses are the paths in it, those of `use` and all
//! others, that lead to another file: to the one that defines the item, where a module only
//! re-exports it. Comments and tests do not count. Not seen are the methods of values.
//!
//! ```text
//! in train/words.rs        use super::TrainError;      // train.rs has `pub use error::TrainError;`
//! path from the root       train::TrainError
//! where that comes from    train::error::TrainError
//! the file uses            train/error
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What each module, or file, uses, and the names that it is tied by.
type Graph = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// A module or an item: the names from the root of the crate to it.
type Names = Vec<String>;

/// What a file says about others.
struct Source {
    path: PathBuf,
    /// The items that `use` brings, by the names that they have in the file; `None` for those of
    /// other crates.
    imports: BTreeMap<String, Option<Names>>,
    /// The paths of what the file uses, from the root on, as it names them.
    used: BTreeSet<Names>,
    /// Those of what it re-exports.
    re_exported: BTreeSet<Names>,
}

/// All files of a crate, by module.
type Sources = BTreeMap<Names, Source>;

/// The code of a file, without comments and without the tests at its end.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let mut code = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_for_tests = line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
        let is_module = |next: &&str| next.contains("mod ") && next.ends_with('{');
        if is_for_tests && lines.peek().is_some_and(is_module) {
            break;
        }
        let is_comment = line.trim_start().starts_with("//");
        let before_comment = line.split(" //").next().unwrap();
        code.push(if is_comment { "" } else { before_comment });
    }
    code.join("\n")
}

/// The identifier that a text begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The length of the text or character in quotes that `code` begins with.
fn quoted(code: &str) -> Option<usize> {
    if let Some(raw) = code.strip_prefix("br").or(code.strip_prefix('r')) {
        let text = raw.trim_start_matches('#').strip_prefix('"')?;
        let hashes = raw.len() - text.len() - 1;
        let end = format!("\"{}", &raw[..hashes]);
        return Some(code.len() - text.len() + text.find(&end)? + end.len());
    }
    let quote = code.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut is_escaped = false;
    let end = code.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    let length = end?.0 + 1;
    // A lifetime has one quote; the next one is that of something else.
    let is_lifetime =
        quote == '\'' && !code.starts_with("'\\") && code[..length].chars().count() != 3;
    (!is_lifetime).then_some(length)
}

/// The identifiers and marks of code. `::` is one mark; texts in quotes are left out.
fn tokens(code: &str) -> Vec<&str> {
    let (mut rest, mut tokens) = (code.trim_start(), Vec::new());
    while let Some(first) = rest.chars().next() {
        let text = quoted(rest);
        let length = text.unwrap_or(match identifier(rest).len() {
            0 if rest.starts_with("::") => 2,
            0 => first.len_utf8(),
            length => length,
        });
        if text.is_none() {
            tokens.push(&rest[..length]);
        }
        rest = rest[length..].trim_start();
    }
    tokens
}

fn is_identifier(token: &str) -> bool {
    !identifier(token).is_empty()
}

/// The paths in the tree of a `use`, each with the name that it gives to its end, as in
/// `{a::b, c::{d, e as f}}`.
fn tree_paths<'t>(tree: &[&'t str]) -> Vec<(Vec<&'t str>, &'t str)> {
    let (mut path, mut given, mut paths) = (Vec::new(), None, Vec::new());
    // The lengths of the paths before the braces that are open.
    let mut outer = vec![0];
    for (at, token) in tree.iter().copied().chain([","]).enumerate() {
        match token {
            "::" | "as" => {}
            "{" => {
                outer.push(path.len());
                given = None;
            }
            "," | "}" => {
                if let Some(given) = given.take() {
                    let path: Vec<&str> = match &path[..] {
                        // In braces: what is before them.
                        [parent @ .., "self"] if !parent.is_empty() => parent.to_vec(),
                        _ => path.clone(),
                    };
                    let end = path[path.len() - 1];
                    paths.push((path, if given == "self" { end } else { given }));
                }
                if token == "}" {
                    outer.pop();
                }
                path.truncate(outer.last().copied().unwrap_or(0));
            }
            name => {
                if at == 0 || tree[at - 1] != "as" {
                    path.push(name);
                }
                given = Some(name);
            }
        }
    }
    paths
}

/// A path in the file of `module` from the root of the crate on; `None` for other crates and for what
/// is no path to a module.
fn from_root(module: &[String], path: &[&str], modules: &BTreeSet<Names>) -> Option<Names> {
    let (base, rest) = match path {
        ["crate", rest @ ..] => (&[][..], rest),
        ["self", rest @ ..] => (module, rest),
        ["super", ..] => {
            let ups = path.iter().take_while(|name| **name == "super").count();
            (&module[..module.len().checked_sub(ups)?], &path[ups..])
        }
        [child, _, ..] if modules.contains(&[module, &[(*child).to_owned()]].concat()) => {
            (module, path)
        }
        _ => return None,
    };
    let rest = rest.iter().map(|name| (*name).to_owned());
    Some(base.iter().cloned().chain(rest).collect())
}

impl Source {
    fn read(path: PathBuf, module: &[String], modules: &BTreeSet<Names>) -> Self {
        let code = code(&path);
        let tokens = tokens(&code);
        let from_root = |path: &[&str]| from_root(module, path, modules);
        let mut source = Self {
            path,
            imports: BTreeMap::new(),
            used: BTreeSet::new(),
            re_exported: BTreeSet::new(),
        };
        let mut inline = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let before = at.checked_sub(1).map(|before| tokens[before]);
            if tokens[at] == "use" && tokens[at + 1] != "<" {
                let length = tokens[at..].iter().position(|token| *token == ";").unwrap();
                // The end of `pub(crate)`, too.
                let is_public = matches!(before, Some("pub" | ")"));
                for (path, name) in tree_paths(&tokens[at + 1..at + length]) {
                    let item = from_root(&path);
                    let found = match is_public {
                        true => &mut source.re_exported,
                        false => &mut source.used,
                    };
                    found.extend(item.clone());
                    source.imports.insert(name.to_owned(), item);
                }
                at += length;
            } else if is_identifier(tokens[at]) && before != Some("::") {
                let mut path = vec![tokens[at]];
                while let ["::", name, ..] = tokens[at + 1..]
                    && is_identifier(name)
                {
                    path.push(name);
                    at += 2;
                }
                inline.push(path);
            }
            at += 1;
        }
        for path in inline {
            let imported = source.imports.get(path[0]).cloned().flatten();
            let rest = path[1..].iter().map(|name| (*name).to_owned());
            let item = match imported {
                Some(item) => Some(item.into_iter().chain(rest).collect()),
                None => from_root(&path),
            };
            source.used.extend(item);
        }
        source
    }
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

/// The files below a folder with a crate's root, without those of tests.
fn sources(folder: &Path) -> Sources {
    let mut files = Vec::new();
    rust_files(folder, &mut files);
    let module_of = |path: &PathBuf| -> Names {
        let inside = path.strip_prefix(folder).unwrap().with_extension("");
        let names = inside.iter().map(|name| name.to_str().unwrap().to_owned());
        names.filter(|name| name != "lib").collect()
    };
    let files = files.into_iter().map(|path| (module_of(&path), path));
    let is_test = |name: &String| name == "tests" || name == "testing";
    let files: BTreeMap<Names, PathBuf> = files
        .filter(|(module, _)| !module.iter().any(is_test))
        .collect();
    let modules: BTreeSet<Names> = files.keys().cloned().collect();
    files
        .into_iter()
        .map(|(module, path)| {
            let source = Source::read(path, &module, &modules);
            (module, source)
        })
        .collect()
}

/// The module whose file defines an item, and the name that the item has there; `None` for what
/// comes from another crate.
fn definition(sources: &Sources, item: &[String]) -> Option<(Names, String)> {
    let mut item = item.to_vec();
    // Re-exports of re-exports; nobody writes ten of them.
    for _ in 0..10 {
        let is_module = |length: &usize| sources.contains_key(&item[..*length]);
        let length = (0..=item.len()).rev().find(is_module)?;
        let (module, rest) = item.split_at(length);
        let Some(name) = rest.first() else {
            return Some((module.to_vec(), item.last()?.clone()));
        };
        match sources[module].imports.get(name) {
            Some(None) => return None,
            Some(Some(target)) if *target != item => {
                item = [&target[..], &rest[1..]].concat();
            }
            _ => return Some((module.to_vec(), name.clone())),
        }
    }
    None
}

/// What the modules below the root use of each other, and the files that do.
fn module_graph(sources: &Sources) -> Graph {
    let exports = &sources[&[][..]].imports;
    let mut graph = Graph::new();
    for (names, source) in sources {
        let Some(module) = names.first() else {
            continue;
        };
        let uses = graph.entry(module.clone()).or_default();
        let items = source.used.iter().chain(&source.re_exported);
        for name in items.filter_map(|item| item.first()) {
            let exported = exports.get(name).and_then(Option::as_ref);
            let used = exported.and_then(|item| item.first()).unwrap_or(name);
            if used != module && sources.contains_key(&[used.clone()][..]) {
                let path = source.path.display().to_string();
                uses.entry(used.clone()).or_default().insert(path);
            }
        }
    }
    graph
}

/// What files use of others that are not above them, and the names of what they use.
fn file_graph(sources: &Sources) -> Graph {
    let mut graph = Graph::new();
    for (module, source) in sources {
        let uses = graph.entry(module.join("/")).or_default();
        for item in &source.used {
            if let Some((used, name)) = definition(sources, item)
                && !module.starts_with(&used)
            {
                uses.entry(used.join("/")).or_default().insert(name);
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

/// The uses that lead back to the module, or file, that they are in.
fn circular_uses(graph: &Graph) -> Vec<String> {
    let mut circular = Vec::new();
    for (module, uses) in graph {
        for (used, ties) in uses {
            if reachable(graph, used).contains(module.as_str()) {
                let ties: Vec<&str> = ties.iter().map(String::as_str).collect();
                circular.push(format!("{module} uses {used}: {}", ties.join(", ")));
            }
        }
    }
    circular
}

#[test]
fn no_module_is_used_by_a_module_that_it_uses() {
    let graph = module_graph(&sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));
    assert!(graph.len() > 12, "the sources were not found: {graph:?}");
    let circular = circular_uses(&graph);
    assert!(circular.is_empty(), "{}", circular.join("\n"));
}

#[test]
fn each_module_stands_in_the_map_below_the_modules_that_it_uses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let map = std::fs::read_to_string(root.join("docs/design/MAP.md")).unwrap();
    let rows = map.lines().filter_map(|row| row.strip_prefix("| `src/"));
    let order: Vec<&str> = rows.map(identifier).collect();
    let graph = module_graph(&sources(&root.join("src")));
    let mut problems = Vec::new();
    for (module, uses) in graph {
        let Some(place) = order.iter().position(|name| *name == module) else {
            problems.push(format!("docs/design/MAP.md has no row for src/{module}"));
            continue;
        };
        let is_above = |used: &&String| order[..place].contains(&used.as_str());
        let below = uses.keys().filter(|used| !is_above(used));
        problems.extend(below.map(|used| format!("{module} uses {used}, which is not above it")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_file_is_used_by_a_file_that_it_uses_but_for_those_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The package of the library does not have the other crates; it has a copy of the manifest.
    let is_package = root.join("Cargo.toml.orig").exists();
    let others = ["cli/src", "python/src", "wasm/src"];
    let others = others.into_iter().filter(|_| !is_package);
    let mut circular = Vec::new();
    for folder in others.chain(["src"]) {
        let graph = file_graph(&sources(&root.join(folder)));
        assert!(graph.len() > 1, "the sources were not found: {graph:?}");
        let uses = circular_uses(&graph);
        circular.extend(uses.iter().map(|uses| format!("{folder}: {uses}")));
    }
    assert!(circular.is_empty(), "{}", circular.join("\n"));
}

#[test]
fn the_paths_of_a_use_are_found_with_the_names_that_they_give() {
    for (tree, expected) in [
        ("model::Model", &[("model::Model", "Model")][..]),
        (
            "crate::{Model, text::{a, b as c}, trie::d}",
            &[
                ("crate::Model", "Model"),
                ("crate::text::a", "a"),
                ("crate::text::b", "c"),
                ("crate::trie::d", "d"),
            ],
        ),
        (
            "a::{\n    self,\n    b::{self as c},\n    D,\n}",
            &[("a", "a"), ("a::b", "c"), ("a::D", "D")],
        ),
        ("super::*", &[("super::*", "*")]),
    ] {
        let tokens = tokens(tree);
        let paths = tree_paths(&tokens);
        let paths: Vec<(String, &str)> = paths
            .into_iter()
            .map(|(path, name)| (path.join("::"), name))
            .collect();
        let paths: Vec<(&str, &str)> = paths.iter().map(|(path, name)| (&**path, *name)).collect();
        assert_eq!(paths, expected, "{tree}");
    }
}

#[test]
fn texts_and_characters_in_quotes_are_no_tokens() {
    for (code, expected) in [
        (r#"f("a::b \" c", 'd', '"')"#, "f ( , , )"),
        ("x(r#\"a \" b\"#, br\"\\\")", "x ( , )"),
        ("fn f<'a>(b: &'a str)", "fn f < ' a > ( b : & ' a str )"),
        ("raw::b('\\'', c)", "raw :: b ( , c )"),
    ] {
        assert_eq!(tokens(code).join(" "), expected, "{code}");
    }
}

#[test]
fn a_path_is_followed_from_the_root_to_the_file_that_defines_the_item() {
    let names = |path: &str| -> Names { path.split("::").map(str::to_owned).collect() };
    let modules = ["a", "a::b", "a::b::c"].map(names).into();
    for (path, expected) in [
        ("crate::a::D", Some("a::D")),
        ("self::c::D", Some("a::b::c::D")),
        ("super::super::D", Some("D")),
        ("super::super::super::D", None),
        ("c::D", Some("a::b::c::D")),
        ("std::D", None),
        // A word that is also the name of a module.
        ("c", None),
    ] {
        let path: Vec<&str> = path.split("::").collect();
        let found = from_root(&names("a::b"), &path, &modules);
        assert_eq!(found, expected.map(names), "{path:?}");
    }
    let source = |imports: &[(&str, Option<&str>)]| Source {
        path: PathBuf::new(),
        imports: imports
            .iter()
            .map(|(name, item)| ((*name).to_owned(), item.map(names)))
            .collect(),
        used: BTreeSet::new(),
        re_exported: BTreeSet::new(),
    };
    let sources = Sources::from([
        (Vec::new(), source(&[("D", Some("a::E"))])),
        (names("a"), source(&[("E", Some("a::b::E")), ("F", None)])),
        (names("a::b"), source(&[])),
    ]);
    for (item, expected) in [
        ("D", Some(("a::b", "E"))),
        ("D::new", Some(("a::b", "E"))),
        ("a::b", Some(("a::b", "b"))),
        ("a::F", None),
    ] {
        let expected = expected.map(|(module, name)| (names(module), name.to_owned()));
        assert_eq!(definition(&sources, &names(item)), expected, "{item}");
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
