//! Writes the JavaScript and the types around a WebAssembly module that was compiled with
//! wasm-bindgen. It does what the program `wasm-bindgen` does, which cannot be installed with its
//! lock file where only crates.io is reached.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, name, folder] = &arguments[..] else {
        eprintln!("usage: spiece-bindgen MODULE.wasm NAME FOLDER");
        return ExitCode::from(2);
    };
    let result = Bindgen::new()
        .input_path(module)
        .out_name(name)
        .typescript(true)
        // The package says itself where its module is.
        .omit_default_module_path(true)
        .web(true)
        .and_then(|bindgen| bindgen.generate(folder));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
