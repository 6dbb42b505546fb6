//! Tests that several channels behave like one memory.

use super::*;
use crate::dram::{BurstLength, DramConfig};
use crate::pcm::PcmConfig;
use crate::testing::clocks_of_reads;
use sim::Executor;
use std::cell::RefCell;
use units::Time;

fn memory(channels: usize, interleave: Interleave) -> MemoryConfig {
    MemoryConfig {
        channels,
        interleave,
        words: WordOrder::Whole,
        device: DramConfig::ddr4_3200().into(),
        line: LineLength::WHOLE,
    }
}

/// Returns the answer times of concurrent reads of these lines, in memory clocks, and the statistics.
fn reads(config: MemoryConfig, lines: Vec<u64>) -> (Vec<u64>, DramCounts) {
    let mut executor = Executor::new();
    let memory = MemorySystem::start(executor.clock(), config);
    let times = clocks_of_reads(&mut executor, lines, |line| {
        let memory = memory.clone();
        async move { memory.read(line, Wanted::LINE).await }
    });
    (times, memory.counts())
}

#[test]
fn reads_on_different_channels_do_not_wait_for_each_other() {
    let (times, counts) = reads(memory(8, Interleave::default()), (0..8).collect());
    assert_eq!(times, [48; 8]);
    assert_eq!((counts.reads, counts.row_closed), (8, 8));
    let (times, _) = reads(memory(8, Interleave { lines: 2, deal: Deal::Plain }), vec![0, 1]);
    assert_eq!(times, [48, 56], "both lines of a granule are on one channel, tCCD_L apart");
}

#[test]
fn a_memory_system_of_one_channel_has_the_timing_of_the_channel() {
    let lines: Vec<u64> = (0..300).map(|n| n * 7919 % 100_000).collect();
    let (times, counts) = reads(memory(1, Interleave::default()), lines.clone());
    let mut executor = Executor::new();
    let channel = Channel::start(executor.clock(), DramConfig::ddr4_3200());
    let alone = clocks_of_reads(&mut executor, lines, |line| {
        let channel = channel.clone();
        async move { channel.read(line, Wanted::LINE).await }
    });
    assert_eq!((times, counts), (alone, channel.counts()));
}

#[test]
fn the_capacity_is_that_of_all_channels() {
    assert_eq!(memory(4, Interleave::default()).capacity(), 32 << 30);
    assert!(memory(9, Interleave::default()).check().is_err());
}

#[test]
fn two_channels_of_ddr5_move_twice_as_much_as_one() {
    let device = DeviceConfig::from(DramConfig::ddr5_4800_subchannel());
    let config = |channels| MemoryConfig { device: device.clone(), ..memory(channels, Interleave::default()) };
    let last = |channels| reads(config(channels), (0..4096).collect()).0.into_iter().max().unwrap();
    let (one, two) = (last(1), last(2));
    assert!(one as f64 / two as f64 > 1.9, "{one} and {two}");
}

#[test]
fn writes_are_durable_on_entering_the_write_pending_queue() {
    let mut executor = Executor::new();
    let device = PcmConfig::secpb().into();
    let memory = MemorySystem::start(
        executor.clock(),
        MemoryConfig {
            channels: 1,
            interleave: Interleave::default(),
            words: WordOrder::Whole,
            device,
            line: LineLength::WHOLE,
        },
    );
    let durable = Rc::new(RefCell::new(Vec::new()));
    for line in 0..36 {
        let (memory, durable, clock) = (memory.clone(), durable.clone(), executor.clock().clone());
        executor.clock().spawn(async move {
            memory.write(LineAddr(line)).await;
            durable.borrow_mut().push(clock.now().as_fs());
        });
    }
    executor.run();
    let durable = durable.take();
    let burst = 4 * 833_000;
    // One write occupies the bus and 32 writes are pending. Each later write waits for one more transfer.
    assert_eq!(durable[..33], [0; 33]);
    assert_eq!(durable[33..], [burst, 2 * burst, 3 * burst]);
}

#[test]
fn memory_moves_lines_of_32_bytes_if_its_bursts_can_be_short_and_only_then() {
    let short = |bursts| {
        let mut dram = DramConfig { bursts, ..DramConfig::ddr4_3200() };
        (dram.timing.burst_clocks, dram.timing.tccd_s) = (8, 8);
        MemoryConfig { device: dram.into(), line: LineLength::HALF, ..memory(1, Interleave::default()) }
    };
    assert_eq!((short(BurstLength::Any).check(), short(BurstLength::Any).capacity()), (Ok(()), 4 << 30));
    assert!(short(BurstLength::Fixed).check().unwrap_err().contains("dram.bursts"));
    let pcm = MemoryConfig { device: PcmConfig::secpb().into(), ..short(BurstLength::Any) };
    assert!(pcm.check().unwrap_err().contains("memory.line is \"32 B\""));
}

#[test]
fn a_dram_burst_of_half_a_line_occupies_the_bus_half_as_long() {
    let mut config = DramConfig { bursts: BurstLength::Any, ..DramConfig::ddr4_3200() };
    (config.timing.burst_clocks, config.timing.tccd_s, config.timing.tccd_l) = (8, 8, 8);
    let ends = |words: [u8; 3]| {
        let mut dram = crate::dram::Dram::new(config.clone());
        for (token, words) in (0..).zip(words) {
            let burst = Burst { words, ..LineAddr(token).into() };
            dram.submit(Time::ZERO, burst, crate::dram::Kind::Read, token as u32);
        }
        let mut answers = Vec::new();
        let mut now = Time::ZERO;
        while let Some(next) = dram.advance(now, &mut answers) {
            now = next;
        }
        let clock = config.clock_mhz.clock().period().as_fs();
        answers.iter().map(|answer| answer.at.as_fs() / clock).collect::<Vec<_>>()
    };
    // tRCD + CL, then a clock for each of the eight words.
    assert_eq!(ends([8, 8, 8]), [52, 60, 68]);
    assert_eq!(ends([4, 8, 6]), [48, 56, 62]);
}
