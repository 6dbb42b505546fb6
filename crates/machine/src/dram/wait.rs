//! Why a read waited.
//!
//! Beyond the latency that its row outcome costs in any case, a read may have waited for a refresh, for a write
//! drain, for its own bank to finish what it was doing when the read arrived, or for other requests. The first two
//! are measured by clocks that run while their cause lasts; the largest part names the cause.

use serde::Serialize;

/// What delayed a read the most.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitCause {
    /// It did not wait.
    Nothing,
    /// A refresh of its rank, pending or under way.
    Refresh,
    /// Writes had their turn.
    WriteDrain,
    /// Its own bank was opening or closing a row, or finishing an access.
    BankBusy,
    /// Other requests went first.
    Queue,
}

/// A clock that runs only while something lasts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch {
    total: u64,
    since: Option<u64>,
}

impl Stopwatch {
    /// Runs from `now` on, or rests.
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

    /// How long it has run until `now`.
    pub fn at(&self, now: u64) -> u64 {
        self.total + self.since.map_or(0, |since| now.saturating_sub(since))
    }
}

/// What a request saw when it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivalConditions {
    /// The clock at which it was seen.
    pub seen: u64,
    /// The refresh clock of its rank then.
    pub refresh: u64,
    /// The drain clock then.
    pub drain: u64,
    /// When its bank alone would have let it begin.
    pub bank_free: u64,
}

impl ArrivalConditions {
    /// How much longer than a lone read's a wait was that ends at `now`.
    pub fn beyond(&self, now: u64, needed: u64) -> u64 {
        (now - self.seen).saturating_sub(needed)
    }

    /// The cause, for a read whose column command issues at `now`, which a lone read would have issued `needed` clocks
    /// after it was seen, at a time when the refresh and drain clocks show these values.
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
    fn a_stopwatch_counts_only_while_it_runs() {
        let mut watch = Stopwatch::default();
        watch.set(true, 10);
        watch.set(true, 12);
        assert_eq!(watch.at(15), 5);
        watch.set(false, 20);
        assert_eq!(watch.at(100), 10);
    }

    #[test]
    fn the_largest_part_of_the_wait_names_its_cause() {
        let waits = ArrivalConditions { seen: 100, refresh: 50, drain: 7, bank_free: 110 };
        assert_eq!(waits.cause(144, 44, 50, 7), WaitCause::Nothing);
        assert_eq!(waits.cause(152, 44, 50, 7), WaitCause::BankBusy);
        assert_eq!(waits.cause(170, 44, 50, 7), WaitCause::Queue);
        assert_eq!(waits.cause(170, 44, 70, 7), WaitCause::Refresh);
        assert_eq!(waits.cause(170, 44, 50, 30), WaitCause::WriteDrain);
    }
}
