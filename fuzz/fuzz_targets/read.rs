//! Any text is a program or an error, and a program that is read is written and read back as the same. So are kernels.
#![no_main]

use hcomm_core::aiv;
use hcomm_core::program::Program;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(program) = Program::from_json(text) {
        assert_eq!(Program::from_json(&program.to_json()).as_ref(), Ok(&program));
        let _ = program.to_string();
    }
    if let Ok(kernel) = aiv::Program::from_json(text) {
        assert_eq!(aiv::Program::from_json(&kernel.to_json()).as_ref(), Ok(&kernel));
        let _ = kernel.to_string();
    }
});
