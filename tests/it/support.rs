//! What several modules of tests need: test data, models from elsewhere.

use std::path::{Path, PathBuf};

/// The path of a file or folder in `testdata/`.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

/// The `.model` files of a folder, sorted.
pub fn models_in(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder);
    let files = files.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut models: Vec<PathBuf> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "model"))
        .collect();
    models.sort();
    models
}

/// All models in `testdata/` that load.
pub fn own_models() -> Vec<PathBuf> {
    let models = ["golden", "run"].map(|folder| models_in(&testdata(folder)));
    let models = models.concat();
    assert!(models.len() > 40, "testdata has lost its models");
    models
}

/// Models that are not part of the repository: the folder that the variable `SPIECE_MODELS` names.
/// Tests that call this are `#[ignore]`d, so that a run without the folder does not count as a
/// pass.
pub fn models_from_elsewhere() -> Vec<PathBuf> {
    let folder = std::env::var_os("SPIECE_MODELS");
    let folder = folder.expect("set SPIECE_MODELS to a folder with .model files");
    let models = models_in(Path::new(&folder));
    assert!(!models.is_empty(), "{folder:?} has no .model files");
    models
}
