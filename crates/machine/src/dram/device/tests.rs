//! Every timing constraint: a command is legal from one clock on, and illegal one clock earlier.

use super::*;

const T: fn() -> Timing = || DramConfig::ddr4_3200().timing;
/// Banks of the default organisation: 0 and 1 share a group, 4 is in another one.
const BANK: usize = 0;
const SAME: usize = 1;
const OTHER: usize = 4;
/// The first bank of the second rank, if the organisation has two.
const FAR: usize = 16;

/// Devices with rows that have been open for long, so that only the tested command matters, and a start clock.
fn open(ranks: u64, banks: &[usize]) -> (Device, u64) {
    let mut config = DramConfig::ddr4_3200();
    config.organisation.ranks = ranks;
    let mut device = Device::new(&config);
    for (number, &bank) in banks.iter().enumerate() {
        device.activate(bank, 7, 1_000 * (number as u64 + 1));
    }
    (device, 100_000)
}

#[test]
fn an_opened_row_is_read_after_trcd_and_closed_after_tras() {
    let (mut device, now) = open(1, &[]);
    device.activate(BANK, 7, now);
    assert_eq!(device.column_at(BANK, Kind::Read), now + T().trcd);
    assert_eq!(device.column_at(BANK, Kind::Write), now + T().trcd);
    assert_eq!(device.banks[BANK].precharge_ready, now + T().tras);
}

#[test]
fn a_bank_opens_again_after_trp_and_after_trc() {
    let (mut device, now) = open(1, &[BANK]);
    device.precharge(BANK, now);
    assert_eq!(device.activate_at(BANK), now + T().trp);

    let mut config = DramConfig::ddr4_3200();
    config.timing.trc = T().tras + T().trp + 9;
    let mut device = Device::new(&config);
    device.activate(BANK, 7, now);
    device.precharge(BANK, now + T().tras);
    assert_eq!(device.activate_at(BANK), now + config.timing.trc);
}

#[test]
fn a_row_is_closed_trtp_after_a_read_and_twr_after_the_last_written_data() {
    let (mut device, now) = open(1, &[BANK, OTHER]);
    device.column(BANK, Kind::Read, now, T().burst_clocks);
    assert_eq!(device.banks[BANK].precharge_ready, now + T().trtp);
    device.column(OTHER, Kind::Write, now + 100, T().burst_clocks);
    assert_eq!(device.banks[OTHER].precharge_ready, now + 100 + T().cwl + T().burst_clocks + T().twr);
}

#[test]
fn column_commands_are_tccd_l_apart_in_a_bank_group_and_tccd_s_otherwise() {
    for kind in [Kind::Read, Kind::Write] {
        let (mut device, now) = open(1, &[BANK, SAME, OTHER]);
        device.column(BANK, kind, now, T().burst_clocks);
        assert_eq!(device.column_at(BANK, kind), now + T().tccd_l);
        assert_eq!(device.column_at(SAME, kind), now + T().tccd_l);
        assert_eq!(device.column_at(OTHER, kind), now + T().tccd_s);
    }
}

#[test]
fn a_read_waits_twtr_after_the_last_written_data() {
    let (mut device, now) = open(1, &[BANK, SAME, OTHER]);
    device.column(BANK, Kind::Write, now, T().burst_clocks);
    assert_eq!(device.column_at(SAME, Kind::Read), now + 16 + 4 + T().twtr_l);
    assert_eq!(device.column_at(OTHER, Kind::Read), now + 16 + 4 + T().twtr_s);
}

#[test]
fn a_write_waits_until_the_data_bus_has_turned_around() {
    let (mut device, now) = open(1, &[BANK, OTHER]);
    device.column(BANK, Kind::Read, now, T().burst_clocks);
    assert_eq!(device.column_at(BANK, Kind::Write), now + 12);
    assert_eq!(device.column_at(OTHER, Kind::Write), now + 12);
}

#[test]
fn activates_are_trrd_l_apart_in_a_bank_group_and_trrd_s_between_groups() {
    let (mut device, now) = open(1, &[]);
    device.activate(BANK, 7, now);
    assert_eq!(device.activate_at(SAME), now + T().trrd_l);
    assert_eq!(device.activate_at(OTHER), now + T().trrd_s);
}

#[test]
fn a_fifth_activate_waits_for_tfaw() {
    let (mut device, now) = open(1, &[]);
    for (number, bank) in [0, 4, 8, 12].into_iter().enumerate() {
        device.activate(bank, 7, now + 4 * number as u64);
    }
    assert_eq!(device.activate_at(SAME), now + T().tfaw);
    device.activate(SAME, 7, now + T().tfaw);
    assert_eq!(device.activate_at(9), now + 4 + T().tfaw);
}

#[test]
fn a_refresh_waits_for_closed_banks_and_holds_them_for_trfc() {
    let (mut device, now) = open(1, &[BANK, OTHER]);
    assert_eq!(device.precharge_all_at(0), Some(2_000 + T().tras));
    device.precharge_all(0, now);
    assert_eq!(device.refresh_at(0), now + T().trp);
    device.refresh(0, now + T().trp);
    assert_eq!(device.activate_at(SAME), now + T().trp + T().trfc);
}

#[test]
fn dram_ranks_delay_each_other_only_by_the_shared_data_bus() {
    let (mut device, now) = open(2, &[BANK, FAR]);
    device.column(BANK, Kind::Read, now, T().burst_clocks);
    assert_eq!(device.column_at(FAR, Kind::Read), now + 4 + 2);
    assert_eq!(device.column_at(FAR, Kind::Write), now + 12);
    device.column(BANK, Kind::Write, now + 100, T().burst_clocks);
    assert_eq!(device.column_at(FAR, Kind::Read), now + 100 + 16 + 4 + 2 - 22);
    assert_eq!(device.column_at(FAR, Kind::Write), now + 100 + 4 + 2);
    device.precharge(BANK, now + 200);
    device.activate(BANK, 8, now + 300);
    assert!(device.activate_at(FAR) < now, "the other rank's activates are its own");
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is too early")]
fn a_dram_command_one_clock_too_early_is_refused() {
    let (mut device, now) = open(1, &[]);
    device.activate(BANK, 7, now);
    device.column(BANK, Kind::Read, now + T().trcd - 1, T().burst_clocks);
}
