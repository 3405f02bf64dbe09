#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| spiece_fuzz::targets::train_like(data));
