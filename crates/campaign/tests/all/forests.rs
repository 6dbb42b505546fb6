//! Forests with roots that survive a loss of power, in every order, at every persist point, while the set of roots
//! changes.

use casemate_campaign::CrashOptions;
use casemate_campaign::crash::crash;
use casemate_campaign::crash::history::History;
use casemate_campaign::crash::workload::{self, Workload};
use catalogue::{Design, Loss, design};
use protection::design::EarlySteps;
use protection::execution::Operation;
use protection::planted::PlantedBug;
use protection::tree::ForestDesign;

/// Roots of one level, roots of two levels, and roots that change with each write.
const FORESTS: [ForestDesign; 3] = [
    ForestDesign::Static { level: 0, entries: 64 },
    ForestDesign::Static { level: 0, entries: 40 },
    ForestDesign::Dynamic { entries: 64, period: 32, threshold: 16 },
];

fn over(name: &str, forest: ForestDesign) -> Design {
    let mut design = design(name).unwrap();
    design.parts.tree.forest = Some(forest);
    design
}

fn ends_as_claimed(design: &Design, workload: usize) {
    // The claim about a machine without stored energy covers all workloads together, so one workload may end better.
    let rows = Loss::ALL.iter().copied().filter(|loss| *loss != Loss::QueueLost).collect();
    let options = CrashOptions { rows, workload: Some(workload), ..CrashOptions::default() };
    let report = crash(design, &options, &mut |_, _| {});
    assert_eq!(report.complaints(), Vec::<String>::new(), "{:?}", design.parts.tree.forest);
    let has_battery = design.parts.persistence.has_battery();
    let mut tried = report.rows.iter().filter(|row| !row.loss.is_on_battery() || has_battery);
    assert!(tried.all(|row| row.histogram.values().sum::<u64>() > 0));
}

#[test]
fn forests_with_controller_persistence_end_losses_and_tampering_as_claimed() {
    for name in ["plp-sp", "plp-pipelined", "plp-coalesced"] {
        for forest in FORESTS {
            [3, 37, 60, 100].into_iter().for_each(|workload| ends_as_claimed(&over(name, forest), workload));
        }
    }
}

#[test]
fn forests_with_every_persist_buffer_scheme_end_losses_and_tampering_as_claimed() {
    for early in 0..=5 {
        for forest in FORESTS {
            let mut design = over("secpb-cobcm", forest);
            design.parts.persistence.early = EarlySteps::beginning(early);
            [37, 60].into_iter().for_each(|workload| ends_as_claimed(&design, workload));
        }
    }
}

/// Counts the roots that get a register in a workload, and those that lose theirs.
fn come_and_go(design: &Design, workload: &Workload) -> (usize, usize) {
    let history = History::of(design, workload, 1, PlantedBug::NONE);
    let mut known = history.registers.forest;
    let (mut come, mut gone) = (0, 0);
    for operation in &history.changes.operations {
        let Operation::Complete(completion) = operation else { continue };
        for (slot, content) in &completion.forest {
            match content {
                Some(content) => come += usize::from(known.insert(*slot, *content).is_none()),
                None => gone += usize::from(known.remove(slot).is_some()),
            }
        }
    }
    (come, gone)
}

#[test]
fn three_writes_replace_roots_only_of_a_dynamic_forest() {
    let three: Vec<Workload> = workload::all().into_iter().filter(|work| work.writes.len() == 3).collect();
    for name in ["plp-sp", "plp-pipelined", "secpb-cm"] {
        let change = |forest| three.iter().map(|work| come_and_go(&over(name, forest), work)).collect::<Vec<_>>();
        let restless = change(FORESTS[2]);
        let both = restless.iter().filter(|(come, gone)| *come > 0 && *gone > 0).count();
        assert!(both * 2 > three.len(), "{name}: in {both} of {} roots come and go", three.len());
        assert!(change(FORESTS[0]).iter().all(|(_, gone)| *gone == 0), "{name}");
    }
}
