//! The heap of glibc, for subcommands that train twice.
//!
//! glibc gives large freed blocks back to the system, those above a threshold. Whenever such a block is freed, the threshold rises
//! to its size, up to 32 MiB. So the tables of a second training grow inside of the heap, where the tables that they outgrew
//! leave gaps: with 100 MB of English the second stage of `--superword_from` needs 385 MB, and 238 MB with a fixed threshold.
//!
//! The threshold can be fixed without unsafe code only by a variable of the environment, which glibc reads when a program starts.
//! So the program replaces itself by itself with the variable, before it has read anything; the process and its files stay the
//! same. This module exists for glibc only.
//!
//! Cost: one more start of the program, 2 ms.

use std::os::unix::process::CommandExt;

/// The variable that fixes the threshold, in bytes.
const THRESHOLD_VARIABLE: &str = "MALLOC_MMAP_THRESHOLD_";
/// The threshold: small blocks stay in the heap, tables do not.
const THRESHOLD_BYTES: &str = "1048576";

/// Starts the program again with a fixed threshold, unless the variable is set. If that is not possible, the program goes on and
/// needs more memory.
pub(super) fn restart_with_fixed_threshold() {
    if std::env::var_os(THRESHOLD_VARIABLE).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    // A link to the program chooses the subcommand by its name.
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments);
    command.env(THRESHOLD_VARIABLE, THRESHOLD_BYTES);
    // Returns only if the program was not started.
    let _ = command.exec();
}
