//! Refresh schedule of each rank.
//!
//! Refreshes are due at fixed times, one tREFI apart, staggered over the ranks so that one rank transfers data while
//! another rank refreshes. When a refresh is due, its rank accepts no new work: rows that are being opened are still
//! used, then all banks are closed and the refresh issues. A late refresh does not postpone the following ones. A
//! device with a tREFI of zero is never refreshed.

use super::config::DramConfig;

/// Due time of a device without refreshes: later than any command, and far from overflow.
const NEVER: u64 = u64::MAX / 2;

/// The refresh schedule of one rank.
#[derive(Clone, Debug)]
pub(super) struct Refresh {
    /// Clock at which the next refresh is due.
    pub due: u64,
    interval: u64,
    length: u64,
    until: u64,
    lost: u64,
    /// Clocks at which refreshes issued, if they are kept.
    kept: Option<Vec<u64>>,
}

impl Refresh {
    /// Creates the schedule of a rank.
    pub fn new(config: &DramConfig, rank: u64) -> Refresh {
        let interval = config.timing.trefi;
        let first = interval + interval * rank / config.organisation.ranks;
        Refresh {
            due: if interval > 0 { first } else { NEVER },
            interval,
            length: config.timing.trfc,
            until: 0,
            lost: 0,
            kept: None,
        }
    }

    /// Keeps the times of all further refreshes.
    pub fn keep(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// Returns the first clock of each kept refresh and the first clock after it.
    pub fn kept(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.kept.iter().flatten().map(|at| (*at, at + self.length))
    }

    /// Records a refresh that issues at `at`.
    pub fn issued(&mut self, at: u64) {
        self.kept.iter_mut().for_each(|kept| kept.push(at));
        self.until = at + self.length;
        self.lost += self.until - self.due;
        self.due += self.interval;
    }

    /// Performs all refreshes that are due before `end` on an idle channel. Returns their number and the clock of the
    /// last one.
    pub fn issued_while_idle(&mut self, end: u64) -> Option<(u64, u64)> {
        let more = end.checked_sub(self.due + 1)? / self.interval;
        let earlier = (0..more).map(|number| self.due + number * self.interval);
        self.kept.iter_mut().for_each(|kept| kept.extend(earlier.clone()));
        self.lost += more * self.length;
        self.due += more * self.interval;
        let last = self.due;
        self.issued(last);
        Some((more + 1, last))
    }

    /// Returns the number of clocks up to `now` in which a pending or running refresh blocked the rank.
    pub fn clock(&self, now: u64) -> u64 {
        self.lost + now.saturating_sub(self.due) - self.until.saturating_sub(now)
    }
}

/// Returns true if a refresh of any rank is due before the clock `end`.
pub(super) fn any_due_before(refreshes: &[Refresh], end: u64) -> bool {
    refreshes.iter().any(|refresh| refresh.due < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_over_idle_refreshes_has_the_effect_of_issuing_each() {
        let config = DramConfig::ddr4_3200();
        let (mut steps, mut leap) = (Refresh::new(&config, 0), Refresh::new(&config, 0));
        for _ in 0..10 {
            steps.issued(steps.due);
        }
        assert_eq!(leap.issued_while_idle(10 * 12_480 + 1), Some((10, 10 * 12_480)));
        assert_eq!(leap.issued_while_idle(11 * 12_480), None);
        assert_eq!((steps.due, steps.until, steps.lost), (leap.due, leap.until, leap.lost));
    }

    #[test]
    fn the_clock_of_refresh_waits_runs_from_the_due_time_to_the_end_of_trfc() {
        let mut refresh = Refresh::new(&DramConfig::ddr4_3200(), 0);
        assert_eq!(refresh.clock(12_480 + 9), 9);
        refresh.issued(12_480 + 30);
        assert_eq!(refresh.clock(12_480 + 40), 40);
        assert_eq!(refresh.clock(20_000), 590);
    }

    #[test]
    fn a_device_without_trefi_is_never_refreshed() {
        let mut config = DramConfig::ddr4_3200();
        (config.timing.trefi, config.timing.trfc) = (0, 0);
        assert_eq!(config.check(), Ok(()));
        let mut refresh = Refresh::new(&config, 0);
        assert_eq!(refresh.issued_while_idle(NEVER), None);
        assert_eq!(refresh.clock(1 << 50), 0);
    }

    #[test]
    fn ranks_are_refreshed_at_staggered_times() {
        let mut config = DramConfig::ddr4_3200();
        config.organisation.ranks = 2;
        let due: Vec<u64> = (0..2).map(|rank| Refresh::new(&config, rank).due).collect();
        assert_eq!(due, [12_480, 18_720]);
    }
}
