//! A read in stages.
//!
//! ```text
//! arrive:   the ciphertext, from memory or from a fetch on a prediction (early) ┐
//! version:  the line of counters, verified; its pad begins when it is there     ├─ [boot] ─ open, check ─ release
//! tag:      from its region, and the other lines under it                       ┘
//! ```
//! What the stages bring are values that are set once; a stage that needs one waits for it. A *policy* brings, opens, checks and
//! releases: it says what release waits for, and where that happens ([`policy`]). There are three: [`verified`],
//! [`speculative`] and, for reads that an L2 has begun, [`in_l2`]. A line that the machine started with and that is not in
//! memory yet is put there first ([`boot`]).
//!
//! Where lines are re-ordered, the line's bitmap is brought beside all that, and waited for where order matters.

mod begin;
mod boot;
pub(super) mod early;
pub(super) mod in_l2;
pub(super) mod policy;
mod speculative;
mod verified;

use super::Scheme;
use super::access::{Access, Arrivals};
use crate::codec::{Arrived, Order};
use crate::metadata::{FoundIn, Sought};
use crate::planted::Bug;
use crate::release::Release;
use crate::slot::{Role, Slot, Untrusted};
use crate::verbs::{Arriving, Cache, Fault, Verbs, Wanted};
use early::Early;
use in_l2::{Begun, Found};
use sim::{Once, join};
use std::cell::OnceCell;
use std::pin::pin;
use units::{Line, ZERO_LINE};

/// A read, and what its stages have brought so far.
struct Read<'a, V: Verbs> {
    access: Access<'a, V>,
    /// What an L2 has done for it, if one began it.
    begun: Option<&'a Begun<'a, V>>,
    /// What was fetched for it on a prediction.
    early: &'a Early,
    /// The order of the line's words, which may be known later than the line is there.
    order: Order<'a>,
    /// Where its verified counters were found; nothing if there are none.
    found: Once<Option<FoundIn>>,
    /// What the machine started with there, once that was asked for.
    started_with: OnceCell<Option<Line>>,
    /// The line with all that it is checked against.
    arrived: OnceCell<Arrived<'a>>,
}

/// All that a line is opened and checked with.
struct Complete<'r, 'a, V: Verbs> {
    arrived: &'r Arrived<'a>,
    /// The L2's read, if that goes on with the line.
    in_l2: Option<&'a Begun<'a, V>>,
}

/// The line of counters that counts for a line.
struct Version<'a, V: Verbs> {
    counters: Line,
    /// The L2's read, if that has it.
    in_l2: Option<&'a Begun<'a, V>>,
}

impl<'a, V: Verbs> Read<'a, V> {
    fn new(access: Access<'a, V>, begun: Option<&'a Begun<'a, V>>, early: &'a Early, order: Order<'a>) -> Read<'a, V> {
        let (found, started_with, arrived) = Default::default();
        Read { access, begun, early, order, found, started_with, arrived }
    }

    /// Counts where the line's counters were found, if there are any.
    fn count(&self, found: Option<FoundIn>) {
        if let Some(place) = found {
            self.access.scheme.counted.change(|counted| counted.counters_found.count(place));
        }
    }

    /// Brings all that the line is opened and checked with. Hands over, as soon as that is at the controller, what memory returned
    /// and the line of counters, which is perhaps still being verified.
    async fn bring(&self, stored: impl Fn(&Untrusted), counters: impl Fn(&Line)) -> Result<Complete<'_, 'a, V>, Fault> {
        let line = pin!(async {
            let line = self.ciphertext().await;
            stored(&line.content);
            line
        });
        let version = pin!(self.version(counters));
        let arrivals = self.access.arrive(line, version).await;
        self.found.set(None);
        match &arrivals {
            Ok((version, arrivals)) => self.complete(version, arrivals).await,
            Err(fault) => Err(*fault),
        }
    }

    /// The stored line whose locks are held, from the fetch on a prediction if that was made and still counts; else as much of
    /// it as must be there first.
    async fn ciphertext(&self) -> Arriving {
        if self.early.was_made()
            && let Some(stored) = self.early.fetched(self.access).await
        {
            return Arriving::whole(stored);
        }
        let Access { scheme, .. } = self.access;
        let wanted = match scheme.release {
            Release::Verified => scheme.codec.wanted(self.likely_place()),
            Release::Speculative => Wanted::LINE,
        };
        self.access.fetch(wanted).await
    }

    /// The line with all that it is checked against, put into memory first if the machine started with it.
    async fn complete(
        &self,
        &Version { ref counters, in_l2 }: &Version<'a, V>,
        arrivals: &Arrivals,
    ) -> Result<Complete<'_, 'a, V>, Fault> {
        let as_it_came = || arrivals.under(self.access.scheme, counters, self.order);
        if let Some(plaintext) = self.started_with(&arrivals.stored) {
            let mut arrived = as_it_came();
            self.access.boot(&mut arrived, plaintext).await?;
            return Ok(Complete { arrived: self.arrived.get_or_init(|| arrived), in_l2 });
        }
        Ok(Complete { arrived: self.arrived.get_or_init(as_it_came), in_l2 })
    }

    /// What the machine started with there, if that is not in memory yet.
    fn started_with(&self, stored: &Untrusted) -> Option<&Line> {
        match stored.is_blank() && self.may_boot() {
            true => self.started_with.get_or_init(|| self.access.verbs.start_up(self.access.at)).as_ref(),
            false => None,
        }
    }

    /// Whether a blank line has what the machine started with: not after a recovery.
    fn may_boot(&self) -> bool {
        let Access { scheme, .. } = self.access;
        scheme.planted.has(Bug::BootsAfterRecovery) || !scheme.on_chip(|chip| chip.power.recovered)
    }

    /// The line of counters that counts for the line, from the L2 that began the read if that has it. Calls `seen` when it is
    /// at the controller, perhaps still being verified.
    async fn version(&self, seen: impl Fn(&Line)) -> Result<Version<'a, V>, Fault> {
        let Some(slot) = self.access.counter_slot() else {
            seen(&ZERO_LINE);
            return Ok(Version { counters: ZERO_LINE, in_l2: None });
        };
        let sought = match self.begun {
            None => Sought::Nowhere,
            Some(begun) => {
                let look_up = self.access.verbs.look_up(Cache::Controller(Role::Counter));
                match *join!(begun.found(), look_up).0 {
                    Found::Counters(counters, place) => {
                        self.found.set(Some(place));
                        return Ok(Version { counters, in_l2: Some(begun) });
                    }
                    Found::Nothing => Sought::Everywhere,
                    Found::LeftToController => Sought::InItsCache,
                }
            }
        };
        let (counters, place) = self.counters_for(slot, sought, seen).await?;
        self.found.set(Some(place));
        Ok(Version { counters, in_l2: None })
    }

    /// A line of counters from the controller's side, and where it was found.
    async fn counters_for(&self, slot: Slot, sought: Sought, seen: impl Fn(&Line)) -> Result<(Line, FoundIn), Fault> {
        let Access { scheme, verbs, .. } = self.access;
        let found = scheme.metadata.get_for(verbs, slot, Role::Counter, sought, seen).await?;
        let goes_on = scheme.metadata.goes_on(Role::Counter);
        let looked_up = goes_on && found.1 != FoundIn::Controller && sought != Sought::Everywhere;
        if looked_up {
            scheme.counted.change(|counted| counted.counters_found.looked_up_in_last_level += 1);
        }
        Ok(found)
    }
}
