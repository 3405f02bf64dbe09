//! Settings of the heap of glibc.
//!
//! The defaults of glibc suit programs that allocate and free memory all the time. Two subcommands
//! choose other settings before they allocate much:
//!
//! - *Encoding to ids or pieces* fills several megabytes of tables once, in a run that may end
//!   after 50 ms. With the defaults, the kernel maps this memory in 3,400 page faults for one
//!   thread and 5,000 for two. Each takes about a microsecond, and threads wait for each other in
//!   them. [`use_huge_pages`] leaves 300. For 10 MB of English this saves 5 % of the time of one
//!   thread and 11 % of that of two; the peak memory is 4 to 5 MB higher. All threads share this
//!   heap, so the setting is not for threads that allocate for each line: n-best lists and samples
//!   of a unigram model took twice the time on two threads.
//! - *Training twice* (`--superword_from`) leaves gaps in the heap; see [`return_large_blocks`].
//!
//! A setting that glibc or the kernel refuses has no effect; the program is then slower or needs
//! more memory. This module exists only for glibc. It is the only one with unsafe code, because
//! these settings are C functions.
//!
//! Cost: a few system calls.

#![expect(unsafe_code, reason = "the settings of glibc are functions of C")]

use std::hint::black_box;

use libc::{c_int, c_void};

/// How much [`use_huge_pages`] adds to the heap: enough for a model of 32,000 pieces and the caches
/// of two threads. Until it is written to, it takes only address space.
const HUGE_BYTES: c_int = 32 << 20;
/// The size of a huge page on most systems.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// How much the heap grows when that is used up.
const GROWTH_BYTES: c_int = 1 << 20;
/// More than is free in the heap of a program that has just started.
const MORE_THAN_FREE_BYTES: usize = 256 << 10;
/// The highest mmap threshold that glibc accepts on 64-bit systems; larger blocks are mapped one by
/// one.
const HIGHEST_MMAP_THRESHOLD_BYTES: c_int = 32 << 20;
/// The mmap threshold of [`return_large_blocks`].
const TABLE_BYTES: c_int = 1 << 20;

/// Makes glibc return every freed block of a megabyte or more to the system.
///
/// With the defaults, only blocks above a threshold are returned, and whenever one is freed, the
/// threshold rises to its size, up to 32 MiB. The tables of a second training then grow inside the
/// heap, where the tables that they outgrew leave gaps: with 100 MB of English, the second stage of
/// `--superword_from` needs 385 MB, and 243 MB with a fixed threshold.
pub(super) fn return_large_blocks() {
    set(libc::M_MMAP_THRESHOLD, TABLE_BYTES);
}

/// Makes all threads allocate from one heap, which returns nothing to the system until the process
/// ends. The next [`HUGE_BYTES`] of the heap are huge pages, if the kernel has any.
pub(super) fn use_huge_pages() {
    set(libc::M_MMAP_THRESHOLD, HIGHEST_MMAP_THRESHOLD_BYTES);
    set(libc::M_TRIM_THRESHOLD, c_int::MAX);
    set(libc::M_ARENA_MAX, 1);
    set(libc::M_TOP_PAD, HUGE_BYTES);
    let start = heap_end();
    // A block that does not fit in the heap makes it grow by the block and `M_TOP_PAD`. `malloc`
    // writes after the block.
    let block = black_box(Vec::<u8>::with_capacity(MORE_THAN_FREE_BYTES));
    let block_start = block.as_ptr().addr();
    drop(block);
    advise_huge_pages(start, heap_end());
    set(libc::M_TOP_PAD, GROWTH_BYTES);
    // A block that is never freed and never written to, so it needs no memory. Later allocations
    // begin at the first huge page that was not written to before the advice.
    let huge_start = (block_start + MORE_THAN_FREE_BYTES).next_multiple_of(HUGE_PAGE_BYTES);
    std::mem::forget(black_box(Vec::<u8>::with_capacity(
        huge_start - block_start,
    )));
}

/// Sets a parameter of `malloc`.
fn set(parameter: c_int, value: c_int) {
    // SAFETY: `mallopt` has no pointers, and any thread may call it at any time.
    unsafe {
        libc::mallopt(parameter, value);
    }
}

/// The end of the heap.
fn heap_end() -> *mut c_void {
    // SAFETY: with 0, `sbrk` moves nothing.
    unsafe { libc::sbrk(0) }
}

/// Asks the kernel for huge pages between two addresses of the heap.
fn advise_huge_pages(start: *mut c_void, end: *mut c_void) {
    let bytes = end.addr().saturating_sub(start.addr());
    // SAFETY: the advice changes the content of no memory. The range is empty or a part of the
    // heap.
    unsafe {
        libc::madvise(start, bytes, libc::MADV_HUGEPAGE);
    }
}
