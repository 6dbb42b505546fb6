//! Every rule of a machine file: a test makes one value of `modern` impossible, and the error must name the file, the key and the rule.

use casemate_catalogue::{Machine, machine};
use machine::node::NodeConfig;
use toml::{Table, Value};
use units::{Bytes, Frequency};

/// A key, its value in the syntax of a file, and the text of the error after the file's name.
type Case<'a> = (&'static str, &'a str, &'static str);

/// `modern` as a file with every value written out, and with another value at `key`; adds missing tables on the path.
fn changed(key: &str, value: &str) -> String {
    let mut file: Table = toml::from_str(&toml::to_string(&machine("modern").unwrap()).unwrap()).unwrap();
    let value = toml::from_str::<Table>(&format!("it = {value}")).unwrap().remove("it").unwrap();
    let mut path: Vec<&str> = key.split('.').collect();
    let last = path.pop().unwrap();
    let mut table = &mut file;
    for step in path {
        let next = table.entry(step).or_insert_with(|| Value::Table(Table::new()));
        table = next.as_table_mut().unwrap();
    }
    table.insert(last.to_owned(), value);
    toml::to_string(&file).unwrap()
}

fn refusal(text: &str) -> String {
    Machine::parse("mine.toml", text).expect_err("an impossible machine was accepted").to_string()
}

fn each_is_refused(cases: &[Case<'_>]) {
    for (key, value, expected) in cases {
        let refusal = refusal(&changed(key, value));
        assert!(refusal.starts_with("mine.toml: "), "{key} = {value}: {refusal}");
        assert!(refusal.contains(expected), "{key} = {value}: {refusal}");
    }
}

#[test]
fn a_machine_file_with_every_value_written_out_is_the_same_machine() {
    let modern = machine("modern").unwrap();
    assert_eq!(Machine::parse("mine.toml", &toml::to_string(&modern).unwrap()).unwrap(), modern);
}

#[test]
fn an_impossible_core_is_refused() {
    each_is_refused(&[
        ("node.clock_mhz", "0", "node.clock_mhz must be between 1 and 100000, but is 0"),
        ("node.clock_mhz", "2000000000", "node.clock_mhz must be between 1 and 100000, but is 2000000000"),
        ("node.clock_mhz", "3000", "node.clock_mhz is 3000, of which a cycle is 333333.333 femtoseconds"),
        ("node.dispatch_width", "0", "node.dispatch_width is 0: expected at least 1"),
        ("node.retire_width", "0", "node.retire_width is 0: expected at least 1"),
        ("node.issue_width", "0", "node.issue_width is 0: expected at least 1"),
        ("node.complete_width", "0", "node.complete_width is 0: expected at least 1"),
        ("node.read_queue_ports", "0", "node.read_queue_ports is 0: expected at least 1"),
        ("node.rob", "0", "node.rob is 0: expected at least 1"),
        ("node.rob", "4000000000", "node.rob is 4000000000: expected at most 65536"),
        ("node.load_queue", "0", "node.load_queue is 0: expected at least 1"),
        ("node.load_queue", "100000", "node.load_queue is 100000: expected at most 65536"),
        ("node.store_queue", "0", "node.store_queue is 0: expected at least 1"),
        ("node.store_queue", "100000", "node.store_queue is 100000: expected at most 65536"),
        ("node.load_ports", "0", "node.load_ports is 0: expected at least 1"),
        ("node.store_ports", "0", "node.store_ports is 0: expected at least 1"),
        ("node.physical_registers", "3", "node.physical_registers is 3: expected at least"),
        ("node.units.int_alu.count", "0", "node.units.int_alu.count is 0: expected at least 1"),
        ("node.units.int_mul.count", "0", "node.units.int_mul.count is 0: expected at least 1"),
        ("node.units.int_div.count", "0", "node.units.int_div.count is 0: expected at least 1"),
        ("node.units.fp_add.count", "0", "node.units.fp_add.count is 0: expected at least 1"),
        ("node.units.fp_mul.count", "0", "node.units.fp_mul.count is 0: expected at least 1"),
        ("node.units.fp_div.latency_cycles", "0", "node.units.fp_div.latency_cycles is 0: expected at least 1"),
        ("node.units.branch.count", "0", "node.units.branch.count is 0: expected at least 1"),
        (
            "node.predictor.direction_entries",
            "1000",
            "node.predictor.direction_entries is 1000: expected a power of two",
        ),
        ("node.predictor.direction_entries", "8", "expected a power of two from 16"),
        (
            "node.predictor.direction_entries",
            "33554432",
            "node.predictor.direction_entries is 33554432: expected at most",
        ),
        ("node.predictor.target_entries", "1000", "node.predictor.target_entries: 1000 entries in"),
        ("node.predictor.target_ways", "0", "node.predictor.target_entries: "),
        ("node.predictor.return_stack_entries", "0", "node.predictor.return_stack_entries is 0: expected at least 1"),
        ("node.itlb.entries", "0", "node.itlb: 0 entries in"),
        ("node.dtlb.ways", "0", "node.dtlb: 64 entries in 0 ways"),
        ("node.stlb.entries", "1536", "node.stlb: 1536 entries in 16 ways make 96 sets; expected a power of two"),
    ]);
}

#[test]
fn negative_latencies_of_counter_decoding_xor_and_candidate_matching_are_refused() {
    each_is_refused(&[("engines.counter_decode_ns", "-1.0", "engines.counter_decode_ns is -1: expected 0 to 1000000")]);
    each_is_refused(&[("engines.xor_ns", "-1.0", "engines.xor_ns is -1: expected 0 to 1000000")]);
    each_is_refused(&[("engines.candidates_ns", "-1.0", "engines.candidates_ns is -1: expected 0 to 1000000")]);
}

#[test]
fn an_invalid_threshold_for_turning_off_decryption_in_l2s_is_refused() {
    let at_l2 = |per_thousand_requests: u64, sample: u64| {
        refusal(&changed(
            "at_l2",
            &format!(
                "{{ counter_look_up_ns = 6.0, aes_share = 0.5, patience_ns = 6.0, off_below = \
                 {{ per_thousand_requests = {per_thousand_requests}, sample = {sample} }} }}"
            ),
        ))
    };
    assert!(at_l2(0, 1).contains("mine.toml: at_l2.off_below.per_thousand_requests is 0: expected 1 to 1000"));
    assert!(at_l2(1001, 1).contains("at_l2.off_below.per_thousand_requests is 1001: expected 1 to 1000"));
    assert!(at_l2(10, 0).contains("at_l2.off_below.sample is 0: expected 1 to 1000000000"));
}

#[test]
fn an_unknown_llc_miss_predictor_is_refused() {
    let refusal = refusal(&changed("llc.miss_prediction", "'always'"));
    assert!(
        refusal.starts_with("mine.toml") && refusal.contains("unknown variant `always`, expected `xpt`"),
        "{refusal}"
    );
}

#[test]
fn impossible_limits_of_overflows_are_refused() {
    let slots = "memory.overflows.slots is 3: expected at least 4, the most lines under one tag";
    each_is_refused(&[
        (
            "memory.overflows",
            "{ outstanding = 0, slots = 8 }",
            "memory.overflows.outstanding is 0: expected at least 1",
        ),
        ("memory.overflows", "{ outstanding = 2, slots = 3 }", slots),
    ]);
}

#[test]
fn an_impossible_private_cache_is_refused() {
    each_is_refused(&[
        ("node.l1i.mshrs", "0", "node.l1i.mshrs is 0: expected at least 1"),
        ("node.l1d.mshrs", "0", "node.l1d.mshrs is 0: expected at least 1"),
        ("node.l2.mshrs", "0", "node.l2.mshrs is 0: expected at least 1"),
        ("node.l2.mshrs", "70000", "node.l2.mshrs is 70000: expected at most 65536"),
        ("node.l1i.size", "'33 KB'", "node.l1i: 528 entries in 8 ways make 66 sets; expected a power of two"),
        ("node.l1d.ways", "0", "node.l1d: 768 entries in 0 ways"),
        ("node.l1d.ways", "10", "node.l1d: 768 entries in 10 ways make 76 sets; expected a power of two"),
        ("node.l2.size", "'1024 GB'", "node.l2, in entries, is 17179869184: expected at most 16777216"),
        ("node.l2.size", "'1000'", "node.l2.size is 1000 B: expected a multiple of 64 B"),
        ("node.l1d.line", "'48'", "node.l1d.line is 48 B: expected 32 B or 64 B"),
        ("node.l2.line", "'32'", "no more than the 32 B of l2.line"),
        ("node.l1i.prefetcher", "{ next-line = { degree = 1 } }", "node.l1i.prefetcher: only l1d and l2 can have one"),
        ("node.l2.prefetcher", "{ next-line = { degree = 0 } }", "node.l2.prefetcher.degree is 0: expected at least 1"),
        (
            "node.l2.prefetcher",
            "{ stride = { degree = 1, entries = 24 } }",
            "node.l2.prefetcher.stride.entries is 24: expected a power of two from 4",
        ),
    ]);
}

#[test]
fn an_impossible_walker_is_refused() {
    let walker = |caches: &str, levels: u32, outstanding: u32| {
        let walker = format!(
            "{{ levels = {levels}, layout = 'radix', structure_caches = {caches}, outstanding = {outstanding}, \
             latency_cycles = 0, step_cycles = 0, first_touch_cycles = 0 }}"
        );
        refusal(&changed("node.walker", &walker))
    };
    for (refusal, expected) in [
        (walker("[4]", 1, 2), "node.walker.levels is 1 with 1 structure caches: expected 2 to"),
        (walker("[4, 4]", 4, 2), "node.walker.levels is 4 with 2 structure caches"),
        (walker("[4, 0, 4]", 4, 2), "node.walker.structure_caches is 0: expected at least 1"),
        (walker("[4, 4, 4]", 4, 0), "node.walker.outstanding is 0: expected at least 1"),
    ] {
        assert!(refusal.starts_with("mine.toml: ") && refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn an_impossible_last_level_cache_is_refused() {
    each_is_refused(&[
        ("llc.size", "'9 MB'", "llc: size \"9 MB\" in 16 ways of 64 B lines makes 9216 sets: expected a power of two"),
        ("llc.size", "'8388609'", "llc: size \"8388609 B\" in 16 ways"),
        ("llc.size", "'0'", "makes 0 sets"),
        ("llc.size", "'1024 GB'", "and at most 1 GB"),
        ("llc.ways", "0", "llc: size \"8 MB\" in 0 ways"),
        ("llc.mshrs", "0", "llc.mshrs is 0: expected 1 to 4096"),
        ("llc.mshrs", "5000", "llc.mshrs is 5000: expected 1 to 4096"),
        ("llc.writeback_buffers", "0", "llc.writeback_buffers is 0: expected 1 to 4096"),
        ("llc.latency_ns", "-1.0", "llc.latency_ns is -1: expected 0 to 1000000"),
        ("llc.latency_ns", "nan", "llc.latency_ns is NaN: expected 0 to 1000000"),
    ]);
}

#[test]
fn an_impossible_memory_is_refused() {
    each_is_refused(&[
        ("memory.path_ns", "-0.5", "memory.path_ns is -0.5: expected 0 to 1000000"),
        ("memory.page", "'16 KB'", "memory.page is \"16 KB\": expected \"4 KB\", \"8 KB\" or \"2 MB\""),
        ("memory.line", "'48 B'", "memory.line is \"48 B\": expected \"64 B\" or \"32 B\""),
        ("memory.line", "'32 B'", "l2.line is 64 B: expected 32 B or 64 B, and no more than the 32 B of memory.line"),
        ("memory.size", "'3 MB'", "memory.size is \"3 MB\": expected a multiple of 2 MB"),
        ("memory.size", "'0'", "memory.size is \"0 B\": expected a multiple of 2 MB"),
        ("memory.size", "'16 GB'", "memory.size is \"16 GB\", more than the 8 GB that its channels have"),
        ("memory.channels", "0", "memory.channels must be between 1 and 8, but is 0"),
        ("memory.channels", "9", "memory.channels must be between 1 and 8, but is 9"),
        ("memory.interleave.lines", "0", "memory.interleave.lines must be positive, but is 0"),
    ]);
    let xor = changed("memory.interleave.deal", "'xor'").replace("channels = 1", "channels = 3");
    assert!(refusal(&xor).contains("memory.interleave.deal is \"xor\", which needs a power of two of channels"));
}

#[test]
fn an_invalid_critical_word_order_is_refused_with_its_line_and_the_valid_values() {
    for value in ["'last'", "3"] {
        let refused = refusal(&changed("memory.critical_word_first", value));
        assert!(refused.starts_with("mine.toml:") && refused.contains("memory.critical_word_first"), "{refused}");
        assert!(refused.contains("expected true, false or \"from-first\""), "{refused}");
    }
}

#[test]
fn cache_lines_of_32_bytes_are_refused_with_parts_that_need_64_byte_lines() {
    let cryptopage = include_str!("../../../../machines/cryptopage-2006.toml");
    let with = |from: &str, to: &str| refusal(&cryptopage.replace(from, to));
    assert!(with("bursts = \"any\"", "bursts = \"fixed\"").contains("all bursts of this memory have 64 bytes"));
    let prefetcher = "latency_cycles = 1\nmshrs = 64\nprefetcher = { next-line = { degree = 1 } }";
    assert!(with("latency_cycles = 1\nmshrs = 64", prefetcher).contains("l1d.prefetcher needs lines of 64 bytes"));
    assert!(with("burst_clocks = 8", "burst_clocks = 7").contains("burst_clocks must be a multiple of 8"));
}

#[test]
fn an_invalid_clock_is_refused_with_its_line_and_an_example() {
    for value in ["'4 GHz'", "2.5", "-1", "'1/0 MHz'", "'twice'"] {
        let refusal = refusal(&changed("node.clock_mhz", value));
        assert!(refusal.starts_with("mine.toml:") && refusal.contains("clock_mhz"), "{refusal}");
        let expected = "expected megahertz, whole as in 1600 or as a ratio as in \"500/3 MHz\"";
        assert!(refusal.contains(expected), "{value}: {refusal}");
    }
}

#[test]
fn an_impossible_dram_is_refused() {
    each_is_refused(&[
        ("dram.clock_mhz", "0", "dram: clock_mhz must be between 1 and 100000, but is 0"),
        ("dram.clock_mhz", "2400", "dram: clock_mhz is 2400, of which a cycle is 416666.667 femtoseconds"),
        ("dram.read_queue", "0", "dram: read_queue must be between 1 and 4096, but is 0"),
        ("dram.write_queue", "5000", "dram: write_queue must be between 1 and 4096, but is 5000"),
        ("dram.drain_start", "33", "dram: drain_start must not exceed write_queue, but 33 > 32"),
        ("dram.drain_stop", "26", "dram: drain_stop must be below drain_start, but 26 >= 26"),
        ("dram.page_policy", "{ open-with-timeout = { idle_clocks = 0 } }", "dram: idle_clocks must be positive"),
        ("dram.scheduler", "{ fr-fcfs-capped = { cap = 0 } }", "dram: cap must be positive, but is 0"),
        ("dram.organisation.ranks", "0", "dram: ranks must be a power of two of at most 128, but is 0"),
        ("dram.organisation.ranks", "16", "dram: ranks x bank_groups x banks_per_group must be at most 128"),
        ("dram.organisation.bank_groups", "3", "dram: bank_groups must be a power of two of at most 128, but is 3"),
        ("dram.organisation.banks_per_group", "6", "dram: banks_per_group must be a power of two"),
        ("dram.organisation.rows", "4294967296", "dram: rows must be a power of two of at most 2147483648"),
        ("dram.organisation.lines_per_row", "100", "dram: lines_per_row must be a power of two of at most 65536"),
        ("dram.organisation.lines_per_row", "131072", "dram: lines_per_row must be a power of two of at most 65536"),
        ("dram.organisation.lines_per_row", "32", "memory.size is \"4 GB\", more than the 2 GB that its channels have"),
        ("dram.timing.trc", "73", "dram: trc must be at least tras + trp, but 73 < 74"),
        ("dram.timing.tras", "21", "dram: tras must be at least trcd, but 21 < 22"),
        ("dram.timing.tccd_s", "3", "dram: tccd_s must be at least burst_clocks, but 3 < 4"),
        ("dram.timing.tccd_l", "3", "dram: tccd_l must be at least tccd_s, but 3 < 4"),
        ("dram.timing.trrd_l", "3", "dram: trrd_l must be at least trrd_s, but 3 < 4"),
        ("dram.timing.twtr_l", "3", "dram: twtr_l must be at least twtr_s, but 3 < 4"),
        ("dram.timing.cwl", "29", "dram: cl + burst_clocks + trtrs must be at least cwl, but 28 < 29"),
        ("dram.timing.cl", "0", "dram: cl must be positive, but is 0"),
        ("dram.timing.cwl", "0", "dram: cwl must be positive, but is 0"),
        ("dram.timing.trcd", "0", "dram: trcd must be positive, but is 0"),
        ("dram.timing.trp", "0", "dram: trp must be positive, but is 0"),
        ("dram.timing.trtp", "0", "dram: trtp must be positive, but is 0"),
        ("dram.timing.trrd_s", "0", "dram: trrd_s must be positive, but is 0"),
        ("dram.timing.burst_clocks", "0", "dram: burst_clocks must be positive, but is 0"),
        ("dram.timing.trfc", "0", "dram: trfc must be positive, but is 0"),
        ("dram.timing.trefi", "0", "dram: trfc must be 0 if trefi is, but is 560"),
        ("dram.timing.trefi", "1267", "dram: trefi must be at least 2 x (trfc + trc), but 1267 < 1268"),
    ]);
}

#[test]
fn an_impossible_phase_change_memory_is_refused() {
    let secpb = machine("secpb-pcm").unwrap();
    let file = |change: &dyn Fn(&mut machine::pcm::PcmConfig)| {
        let mut changed = secpb.clone();
        change(changed.pcm.as_mut().unwrap());
        refusal(&toml::to_string(&changed).unwrap())
    };
    for (refusal, expected) in [
        (file(&|pcm| pcm.clock_mhz = Frequency::from_mhz(0)), "pcm: clock_mhz must be between 1 and 100000, but is 0"),
        (file(&|pcm| pcm.burst_clocks = 0), "pcm: burst_clocks must be between 1 and 1000, but is 0"),
        (file(&|pcm| pcm.banks = 12), "pcm: banks must be a power of two of at most 64, but is 12"),
        (file(&|pcm| pcm.read_ns = 0.0), "pcm: read_ns must be positive and below 1000000, but is 0"),
        (file(&|pcm| pcm.write_ns = -1.0), "pcm: write_ns must be positive and below 1000000, but is -1"),
        (file(&|pcm| pcm.read_queue = 0), "pcm: read_queue must be between 1 and 4096, but is 0"),
        (file(&|pcm| pcm.write_pending_queue = 0), "pcm: write_pending_queue must be between 1 and 4096, but is 0"),
        (file(&|pcm| pcm.drain_start = 129), "pcm: drain_start must not exceed write_queue, but 129 > 128"),
        (file(&|pcm| pcm.drain_stop = 109), "pcm: drain_stop must be below drain_start, but 109 >= 109"),
        (file(&|pcm| pcm.capacity.0 = 4 << 30), "memory.size is \"8 GB\", more than the 4 GB that its channels have"),
    ] {
        assert!(refusal.starts_with("mine.toml: ") && refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn an_impossible_engine_is_refused() {
    for engine in ["aes", "mac", "hash", "metadata_cache"] {
        let refused = |key: &str, value: &str| refusal(&changed(&format!("engines.{engine}.{key}"), value));
        assert!(refused("units", "0").contains(&format!("engines.{engine}.units is 0: at least one unit is needed")));
        assert!(refused("latency_ns", "-2.0").contains(&format!("engines.{engine}.latency_ns is -2: expected 0 to")));
        for interval in ["inf", "0", "0.0", "1e-7", "-1.0"] {
            let said = refused("interval_ns", interval);
            assert!(said.contains(&format!("engines.{engine}.interval_ns is ")), "{said}");
            assert!(said.contains(": expected 0.001 to 1000000"), "{said}");
        }
    }
}

#[test]
fn an_absurd_latency_is_refused() {
    each_is_refused(&[
        ("node.l2.latency_cycles", "1000000000000", "node.l2.latency_cycles is 1000000000000: expected at most 10000"),
        (
            "node.units.fp_div.latency_cycles",
            "2000000",
            "node.units.fp_div.latency_cycles is 2000000: expected at most",
        ),
        ("node.walk_latency_cycles", "10001", "node.walk_latency_cycles is 10001: expected at most 10000"),
        ("dram.timing.cl", "999999", "dram.timing.cl is 999999: expected at most 1000"),
        ("dram.timing.tfaw", "1001", "dram.timing.tfaw is 1001: expected at most 1000"),
        ("dram.timing.trfc", "10001", "dram.timing.trfc is 10001: expected at most 10000"),
        ("dram.timing.trefi", "1000001", "dram.timing.trefi is 1000001: expected at most 1000000"),
    ]);
}

#[test]
fn a_machine_has_one_kind_of_memory() {
    let modern = machine("modern").unwrap();
    let neither = Machine { dram: None, ..modern.clone() };
    let both = Machine { pcm: machine("secpb-pcm").unwrap().pcm, ..modern };
    assert!(refusal(&toml::to_string(&neither).unwrap()).contains("needs a [dram] or a [pcm], and has neither"));
    assert!(refusal(&toml::to_string(&both).unwrap()).contains("needs a [dram] or a [pcm], and has both"));
}

#[test]
fn invalid_shares_and_latencies_of_l2_decryption_are_refused() {
    let whole = "{ counter_look_up_ns = 6.0, aes_share = 0.5, patience_ns = 6.0 }";
    let with = |key: &str, value: &str| whole.replace(key, value);
    each_is_refused(&[
        (
            "at_l2",
            &with("aes_share = 0.5", "aes_share = 0.3"),
            "at_l2.aes_share is 0.3: expected a share of engines.aes.units = ",
        ),
        ("at_l2", &with("aes_share = 0.5", "aes_share = 1.0"), "and leaves the controller some"),
        ("at_l2", &with("look_up_ns = 6.0", "look_up_ns = -1.0"), "at_l2.counter_look_up_ns is -1: expected 0"),
        ("at_l2", &with("patience_ns = 6.0", "patience_ns = 1e6"), "at_l2.patience_ns is 1000000: expected 0"),
        ("llc.controller_latency_ns", "-1.0", "llc.controller_latency_ns is -1: expected 0 to 1000000"),
    ]);
    let mut server = machine("emcc-4core").unwrap();
    server.llc.controller_latency_ns = Some(3.0);
    let error = refusal(&toml::to_string(&server).unwrap());
    assert!(error.contains("llc.controller_latency_ns is 3, less than noc.lookup_ns = 4"), "{error}");
}

#[test]
fn an_l2_with_32_byte_lines_is_refused_for_decryption_in_l2s() {
    let mut server = machine("emcc-4core").unwrap();
    let NodeConfig { l1i, l1d, l2, .. } = &mut server.node;
    [l1i, l1d, l2].into_iter().for_each(|cache| cache.line = Bytes(32));
    let error = refusal(&toml::to_string(&server).unwrap());
    assert!(error.contains("node.l2.line is \"32 B\"") && error.contains("expected \"64 B\""), "{error}");
    server.at_l2 = None;
    assert!(Machine::parse("mine.toml", &toml::to_string(&server).unwrap()).is_ok());
}

#[test]
fn an_unknown_key_or_choice_is_refused_with_its_line_and_the_nearest_right_one() {
    for (key, value, found, nearest) in [
        ("node.dispatch_widht", "4", "dispatch_widht", "dispatch_width"),
        ("node.l2.mshr", "4", "mshr", "mshrs"),
        ("llc.way", "16", "way", "ways"),
        ("memory.pages", "'4 KB'", "pages", "page"),
        ("dram.timing.tRCD", "22", "tRCD", "trcd"),
        ("dram.organisation.row", "65536", "row", "rows"),
        ("dram.scheduler", "'fr-fcf'", "fr-fcf", "fr-fcfs"),
        ("engines.aes.unit", "4", "unit", "units"),
    ] {
        let refusal = refusal(&changed(key, value));
        let line = refusal.strip_prefix("mine.toml:").and_then(|rest| rest.split(':').next());
        assert!(line.is_some_and(|line| line.parse::<usize>().is_ok()), "{key}: {refusal}");
        assert!(refusal.contains(&format!("`{found}`")), "{key}: {refusal}");
        assert!(refusal.contains(&format!("did you mean '{nearest}'?")), "{key}: {refusal}");
    }
}
