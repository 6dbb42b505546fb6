//! Operations that a scheme of permuted lines shares with a scheme of fixed slots.

use crate::scheme::parts;
use casemate_protection::design::{
    CipherChoice, CounterChoice, MacChoice, MovingChip, Parts, PermutationDesign, TreeKind,
};
use casemate_protection::execution::{Functional, Untimed, run_now};
use casemate_protection::layout::DataLines;
use casemate_protection::record::{MerkleCacheDesign, SLOTS};
use casemate_protection::scheme::{Demand, Scheme};
use std::future::{Ready, ready};
use units::{Line, LineAddr, LineLength, ZERO_LINE};

const LINE: LineAddr = LineAddr(3);

/// A machine that has written one line of 32 bytes, which its chip still holds.
fn written() -> (Scheme, Functional, Line) {
    let parts = Parts {
        permutation: Some(PermutationDesign::default()),
        ..parts(CipherChoice::None, CounterChoice::None, MacChoice::None, TreeKind::None)
    };
    let scheme = parts.build(DataLines { count: 4 * SLOTS as u64, length: LineLength::HALF }, 1).unwrap();
    let memory = Functional::booting(scheme.layout().total_lines(), 5);
    let mut text = ZERO_LINE;
    text[..LineLength::HALF.bytes()].fill(7);
    run_now(scheme.write(&memory.verbs(), LINE, &text));
    assert_eq!(memory.take_fault(), None);
    (scheme, memory, text)
}

#[test]
fn a_flush_writes_permuted_lines_to_memory_and_a_twin_reads_them() {
    let (scheme, memory, text) = written();
    let requested = |_| unreachable!("a permuted line has no fixed slot");
    assert!(!scheme.is_in_memory(LINE, requested), "only the chip has it");
    run_now(scheme.flush(&memory.verbs()));
    assert!(scheme.is_in_memory(LINE, requested));
    let twin = scheme.twin();
    run_now(twin.read(&memory.verbs(), LINE));
    let released = memory.take_released().map(|(line, plaintext)| (line, plaintext.bytes));
    assert_eq!((released, memory.take_fault()), (Some((LINE, text)), None));
    let fills = |scheme: &Scheme| scheme.counted().moving.fills;
    assert_eq!(fills(&twin), fills(&scheme) + 1);
    assert!(twin.computed().lines > scheme.computed().lines, "the twin has decrypted a line");
}

#[test]
fn a_permuted_line_found_on_the_chip_is_not_read_at_the_controller() {
    let (scheme, memory, _) = written();
    for arrives in [false, true] {
        let request = (ready(()), ready(arrives));
        run_now(scheme.read_from(&memory.verbs(), Demand::of(LINE, 0), request.0, request.1, None::<Ready<()>>));
        assert_eq!(memory.take_released().is_some(), arrives);
    }
}

#[test]
fn the_layout_report_counts_locks_permutation_buffers_and_room_for_records_in_the_merkle_cache() {
    let bytes = |in_pairs, permutations| {
        let permutation = PermutationDesign {
            merkle_cache: MerkleCacheDesign { entries: 512, in_pairs },
            ..PermutationDesign::default()
        };
        let parts = Parts {
            permutation: Some(permutation),
            ..parts(CipherChoice::None, CounterChoice::None, MacChoice::None, TreeKind::None)
        };
        let chip = MovingChip { translations: 192, last_level_lines: 1 << 15, permutations };
        let data = DataLines { count: 4 * SLOTS as u64, length: LineLength::HALF };
        let report = parts.layout_report(data, chip).unwrap();
        ["Merkle cache", "locks of 32768 lines", "permuted"].map(|what| {
            let found = report.on_chip.iter().find(|store| store.what.contains(what));
            found.unwrap_or_else(|| panic!("{what}: {:?}", report.on_chip)).bytes
        })
    };
    // A record has 304 bytes with its vector, and a chunk 256 lines of 32 bytes.
    assert_eq!(bytes(true, Some(4)), [512 * 608, 8192, 4 * 8192]);
    assert_eq!(bytes(false, None), [512 * 304, 8192, 4 * 8192]);
}
