//! Settings of the heap of glibc.
//!
//! The defaults of glibc suit programs that allocate and free all the time. Two subcommands choose
//! others before they allocate much:
//!
//! - *Encoding to ids or pieces* fills some megabytes of tables once, in a run that may end after
//!   50 ms. With the defaults the kernel maps this memory in 3,400 page faults for one thread and
//!   5,000 for two, each of which takes about a microsecond, and threads wait for each other in
//!   them. [`use_huge_pages`] leaves 300. For 10 MB of English that is 5 % of the time of one
//!   thread and 11 % of that of two; the peak memory is 4 to 5 MB higher. All threads share this
//!   heap, so that it is not for threads that allocate for each line: n-best lists and samples of a
//!   unigram model took twice the time on two threads.
//! - *Training twice* (`--superword_from`) leaves gaps in the heap; see [`return_large_blocks`].
//!
//! Input: none. Output: none. A setting that glibc or the kernel refuses has no effect, so that the
//! program is slower or needs more memory. This module exists for glibc only, and it is the only
//! one with unsafe code, because these settings are functions of C.
//!
//! Cost: a few system calls.

#![expect(unsafe_code, reason = "the settings of glibc are functions of C")]

use std::hint::black_box;

use libc::{c_int, c_void};

/// What [`use_huge_pages`] adds to the heap: enough for a model of 32,000 pieces and the caches of
/// two threads. It is address space as long as nothing is stored in it.
const HUGE_BYTES: c_int = 32 << 20;
/// The size of a huge page on most systems.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// What is added when that is used up.
const GROWTH_BYTES: c_int = 1 << 20;
/// More than the heap of a program that has just started has free.
const MORE_THAN_FREE_BYTES: usize = 256 << 10;
/// The highest threshold that glibc accepts on 64-bit systems; larger blocks are mapped one by one.
const HIGHEST_MMAP_THRESHOLD_BYTES: c_int = 32 << 20;
/// The threshold of [`return_large_blocks`].
const TABLE_BYTES: c_int = 1 << 20;

/// Makes glibc give every freed block of a megabyte or more back to the system.
///
/// With the defaults a block above a threshold is given back, and whenever one is freed, the
/// threshold rises to its size, up to 32 MiB. So the tables of a second training grow inside of the
/// heap, where the tables that they outgrew leave gaps: with 100 MB of English the second stage of
/// `--superword_from` needs 385 MB, and 243 MB with a fixed threshold.
pub(super) fn return_large_blocks() {
    set(libc::M_MMAP_THRESHOLD, TABLE_BYTES);
}

/// Makes all threads allocate in one heap, which gives nothing back to the system until the process
/// ends, and whose next megabytes are huge pages, if the kernel has any.
pub(super) fn use_huge_pages() {
    set(libc::M_MMAP_THRESHOLD, HIGHEST_MMAP_THRESHOLD_BYTES);
    set(libc::M_TRIM_THRESHOLD, c_int::MAX);
    set(libc::M_ARENA_MAX, 1);
    set(libc::M_TOP_PAD, HUGE_BYTES);
    let start = heap_end();
    // The heap grows by a block that it has no room for, and by `M_TOP_PAD`. `malloc` writes behind
    // the block.
    let block = black_box(Vec::<u8>::with_capacity(MORE_THAN_FREE_BYTES));
    let block_start = block.as_ptr().addr();
    drop(block);
    advise_huge_pages(start, heap_end());
    set(libc::M_TOP_PAD, GROWTH_BYTES);
    // A block that is never freed nor written to, so that it needs no memory. What is allocated
    // behind it begins with the first huge page that nothing was written to before the advice.
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
