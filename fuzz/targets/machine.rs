//! Any text as a machine file: it is refused with a reason, or it is a machine whose parts can be derived.
#![no_main]

use catalogue::Machine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Machine::parse("any.toml", text) {
        Ok(machine) => {
            machine.memory_config();
            machine.network();
        }
        Err(error) => assert!(error.to_string().starts_with("any.toml"), "an error names its file: {error}"),
    }
});
