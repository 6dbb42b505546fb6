//! A read in stages.
//!
//! ```text
//! arrive:   the ciphertext, from memory or from a fetch on a prediction (early) ┐
//! version:  the counter line, verified; its pad begins when it is there         ├─ [boot] ─ open, check ─ release
//! tag:      from its region, and the other lines under it                       ┘
//! ```
//! The stages set values once; a stage that needs a value waits for it. A *policy* ([`policy`]) fetches, opens, checks
//! and releases the line, and decides when and at which component the line is released. The three policies are
//! [`verified`], [`speculative`] and, for reads that an L2 has begun, [`in_l2`]. If the machine started with a line
//! that memory does not have yet, the read first puts the line into memory ([`boot`]).
//!
//! If lines are re-ordered, the read fetches the line's bitmap in parallel, and waits for the bitmap only before steps
//! that need the order of the words.

mod begin;
mod boot;
pub(super) mod early;
pub(super) mod in_l2;
pub(super) mod policy;
mod speculative;
mod verified;

use super::access::{DataAccess, LineArrival};
use crate::codec::{Arrived, BitmapOrder};
use crate::metadata::{FoundIn, Sought};
use crate::planted::Bug;
use crate::release::Release;
use crate::slot::{Role, Slot, Untrusted};
use crate::speculation::Bitmap;
use crate::verbs::{Arriving, Cache, Fault, Verbs, Wanted};
use early::PredictedFetch;
use in_l2::{L2LookUp, L2Read};
use sim::{Going, Once};
use std::cell::OnceCell;
use std::pin::pin;
use units::{Line, ZERO_LINE};

/// A read, with the results of its stages so far.
struct Read<'a, V: Verbs> {
    access: DataAccess<'a, V>,
    /// The L2's part of the read, if an L2 began the read.
    begun: Option<&'a L2Read<'a, V>>,
    /// The fetch on a prediction.
    early: &'a PredictedFetch,
    /// The order of the line's words. It may arrive later than the line.
    order: BitmapOrder<'a>,
    /// Location of the line's verified counters; `None` if the design has no counters.
    found: Once<Option<FoundIn>>,
    /// Initial content of the line, once the read has requested it.
    started_with: OnceCell<Option<Line>>,
    /// Bitmap of the line that this read has put into memory, if it booted the line.
    booted: OnceCell<Bitmap>,
    /// The line with all inputs of its verification.
    arrived: OnceCell<Arrived<'a>>,
}

/// All inputs for opening and checking a line.
struct Complete<'r, 'a, V: Verbs> {
    arrived: &'r Arrived<'a>,
    /// The L2's read, if the L2 continues with the line.
    in_l2: Option<&'a L2Read<'a, V>>,
}

/// The valid counter line for a line.
struct Version<'a, V: Verbs> {
    counters: Line,
    /// The L2's read, if the L2 has the counter line.
    in_l2: Option<&'a L2Read<'a, V>>,
}

impl<'a, V: Verbs> Read<'a, V> {
    fn new(
        access: DataAccess<'a, V>,
        begun: Option<&'a L2Read<'a, V>>,
        early: &'a PredictedFetch,
        order: BitmapOrder<'a>,
    ) -> Read<'a, V> {
        let (found, started_with, booted, arrived) = Default::default();
        Read { access, begun, early, order, found, started_with, booted, arrived }
    }

    /// Counts the location of the line's counters, if the design has counters.
    fn count(&self, found: Option<FoundIn>) {
        if let Some(found_in) = found {
            self.access.scheme.counted.change(|counted| counted.counters_found.count(found_in));
        }
    }

    /// Fetches all inputs for opening and checking the line. Passes the stored line and the counter line to the callbacks
    /// as soon as each arrives at the controller. The counters may not be verified yet at that moment.
    async fn bring(&self, stored: impl Fn(&Untrusted), arrived: impl Fn(&Line)) -> Result<Complete<'_, 'a, V>, Fault> {
        let line = pin!(async {
            let line = self.ciphertext().await;
            stored(&line.content);
            line
        });
        let version = pin!(self.version(arrived));
        let arrivals = self.access.arrive(line, version).await;
        self.found.set(None);
        match &arrivals {
            Ok((version, arrivals)) => self.complete(version, arrivals).await,
            Err(fault) => Err(*fault),
        }
    }

    /// Returns the stored line, from the fetch on a prediction if the fetched line is still valid. Otherwise fetches
    /// the line, and waits only for the words that the read needs first. The caller must hold the line's locks.
    async fn ciphertext(&self) -> Arriving {
        if self.early.was_made()
            && let Some(stored) = self.early.fetched(self.access).await
        {
            return Arriving::whole(stored);
        }
        let DataAccess { scheme, .. } = self.access;
        let wanted = match scheme.release {
            Release::Verified => scheme.codec.wanted(self.likely_position()),
            Release::Speculative => Wanted::LINE,
        };
        self.access.fetch(wanted).await
    }

    /// Returns the line with all inputs of its check. Boots the line first if the machine started with it.
    async fn complete(
        &self,
        &Version { ref counters, in_l2 }: &Version<'a, V>,
        arrivals: &LineArrival,
    ) -> Result<Complete<'_, 'a, V>, Fault> {
        let unchanged = || arrivals.under(self.access.scheme, counters, self.order);
        if let Some(plaintext) = self.started_with(&arrivals.stored) {
            let mut arrived = unchanged();
            self.access.boot(&mut arrived, plaintext).await?;
            self.booted.get_or_init(|| self.access.scheme.codec.start_order.bitmap_of(plaintext));
            return Ok(Complete { arrived: self.arrived.get_or_init(|| arrived), in_l2 });
        }
        Ok(Complete { arrived: self.arrived.get_or_init(unchanged), in_l2 })
    }

    /// Returns the initial content of the line if memory does not have it yet.
    fn started_with(&self, stored: &Untrusted) -> Option<&Line> {
        if stored.is_blank() { self.start() } else { None }
    }

    /// Returns the initial content of the line if memory does not have the line yet, also before the line has arrived.
    fn start(&self) -> Option<&Line> {
        match self.may_boot() {
            true => self.started_with.get_or_init(|| self.access.verbs.start_up(self.access.at)).as_ref(),
            false => None,
        }
    }

    /// Returns the bitmap that this read has to put into memory, because it has put a re-ordered line there.
    fn bitmap_to_boot(&self) -> Option<Bitmap> {
        self.booted.get().copied().filter(|bitmap| *bitmap != Bitmap::NONE)
    }

    /// Returns true if a blank line still has its initial content: false after a recovery.
    fn may_boot(&self) -> bool {
        let DataAccess { scheme, .. } = self.access;
        scheme.planted.has(Bug::BootsAfterRecovery) || !scheme.on_chip(|chip| chip.power.recovered)
    }

    /// Returns the valid counter line, from the L2 that began the read if that L2 has it. Otherwise calls `arrived` when the
    /// counters arrive at the controller, perhaps before they are verified.
    async fn version(&self, arrived: impl Fn(&Line)) -> Result<Version<'a, V>, Fault> {
        let Some(slot) = self.access.counter_slot() else {
            arrived(&ZERO_LINE);
            return Ok(Version { counters: ZERO_LINE, in_l2: None });
        };
        let sought = match self.begun {
            None => Sought::Nowhere,
            Some(begun) => {
                // The controller looks the counters up at the request, and does not wait for its look-up if the L2 has
                // them.
                let mut look_up = Going::default();
                look_up.begin(self.access.verbs.look_up(Cache::Controller(Role::Counter)));
                let sought = match *look_up.meanwhile(begun.found()).await {
                    L2LookUp::Counters(counters, found_in) => {
                        self.found.set(Some(found_in));
                        return Ok(Version { counters, in_l2: Some(begun) });
                    }
                    L2LookUp::Nothing => Sought::Everywhere,
                    L2LookUp::LeftToController => Sought::InItsCache,
                };
                look_up.all().await;
                sought
            }
        };
        let (counters, found_in) = self.counters_for(slot, sought, arrived).await?;
        self.found.set(Some(found_in));
        Ok(Version { counters, in_l2: None })
    }

    /// Returns a counter line from the controller's caches, the last-level cache or memory, and the location where
    /// it was found.
    async fn counters_for(
        &self,
        slot: Slot,
        sought: Sought,
        arrived: impl Fn(&Line),
    ) -> Result<(Line, FoundIn), Fault> {
        let DataAccess { scheme, verbs, .. } = self.access;
        let found = scheme.metadata.get_for(verbs, slot, Role::Counter, sought, arrived).await?;
        let goes_on = scheme.metadata.goes_on(Role::Counter);
        let looked_up = goes_on && found.1 != FoundIn::Controller && sought != Sought::Everywhere;
        if looked_up {
            scheme.counted.change(|counted| counted.counters_found.looked_up_in_last_level += 1);
        }
        Ok(found)
    }
}
