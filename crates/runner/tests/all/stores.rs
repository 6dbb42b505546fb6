//! An explained store waits for different work, depending on the state of the persist buffer: its early steps, the
//! drain of another entry, or the renewal of its counter group.

use casemate_runner::explain::{Explanation, Lines, Meets, Of, OnChipMetadata, Scenario, explain};
use catalogue::Design;
use protection::design::Fraction;
use sim::span::{Span, Verb};

/// The schemes, from the one without early steps to the one without late steps.
const SCHEMES: [&str; 6] = ["secpb-cobcm", "secpb-obcm", "secpb-bcm", "secpb-cm", "secpb-m", "secpb-nogap"];
/// Look-up latency of the buffer: two cycles at 4 GHz.
const LOOK_UP_FS: u64 = 500_000;
const LINES_OF_GROUP: usize = 64;
const LINE: Lines = Lines::At(0x1234_5640);

fn explained(design: &Design, on_chip: OnChipMetadata, meets: Meets) -> Result<Explanation, String> {
    let scenario = Scenario { of: Of::Store, on_chip, meets: Some(meets), ..Scenario::default() };
    explain(&catalogue::machine("secpb-pcm").unwrap(), design, scenario, LINE)
}

/// One store to a line with all metadata on the chip.
fn store(design: &str, meets: Meets) -> Explanation {
    explained(&catalogue::design(design).unwrap(), OnChipMetadata::All, meets).unwrap()
}

/// Spans of a verb that belong to the store, in the order of their ends.
fn own(store: &Explanation, verb: Verb) -> Vec<&Span> {
    let mut spans: Vec<_> = store.spans.iter().filter(|span| span.verb == verb && !is_oldest(span)).collect();
    spans.sort_by_key(|span| span.end);
    spans
}

fn is_oldest(span: &Span) -> bool {
    span.what.starts_with("oldest's ")
}

/// Number of the store's spans that end within its latency.
fn waited_for(store: &Explanation) -> usize {
    store.spans.iter().filter(|span| span.end.as_fs() <= store.latency_fs).count()
}

#[test]
fn an_explained_second_store_to_a_buffer_entry_takes_fewer_early_steps() {
    for design in SCHEMES {
        let [first, second] = [Meets::NewEntry, Meets::Entry].map(|meets| store(design, meets));
        if design == "secpb-cobcm" {
            assert_eq!((first.latency_fs, second.latency_fs), (LOOK_UP_FS, LOOK_UP_FS));
            continue;
        }
        let latencies = (first.latency_fs, second.latency_fs);
        assert!(latencies.1 < latencies.0 && waited_for(&second) < waited_for(&first), "{design}: {latencies:?}");
        // The counter, its pad and the updated root serve all stores of a residency.
        let early = |verb| own(&second, verb).iter().filter(|span| span.end.as_fs() <= second.latency_fs).count();
        assert_eq!([Verb::Pad, Verb::Hash, Verb::Complete].map(early), [0, 0, 0], "{design}");
        // Among the steps after the ciphertext, only the tag takes time.
        assert_eq!(early(Verb::Mac), usize::from(design == "secpb-nogap"), "{design}");
        assert_eq!(
            own(&second, Verb::Persist).len(),
            own(&first, Verb::Persist).len(),
            "{design}: an entry drains once"
        );
    }
}

#[test]
fn an_explained_store_to_a_full_persist_buffer_waits_until_the_oldest_entry_has_drained() {
    for design in SCHEMES {
        let [alone, held] = [Meets::NewEntry, Meets::FullBuffer].map(|meets| store(design, meets));
        let oldest: Vec<_> = held.spans.iter().filter(|span| is_oldest(span)).collect();
        let left = oldest.iter().map(|span| span.end.as_fs()).max().unwrap();
        assert_eq!(oldest.iter().filter(|span| span.verb == Verb::Persist).count(), 3, "{design}: line, counters, tag");
        assert!(oldest.iter().any(|span| span.start.as_fs() == 0), "{design}: it begins as the store arrives");
        // On an idle machine, the drain of an entry takes the same time, whether or not a store waits for it.
        let drain = alone.spans.iter().map(|span| span.end.as_fs()).max().unwrap() - alone.latency_fs;
        assert_eq!(left, drain, "{design}");
        let own_work = held.spans.iter().filter(|span| !is_oldest(span) && span.what != "persist buffer");
        assert!(own_work.clone().count() > 0 && own_work.clone().all(|span| span.start.as_fs() >= left), "{design}");
        assert_eq!(held.latency_fs, left.max(LOOK_UP_FS) + alone.latency_fs - LOOK_UP_FS, "{design}");
    }
}

#[test]
fn the_tuple_of_a_store_with_counter_overflow_completes_before_its_group_is_renewed() {
    for design in SCHEMES {
        let [usual, renewing] = [Meets::NewEntry, Meets::Overflow].map(|meets| store(design, meets));
        let data = |store: &Explanation| {
            own(store, Verb::Persist).into_iter().filter(|span| span.what == "data").cloned().collect::<Vec<_>>()
        };
        assert_eq!((data(&usual).len(), data(&renewing).len()), (1, LINES_OF_GROUP), "{design}");
        assert_eq!(own(&renewing, Verb::Fetch).iter().filter(|span| span.what == "data").count(), LINES_OF_GROUP - 1);
        let completed = own(&renewing, Verb::Complete)[0].end;
        let persisted = data(&renewing);
        assert!(persisted[0].end <= completed && persisted[1..].iter().all(|span| span.start > completed), "{design}");
        // With an early counter, the store waits for the whole renewal, and no step remains for a drain; otherwise it does not wait.
        let last = renewing.spans.iter().map(|span| span.end.as_fs()).max().unwrap();
        let expected = if design == "secpb-cobcm" { LOOK_UP_FS } else { last };
        assert_eq!(renewing.latency_fs, expected, "{design}");
    }
}

#[test]
fn an_explained_store_fetches_metadata_exactly_if_none_is_chosen_on_chip() {
    let design = catalogue::design("secpb-cobcm").unwrap();
    for (meets, own_lines, oldest_lines) in
        [(Meets::NewEntry, 8, 0), (Meets::Entry, 8, 0), (Meets::FullBuffer, 8, 8), (Meets::Overflow, 8, 0)]
    {
        let fetched = |on_chip| {
            let store = explained(&design, on_chip, meets).unwrap();
            let of_line = |span: &&Span| span.verb == Verb::Fetch && !span.what.ends_with("data");
            let (of_oldest, own): (Vec<_>, Vec<_>) = store
                .spans
                .iter()
                .filter(of_line)
                .map(|span| span.what.clone())
                .partition(|what| what.starts_with("oldest's"));
            (own.len(), of_oldest.len())
        };
        // In both cases, the chip lacks the other tag lines of a renewed group.
        let of_group = if meets == Meets::Overflow { LINES_OF_GROUP / 8 - 1 } else { 0 };
        assert_eq!(fetched(OnChipMetadata::Nothing), (own_lines + of_group, oldest_lines), "{meets:?}");
        assert_eq!(fetched(OnChipMetadata::All), (of_group, 0), "{meets:?}");
    }
}

#[test]
fn an_explained_store_is_the_same_each_time() {
    for meets in [Meets::FullBuffer, Meets::Overflow] {
        assert_eq!(store("secpb-bcm", meets), store("secpb-bcm", meets));
    }
}

#[test]
fn explain_refuses_a_store_condition_that_the_design_cannot_have() {
    let of = |of, design: &str| {
        let scenario = Scenario { of, meets: Some(Meets::Entry), ..Scenario::default() };
        let machine = catalogue::machine("secpb-pcm").unwrap();
        explain(&machine, &catalogue::design(design).unwrap(), scenario, LINE).unwrap_err()
    };
    assert!(of(Of::Read, "secpb-cm").contains("explain a store (--of store)"));
    assert!(of(Of::Write, "sc64-bmt").contains("explain a store (--of store)"));
    assert!(of(Of::Store, "plp-sp").contains("take 'secpb-cm'"));
    let refused = |design: &Design, meets| explained(design, OnChipMetadata::Nothing, meets).unwrap_err();
    assert!(refused(&catalogue::design("bbb").unwrap(), Meets::Overflow).contains("take 'secpb-cm'"));
    let mut leaving = catalogue::design("secpb-cm").unwrap();
    let persistence = &mut leaving.parts.persistence;
    (persistence.entries, persistence.drain_from, persistence.drain_to) =
        (1, Fraction::thousandths(1000), Fraction::thousandths(0));
    assert!(refused(&leaving, Meets::Entry).contains("no entry stays for a second store"));
}
