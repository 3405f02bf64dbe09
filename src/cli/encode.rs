//! stub
use super::io::Failure;
use clap::{ArgMatches, Command};
pub(crate) fn command() -> Command {
    Command::new("encode")
}
pub(crate) fn run(_: &ArgMatches) -> Result<(), Failure> {
    Ok(())
}
