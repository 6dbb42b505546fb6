//! The pairs of mechanisms that campaigns have seen under way or set at once. A pair that never meets has a reason: the
//! loader refuses each design with both, or a lock keeps them apart.
//!
//! `docs/MEETINGS.md` contains the table of these pairs. After a change, `CASEMATE_WRITE_MEETINGS=1` writes it anew.

use crate::common::crowd::{Scene, crowd};
use casemate_campaign::bus::{Map, Structure};
use casemate_campaign::crash::workload::DATA_LINES;
use casemate_campaign::victim::with_tiny_caches;
use casemate_campaign::{CrashOptions, Options, attack, crash};
use catalogue::{Attack, Loss, design};
use protection::counter::Age;
use protection::design::{CounterChoice, Order, Parts, Persistence, Point, TreeKind};
use protection::execution::{Functional, Untimed, run_now};
use protection::layout::DataLines;
use protection::meetings::{Mechanism, met};
use protection::moving::{LINES_PER_PAGE_CHUNK, ProcessId, ProcessPageChunks, ProcessPort};
use protection::tree::ForestDesign;
use protection::verbs::Slot;
use std::collections::BTreeSet;
use std::path::Path;
use units::{LINES_PER_PAGE, LineAddr, LineLength};

/// Reason for which two mechanisms never meet.
enum Never {
    /// The loader refuses each design with both. The function returns one.
    Refused(fn() -> Parts),
    /// The files and locks that keep the two apart.
    Excluded(&'static str),
    /// The two can meet, and no campaign here has seen it.
    Untried(&'static str),
}

fn parts(name: &str) -> Parts {
    design(name).unwrap().parts
}

fn permuted_with_counters() -> Parts {
    Parts { counters: CounterChoice::Sc64, ..parts("cryptopage-os") }
}

fn permuted_with_a_buffer() -> Parts {
    Parts { persistence: Persistence::in_buffer(Order::Strict, 0), ..parts("cryptopage-os") }
}

fn permuted_in_durable_caches() -> Parts {
    Parts { persistence: parts("secure-eadr").persistence, ..parts("cryptopage-os") }
}

fn permuted_with_a_forest() -> Parts {
    Parts { tree: parts("dbmf").tree, ..parts("cryptopage-os") }
}

fn forest_in_durable_caches() -> Parts {
    let mut parts = parts("secure-eadr");
    parts.tree.forest = Some(ForestDesign::Static { level: 0, entries: 64 });
    parts
}

/// The pairs that never meet.
fn never() -> Vec<(Mechanism, Mechanism, Never)> {
    use Mechanism::{
        Boot, ContextSwitch, ForestReshape, HaltedChip, LostLines, OutdatedRoot, Permutation, Recovery, Renewal,
    };
    use Never::{Excluded, Refused, Untried};
    let once = "`on_chip/power.rs`: no line boots once a recovery has begun (`recovered`)";
    vec![
        (Renewal, Permutation, Refused(permuted_with_counters)),
        (Renewal, ContextSwitch, Refused(permuted_with_counters)),
        (LostLines, OutdatedRoot, Excluded("`persistence.rs`: a design has one persist point, a buffer or the caches")),
        (LostLines, Boot, Excluded(once)),
        (LostLines, Permutation, Refused(permuted_with_a_buffer)),
        (LostLines, ContextSwitch, Refused(permuted_with_a_buffer)),
        (OutdatedRoot, Permutation, Refused(permuted_in_durable_caches)),
        (OutdatedRoot, ContextSwitch, Refused(permuted_in_durable_caches)),
        (OutdatedRoot, ForestReshape, Refused(forest_in_durable_caches)),
        (
            OutdatedRoot,
            HaltedChip,
            Excluded("`scheme/write/tuple.rs`: only tuples halt a chip, and durable caches have none"),
        ),
        (Boot, Recovery, Excluded(once)),
        (Permutation, ForestReshape, Refused(permuted_with_a_forest)),
        (Permutation, Recovery, Refused(permuted_with_a_buffer)),
        (ContextSwitch, ForestReshape, Refused(permuted_with_a_forest)),
        (ContextSwitch, Recovery, Refused(permuted_with_a_buffer)),
        (ForestReshape, HaltedChip, Untried("a forged node above a root that is folded would halt the chip")),
        (ForestReshape, Recovery, Excluded("`scheme/recover.rs`: recovery ends before the chip accepts an access")),
    ]
}

/// Each page chunk belongs to the process with its number.
struct OwnPageChunk;

impl ProcessPageChunks for OwnPageChunk {
    fn chunks_of(&self, ProcessId(process): ProcessId) -> BTreeSet<u64> {
        [process.into()].into()
    }

    fn mapped(&self) -> BTreeSet<u64> {
        (0..8).collect()
    }
}

/// Turn after which all metadata in memory is forged.
const FORGED: u64 = 30;

/// Processes store to their page chunks in turn, and read lines that they have not stored to.
fn processes_in_turn() {
    let data = DataLines { count: 8 * LINES_PER_PAGE_CHUNK, length: LineLength::HALF };
    let mut parts = parts("cryptopage-os");
    if let Some(permutation) = &mut parts.permutation {
        // Each switch sends the interrupted process out, and each permutation reads the whole path above its record.
        permutation.contexts.iter_mut().for_each(|contexts| contexts.buffers = 1);
        (permutation.merkle_cache.entries, permutation.verification_buffer) = (0, None);
    }
    let scheme = parts.build(data, 1).unwrap();
    let memory = Functional::booting(scheme.layout().total_lines(), 1);
    for turn in 0..40 {
        let process = turn % 7;
        let switched = run_now(ProcessPort::of(&scheme).unwrap().switch(
            &memory.verbs(),
            ProcessId(process as u32),
            &OwnPageChunk,
        ));
        assert!(switched.is_ok() || turn > FORGED, "{switched:?}");
        for line in 0..4 {
            let at = |line| LineAddr(process * LINES_PER_PAGE_CHUNK + (turn * 8 + line) % LINES_PER_PAGE_CHUNK);
            run_now(scheme.write(&memory.verbs(), at(line), &[turn as u8; 64]));
            run_now(scheme.read(&memory.verbs(), at(line + 4)));
        }
        if turn == FORGED {
            // Forged nodes stop the permutation of the process whose context leaves at the next switch.
            (0..scheme.layout().total_lines()).filter(|slot| *slot >= data.count).for_each(|slot| {
                memory.media.borrow_mut().write(Slot(slot), &[7; 64]);
            });
        }
    }
}

/// A forest of some roots that changes after every second write.
fn restless(name: &str, entries: u64) -> Parts {
    let mut parts = parts(name);
    parts.tree.forest = Some(ForestDesign::Dynamic { entries, period: 2, threshold: 0 });
    parts
}

/// Pages whose counters fit the tiny counter cache together, and whose nodes do not fit theirs.
const PAGES: [u64; 4] = [0, 9, 130, 259];

/// Forged nodes halt a chip in a tuple or in a change of its forest: the counters are still on the chip, and a node is not.
/// Reads of unused lines follow.
fn halts_among_boots(parts: &Parts) {
    let parts = with_tiny_caches(parts);
    for (forged_after, page) in (12..20).flat_map(|turn| PAGES.map(|page| (turn, page))) {
        let scheme = parts.build(DATA_LINES, 1).unwrap();
        let memory = Functional::booting(scheme.layout().total_lines(), 1);
        for turn in 0..32 {
            if turn == forged_after {
                let is_node = |slot: &Slot| matches!(Map::new(scheme.layout()).structure(*slot), Structure::Node(_));
                let nodes: Vec<Slot> = memory.media.borrow().written_slots().map(|(slot, _)| slot).collect();
                nodes
                    .iter()
                    .filter(|slot| is_node(slot))
                    .for_each(|slot| memory.media.borrow_mut().write(*slot, &[7; 64]));
            }
            let page = if turn < forged_after { PAGES[turn as usize % PAGES.len()] } else { page };
            let line = LineAddr(page * LINES_PER_PAGE as u64 + turn);
            run_now(scheme.write(&memory.verbs(), line, &[turn as u8; 64]));
            run_now(scheme.read(&memory.verbs(), LineAddr(line.0 + 17)));
        }
    }
}

/// Runs the campaigns that the table is about, all on this thread.
fn campaigns() {
    for name in ["secpb-cobcm", "secpb-cm-dbmf", "secure-eadr", "plp-sp-dbmf"] {
        for workload in [0, 1, 7, 13, 37, 50, 83, 100] {
            let (rows, workload) = (vec![Loss::TamperingOverSessions], Some(workload));
            let options = CrashOptions { rows, workload, thorough: true, ..CrashOptions::default() };
            crash(&design(name).unwrap(), &options, &mut |_, _| {});
        }
    }
    for parts in
        [parts("sc64-bmt"), restless("dbmf", 2), parts("plp-sp"), restless("plp-sp-dbmf", 2), parts("secure-eadr")]
    {
        for seed in 1..=4 {
            crowd(&parts, Scene { seed, age: Some(Age::BeforeRenewal), ..Scene::default() }).unwrap();
        }
    }
    for (name, row) in [
        ("plp-sp", Attack::TamperedHistory),
        ("plp-sp-dbmf", Attack::TamperedHistory),
        ("secure-eadr", Attack::TamperedHistory),
        ("cryptopage-os", Attack::TamperedHistory),
    ] {
        attack(&design(name).unwrap(), row, &Options { trials: 60, ..Options::default() });
    }
    processes_in_turn();
    for parts in [parts("plp-sp"), restless("plp-sp-dbmf", 8), restless("plp-sp-dbmf", 16)] {
        halts_among_boots(&parts);
    }
}

/// The least power of ten that a count reaches.
fn order_of(count: u64) -> String {
    let order = 10_u64.pow(count.ilog10());
    format!("{order}+")
}

fn words(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Renewal => "renewal of a group",
        Mechanism::LostLines => "lost lines",
        Mechanism::OutdatedRoot => "outdated root",
        Mechanism::Boot => "boot of a line",
        Mechanism::Permutation => "permutation",
        Mechanism::ContextSwitch => "context switch",
        Mechanism::ForestReshape => "change of a forest",
        Mechanism::Recovery => "recovery",
        Mechanism::HaltedChip => "halted chip",
    }
}

/// Returns the table, and the pairs that have neither met nor a reason, or both.
fn table() -> (String, Vec<(Mechanism, Mechanism)>) {
    let (mut rows, mut unexplained) = (String::new(), Vec::new());
    let never = never();
    for (number, one) in Mechanism::ALL.iter().enumerate() {
        for other in &Mechanism::ALL[number + 1..] {
            let times = met(*one, *other);
            let reason = never.iter().find(|(first, second, _)| (first, second) == (one, other));
            let cell = match (times, reason) {
                (0, Some((.., Never::Refused(_)))) => "never: the loader refuses such a design".to_owned(),
                (0, Some((.., Never::Excluded(by)))) => format!("never: {by}"),
                (0, Some((.., Never::Untried(how)))) => format!("not tried: {how}"),
                (times, None) if times > 0 => order_of(times),
                _ => {
                    unexplained.push((*one, *other));
                    format!("{times}")
                }
            };
            rows += &format!("| {} | {} | {cell} |\n", words(*one), words(*other));
        }
    }
    (rows, unexplained)
}

const HEAD: &str = "# Meetings of mechanisms

Holes were found where two mechanisms meet. This table contains each pair of mechanisms of a chip, and how often a small set of campaigns has seen both under way or set at
once. The test `campaign/tests/all/meetings.rs` runs these campaigns, and fails if a pair has neither met nor a reason. It also checks that the loader refuses a design with
both mechanisms, where the table says so.

| mechanism | mechanism | times at once |
|---|---|---|
";

#[test]
fn each_pair_of_mechanisms_has_met_in_a_campaign_or_has_a_reason_against_it() {
    campaigns();
    let (rows, unexplained) = table();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MEETINGS.md");
    if std::env::var_os("CASEMATE_WRITE_MEETINGS").is_some() {
        std::fs::write(&path, HEAD.to_owned() + &rows).unwrap();
    }
    assert_eq!(unexplained, [], "{rows}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), HEAD.to_owned() + &rows);
}

#[test]
fn the_loader_refuses_each_design_whose_mechanisms_never_meet_for_that_reason() {
    for (one, other, reason) in never() {
        if let Never::Refused(design) = reason {
            assert!(design().check().is_err(), "{one:?} and {other:?}");
        }
    }
    assert_eq!(parts("secure-eadr").persistence.point, Point::Caches, "the scene is not set");
    assert!(parts("cryptopage-os").check().is_ok() && parts("dbmf").tree.kind == TreeKind::Bonsai);
}
