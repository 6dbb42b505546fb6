//! Parses any text as a machine file: the parser refuses it with a reason, or the parts of the machine can be derived.
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
