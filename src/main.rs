//! The program `spiece`; see the module `cli` of the library.

fn main() -> std::process::ExitCode {
    spiece::cli::main()
}
