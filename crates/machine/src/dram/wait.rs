//! Causes for which reads wait.
//!
//! In addition to the latency of its row outcome, a read may have waited for a refresh, for a write drain, for its
//! bank, or for other requests. The bank may still have been busy when the read arrived. Two stopwatches, for refreshes
//! and for write drains, run while these causes last. The cause with the largest part of the wait is recorded as the
//! cause of the read.

use serde::Serialize;

/// Main cause of the delay of a read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitCause {
    /// The read did not wait.
    Nothing,
    /// A refresh of its rank was pending or in progress.
    Refresh,
    /// Writes had priority in a drain.
    WriteDrain,
    /// Its bank was opening or closing a row, or finishing an access.
    BankBusy,
    /// Other requests had priority in the queues.
    Queue,
}

/// A stopwatch: counts the clocks during which a condition is true.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch {
    total: u64,
    since: Option<u64>,
}

impl Stopwatch {
    /// Starts or stops the stopwatch at `now`.
    pub fn set(&mut self, running: bool, now: u64) {
        match (running, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(since)) => {
                self.total += now - since;
                self.since = None;
            }
            _ => {}
        }
    }

    /// Returns the number of clocks for which the stopwatch has run until `now`.
    pub fn at(&self, now: u64) -> u64 {
        self.total + self.since.map_or(0, |since| now.saturating_sub(since))
    }
}

/// State at the arrival of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivalConditions {
    /// Clock at which the request was seen.
    pub seen: u64,
    /// Value of the refresh stopwatch of the request's rank at that time.
    pub refresh: u64,
    /// Value of the drain stopwatch at that time.
    pub drain: u64,
    /// Clock at which the bank would have started the request without other requests.
    pub bank_free: u64,
}

impl ArrivalConditions {
    /// Returns the excess of a wait that ends at `now` over the wait of a read on an otherwise idle channel, which is
    /// `needed` clocks.
    pub fn beyond(&self, now: u64, needed: u64) -> u64 {
        (now - self.seen).saturating_sub(needed)
    }

    /// Returns the cause of the wait of a read with a column command at `now`. On an otherwise idle channel, the
    /// command would have issued `needed` clocks after the request was seen. `refresh` and `drain` are the current
    /// values of the two stopwatches.
    pub fn cause(&self, now: u64, needed: u64, refresh: u64, drain: u64) -> WaitCause {
        let waited = self.beyond(now, needed);
        if waited == 0 {
            return WaitCause::Nothing;
        }
        let refresh = (refresh - self.refresh).min(waited);
        let drain = (drain - self.drain).min(waited - refresh);
        let rest = waited - refresh - drain;
        let bank = self.bank_free.saturating_sub(self.seen).min(rest);
        let parts = [
            (refresh, WaitCause::Refresh),
            (drain, WaitCause::WriteDrain),
            (bank, WaitCause::BankBusy),
            (rest - bank, WaitCause::Queue),
        ];
        parts.into_iter().rev().max_by_key(|(clocks, _)| *clocks).map_or(WaitCause::Nothing, |(_, cause)| cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stopwatch_of_waits_counts_only_while_it_runs() {
        let mut watch = Stopwatch::default();
        watch.set(true, 10);
        watch.set(true, 12);
        assert_eq!(watch.at(15), 5);
        watch.set(false, 20);
        assert_eq!(watch.at(100), 10);
    }

    #[test]
    fn the_reported_cause_of_a_dram_wait_is_its_largest_part() {
        let waits = ArrivalConditions { seen: 100, refresh: 50, drain: 7, bank_free: 110 };
        assert_eq!(waits.cause(144, 44, 50, 7), WaitCause::Nothing);
        assert_eq!(waits.cause(152, 44, 50, 7), WaitCause::BankBusy);
        assert_eq!(waits.cause(170, 44, 50, 7), WaitCause::Queue);
        assert_eq!(waits.cause(170, 44, 70, 7), WaitCause::Refresh);
        assert_eq!(waits.cause(170, 44, 50, 30), WaitCause::WriteDrain);
    }
}
