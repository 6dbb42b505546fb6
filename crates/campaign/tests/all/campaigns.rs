//! Do the designs withstand exactly the attacks that they claim to withstand?

use crate::common::swept::{an_eighth, share_of_tests, side_by_side, swept};
use casemate_campaign::bus::Structure;
use casemate_campaign::victim::Victim;
use casemate_campaign::{CrashOptions, Options, ageing, attack_design, crash, honest, tamper_before_overflow};
use catalogue::{Attack, Design, End, Loss, Verdict, designs};
use protection::counter::Age;
use protection::design::{CipherChoice, CounterChoice, Covered, MacChoice, MacDesign, Over, Parts};
use protection::ownership::Ownership;
use protection::planted::PlantedBug;
use std::sync::Mutex;
use units::LineAddr;
use units::random::Random;

#[test]
fn every_design_ends_every_attack_as_it_claims() {
    let complaints = Mutex::new(Vec::new());
    side_by_side(an_eighth(swept(), share_of_tests()), |design| {
        let report = attack_design(&design, &Options { trials: 25, ..Options::default() }, &mut |_, _| ());
        assert_eq!(report.rows.len(), Attack::ALL.len());
        assert_eq!(report.agrees, report.complaints().is_empty());
        complaints.lock().unwrap().extend(report.complaints());
    });
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_trial_repeated_by_its_seed_ends_as_in_the_campaign() {
    let design = catalogue::design("ctr-only").unwrap();
    let many = casemate_campaign::attack(&design, Attack::SpoofCounter, &Options::default());
    for example in many.examples {
        let alone = Options { trials: 1, seed: example.seed, ..Options::default() };
        let outcome = casemate_campaign::attack(&design, Attack::SpoofCounter, &alone);
        assert_eq!(outcome.examples, [example]);
    }
}

#[test]
fn an_honest_run_raises_no_alarm_and_returns_the_written_content() {
    side_by_side(an_eighth(swept(), share_of_tests()), |design| {
        let report = honest(&design.parts, 15_000, 7, PlantedBug::NONE).unwrap();
        assert_eq!((report.accesses, report.finding), (15_000, None), "{}", design.name);
    });
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn a_thousand_seeds_of_honest_runs_raise_no_alarm_under_any_design() {
    let designs = designs();
    for seed in 0..1_000 {
        for design in &designs {
            let report = honest(&design.parts, 2_000, seed, PlantedBug::NONE).unwrap();
            assert_eq!((report.accesses, report.finding), (2_000, None), "{}, seed {seed}", design.name);
        }
    }
}

#[test]
fn tampering_before_a_page_re_encryption_ends_like_a_data_flip() {
    for design in designs().into_iter().filter(|design| design.parts.counters != CounterChoice::None) {
        let verdict = tamper_before_overflow(&design.parts, 200, 1, PlantedBug::NONE).unwrap();
        assert_eq!(design.claims.about(Attack::FlipData), Some(verdict.into()), "{}", design.name);
    }
    for (counters, parts) in organisations() {
        let verdict = tamper_before_overflow(&parts, 200, 1, PlantedBug::NONE).unwrap();
        assert_eq!(verdict, Verdict::Detected, "{counters:?}");
    }
}

/// Length of the tags, for a line or for a chunk.
enum Length {
    Line(u32),
    Chunk(u32),
}

#[test]
fn the_strongest_design_withstands_every_attack_with_any_cipher_and_code() {
    use Length::{Chunk, Line};
    use {CipherChoice as C, MacChoice as M, Over as O};
    let base = catalogue::design("sc64-bmt").unwrap();
    // OCB in chunks of Triple-DES has longer tags: with 8 bits for each chunk some of these forgeries would pass.
    let pairs = vec![
        (C::Aes192Counter, M::CbcMac, O::Ciphertext, Line(64)),
        (C::Aes256Counter, M::HmacSha1, O::Ciphertext, Line(64)),
        (C::TdesCounter, M::HmacSha512, O::Ciphertext, Line(64)),
        (C::Aes128Gcm, M::Gmac, O::Ciphertext, Line(64)),
        (C::Aes256Gcm, M::Gmac, O::Ciphertext, Line(64)),
        (C::Aes128Ocb, M::Ocb, O::Plaintext, Line(64)),
        (C::Aes128OcbChunks, M::OcbChunks, O::Plaintext, Line(64)),
        (C::Aes128Xts, M::SgxCw, O::Ciphertext, Line(64)),
        (C::Aes256Xts, M::Gmac, O::Plaintext, Line(64)),
        (C::Aes128Cbc, M::Sha3, O::Plaintext, Line(64)),
        (C::TdesCbc, M::HmacSha256, O::Plaintext, Line(64)),
        (C::Aes128Ecb, M::Cmac, O::Ciphertext, Line(64)),
        (C::TdesEcb, M::SgxCw, O::Plaintext, Line(64)),
        (C::Aes128Counter, M::Gmac, O::Ciphertext, Line(128)),
        (C::Aes128Counter, M::HmacSha256, O::Ciphertext, Line(256)),
        (C::Aes128Xts, M::Sha3, O::Plaintext, Line(256)),
        (C::TdesOcbChunks, M::OcbChunks, O::Plaintext, Chunk(64)),
        (C::TdesOcbChunks, M::OcbChunks, O::Ciphertext, Chunk(64)),
        (C::Aes256OcbChunks, M::OcbChunks, O::Ciphertext, Chunk(128)),
    ];
    for (cipher, code, over, length) in an_eighth(pairs, share_of_tests()) {
        let covers = match code {
            M::Gmac | M::SgxCw | M::Ocb | M::OcbChunks => vec![],
            _ => vec![Covered::Address, Covered::Counter],
        };
        let mut design = base.clone();
        design.parts.cipher = cipher;
        let mac = MacDesign { code, over, covers, ..MacDesign::default() };
        design.parts.mac = match length {
            Line(bits) => mac.with_line_bits(bits),
            Chunk(bits) => mac.with_chunk_bits(bits),
        };
        let options = Options { trials: 20, ..Options::default() };
        let report = attack_design(&design, &options, &mut |_, _| ());
        // Encryption without a version leaks equal texts, and the report names this weakness.
        let may_leak = report.weaknesses.contains(&"deterministic encryption");
        let worse = report.rows.iter().filter(|row| row.claim.is_none_or(|claim| row.worst.is_worse_than(claim)));
        let worse: Vec<_> = worse.filter(|row| !(may_leak && row.worst == Verdict::Leaked)).collect();
        assert!(worse.is_empty(), "{cipher:?}, {code:?}: {worse:?}");
    }
}

/// The design with a tree, with every organisation of counters.
fn organisations() -> impl Iterator<Item = (CounterChoice, Parts)> {
    use CounterChoice::{Mono56, Morphable, Rv64, Sc64, Sc64Mac, Sc128, Vault16, Vault32};
    [Mono56, Rv64, Sc64, Sc64Mac, Sc128, Vault32, Vault16, Morphable]
        .into_iter()
        .map(|counters| (counters, Parts { counters, ..catalogue::design("sc64-bmt").unwrap().parts }))
}

#[test]
fn counters_near_overflow_are_renewed_without_pad_reuse_or_data_loss() {
    for (counters, parts) in organisations() {
        let report = ageing(&parts, Age::BeforeRenewal, 6_000, 1, PlantedBug::NONE).unwrap();
        assert_eq!((report.finding, report.refused), (None, 0), "{counters:?}");
        let are_renewed = ![CounterChoice::Mono56, CounterChoice::Rv64].contains(&counters);
        assert_eq!(report.renewals > 0, are_renewed, "{counters:?}: {report:?}");
    }
}

#[test]
fn a_write_with_an_exhausted_counter_is_refused_without_effect() {
    for (counters, parts) in organisations() {
        let report = ageing(&parts, Age::BeforeExhaustion, 2_000, 1, PlantedBug::NONE).unwrap();
        assert_eq!(report.finding, None, "{counters:?}");
        assert!(0 < report.refused && report.refused < report.writes, "{counters:?}: {report:?}");
    }
}

#[test]
fn an_honest_run_under_any_organisation_raises_no_alarm() {
    for (counters, parts) in organisations() {
        let report = honest(&parts, 20_000, 3, PlantedBug::NONE).unwrap();
        assert_eq!((report.accesses, report.finding), (20_000, None), "{counters:?}");
    }
}

#[test]
fn reports_are_json_with_the_command_that_replays_each_example() {
    let design = catalogue::design("none").unwrap();
    let report = attack_design(&design, &Options { trials: 1, ..Options::default() }, &mut |_, _| ());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["rows"][0]["attack"], "spoof-data");
    assert_eq!(json["rows"][0]["worst"], "forged");
    assert_eq!(json["rows"][0]["examples"][0]["replay"], "casemate attack none --row spoof-data --replay 1");
}

#[test]
fn a_claim_that_is_too_strong_or_too_weak_raises_a_complaint() {
    let mut design = catalogue::design("ctr-only").unwrap();
    design.claims = catalogue::design("sc64-bmt").unwrap().claims;
    let options = Options { trials: 10, ..Options::default() };
    let broken = casemate_campaign::attack(&design, Attack::FlipData, &options);
    let complaint = broken.complaint("ctr-only").unwrap();
    assert!(
        complaint.contains("claims detected, ended forged: casemate attack ctr-only --row flip-data"),
        "{complaint}"
    );
    design = catalogue::design("sc64-bmt").unwrap();
    design.claims = catalogue::design("none").unwrap().claims;
    let stale = casemate_campaign::attack(&design, Attack::FlipData, &Options::default());
    assert!(stale.complaint("sc64-bmt").unwrap().contains("(better than claimed)"));
    let few = casemate_campaign::attack(&design, Attack::FlipData, &options);
    assert!(few.agrees && !few.reached && few.complaint("sc64-bmt").is_none(), "ten trials may miss what is claimed");
}

fn ends(design: &Design, attack: Attack) -> End {
    casemate_campaign::attack(design, attack, &Options { trials: 40, ..Options::default() }).worst
}

#[test]
fn attacks_by_other_software_apply_only_to_designs_with_page_ownership() {
    use Attack::{ForeignRead, ForeignWrite, RemapPage, SoftwareDictionary, SoftwareRepeat, SpoofOwner};
    for design in an_eighth(swept(), share_of_tests()) {
        for row in [ForeignRead, ForeignWrite, RemapPage, SpoofOwner, SoftwareRepeat, SoftwareDictionary] {
            let applies = ends(&design, row) != Verdict::NotApplicable;
            assert_eq!(applies, design.parts.ownership != Ownership::None, "{}, {row}", design.name);
        }
    }
}

#[test]
fn page_owners_in_memory_can_be_spoofed_despite_a_tree_and_are_listed_as_a_weakness() {
    let mut design = catalogue::design("sc64-bmt").unwrap();
    design.parts.ownership = Ownership::Pages;
    assert_eq!(ends(&design, Attack::RemapPage), Verdict::Refused);
    assert_eq!(ends(&design, Attack::SpoofOwner), Verdict::Forged);
    assert_eq!(ends(&design, Attack::SoftwareRepeat), Verdict::Hidden, "ciphertext is seen, and never twice the same");
    assert_eq!(design.parts.weaknesses(), ["unchecked owners in memory"]);
}

#[test]
fn the_firmware_check_detects_address_aliases_at_power_on_and_not_at_run_time() {
    let mut design = catalogue::design("scalable-sgx-like").unwrap();
    for (alias_check, badram) in [(true, Verdict::Detected), (false, Verdict::Stale)] {
        design.alias_check = alias_check;
        assert_eq!(ends(&design, Attack::Badram), badram);
        assert_eq!(ends(&design, Attack::BatteringRam), Verdict::Stale);
    }
}

#[test]
fn replay_commands_name_the_file_of_a_user_design() {
    let design = Design { file: Some("my designs/bold.toml".to_owned()), ..catalogue::design("none").unwrap() };
    let outcome = casemate_campaign::attack(&design, Attack::FlipData, &Options { trials: 1, ..Options::default() });
    assert_eq!(outcome.examples[0].replay, "casemate attack 'my designs/bold.toml' --row flip-data --replay 1");
    let options = CrashOptions { rows: vec![Loss::PowerLoss], workload: Some(0), ..CrashOptions::default() };
    let example = crash(&design, &options, &mut |_, _| ()).rows.swap_remove(0).example.unwrap();
    assert_eq!(example.replay, "casemate crash 'my designs/bold.toml' --row power-loss --workload 0 --seed 1");
}

/// The counters of the first write arrive after those of the second. The second write therefore fetched the old counters,
/// so that both writes took the same counter. The stale content of the line is only half of the harm.
#[test]
fn a_delayed_counter_write_ends_as_both_stale_data_and_leaked_pad() {
    let design = catalogue::design("ctr-mac-version").unwrap();
    let outcome = casemate_campaign::attack(&design, Attack::DelayWrite, &Options::default());
    let both = End::from(Verdict::Stale).leaking(true);
    assert_eq!((outcome.worst, outcome.claim, outcome.agrees), (both, Some(both), true), "{:?}", outcome.histogram);
    assert!(outcome.histogram.keys().any(|end| end.leaks()));
    for claim in [Verdict::Stale, Verdict::Leaked] {
        let mut design = design.clone();
        design.claims.set(Attack::DelayWrite, claim.into());
        let outcome = casemate_campaign::attack(&design, Attack::DelayWrite, &Options::default());
        let complaint = outcome.complaint("ctr-mac-version").unwrap();
        assert!(complaint.contains(&format!("claims {claim}, ended stale + leaked: casemate")), "{complaint}");
    }
    let with_a_tree = catalogue::design("sc64-bmt").unwrap();
    let outcome = casemate_campaign::attack(&with_a_tree, Attack::DelayWrite, &Options::default());
    assert!(outcome.histogram.keys().all(|end| !end.leaks()), "{:?}", outcome.histogram);
}

/// The attacker makes a re-encryption fail half-way, restores the whole memory, lets the victim write a line that had been
/// re-encrypted, and lets the next overflow pass. Had the counters not advanced at the first attempt, the same pad would
/// hide that line twice, and the attacker has both ciphertexts.
#[test]
fn a_sabotaged_re_encryption_loses_the_page_but_reuses_no_pad() {
    let (hot, bait, page) = (LineAddr(5), LineAddr(0), 0..64);
    let design = catalogue::design("sc64-bmt").unwrap();
    let mut victim = Victim::blank(&design.parts, 1, PlantedBug::NONE).unwrap();
    let mut random = Random::new(1);
    for line in page {
        victim.write(LineAddr(line), &random.line());
    }
    for _ in 1..127 {
        assert_eq!(victim.write(hot, &random.line()), None);
    }
    victim.machine().flush();
    let before = victim.attacked(|bus| bus.record());
    victim.attacked(|bus| bus.flip_bit_of(Structure::Data, LineAddr(40), 0));
    assert!(victim.write(hot, &random.line()).is_some(), "the 128th write finds the flip");
    victim.machine().flush();
    victim.attacked(|bus| before.slots().for_each(|(slot, content)| bus.put(slot, content)));
    victim.write(bait, &random.line());
    for _ in 0..200 {
        victim.write(hot, &random.line());
    }
    assert_eq!(victim.memory().keystream_reuse(), None);
}
