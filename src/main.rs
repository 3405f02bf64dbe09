//! The program `spiece`. All it does is in [`cli`].

mod cli;

fn main() -> std::process::ExitCode {
    cli::run(std::env::args_os())
}
