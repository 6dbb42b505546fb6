//! Parses any text as a design file: the parser refuses it with a reason, or the design returns the written lines.
#![no_main]

use catalogue::Design;
use libfuzzer_sys::fuzz_target;
use protection::execution::{Functional, Untimed, run_now};
use units::LineAddr;

fuzz_target!(|text: &str| {
    let design = match Design::parse("any.toml", text) {
        Ok(design) => design,
        Err(error) => {
            assert!(error.to_string().starts_with("any.toml"), "an error names its file: {error}");
            return;
        }
    };
    let scheme = design.parts.build(1 << 12, 1).expect("what was parsed makes sense");
    let memory = Functional::new(scheme.layout().total_lines());
    for line in [0, 1, 4_095].map(LineAddr) {
        run_now(scheme.write(&memory.verbs(), line, &[line.0 as u8; 64]));
        run_now(scheme.flush(&memory.verbs()));
        run_now(scheme.read(&memory.verbs(), line));
        assert_eq!(memory.take_fault(), None, "nobody attacks");
        assert_eq!(memory.take_released().map(|(_, text)| text.bytes), Some([line.0 as u8; 64]));
    }
});
