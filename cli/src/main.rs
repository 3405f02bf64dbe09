//! The program `spiece`; see the library of this package.

fn main() -> std::process::ExitCode {
    spiece_cli::main()
}
