#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| herdbook_fuzz::log::run(data));
