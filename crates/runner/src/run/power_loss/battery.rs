//! The battery's work after a loss of power, what each of its operations takes, and what is left if it dies on the way.

use super::OnBattery;
use crate::run::RunError;
use chip::counts::Meters;
use cost::{Energy, Pricing};
use protection::design::{Parts, Point};
use protection::domain::Registers;
use protection::execution::{AtOnce, Explained, Keep, Operation, Piece, TimedMemory, run_now};
use protection::ledger::Ledger;
use protection::media::Media;
use protection::scheme::{DurableCaches, PersistBuffer};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::Time;

/// The prices that a battery is sized by.
const PROFILE: &str = "secpb";

/// A memory that a loss of power has left.
pub(super) struct Memory {
    pub media: Media,
    pub registers: Registers,
    /// The keystream that it has shown, where that is written down.
    pub shown: Option<Ledger>,
}

impl Memory {
    /// What a loss of power leaves now.
    fn after_loss(memory: &TimedMemory) -> Memory {
        let (media, registers) = memory.after_power_loss();
        Memory { media, registers, shown: memory.ledger() }
    }
}

/// What the battery has left.
pub(super) struct Left {
    pub memory: Memory,
    /// What it did, if there is one.
    pub battery: Option<OnBattery>,
}

/// The battery of a machine whose power has failed, and in which nothing is under way.
pub(super) struct Battery<'a> {
    pub meters: &'a Meters,
    pub parts: &'a Parts,
    /// What it holds; nothing if it always lasts.
    pub holds: Option<Energy>,
}

impl Battery<'_> {
    /// Does its work.
    ///
    /// # Errors
    /// [`RunError::PowerLoss`] if there are no prices.
    pub fn work(&self) -> Result<Left, RunError> {
        let Meters { chip, scheme, memory, .. } = self.meters;
        let profile = cost::profile(PROFILE).map_err(|error| RunError::PowerLoss(error.to_string()))?;
        let pricing = Pricing::of(self.parts, profile);
        let meter = Meter {
            memory: memory.clone(),
            pricing,
            holds: self.holds,
            spent: Cell::default(),
            operations: Cell::default(),
            died: RefCell::default(),
        };
        let verbs = Explained::keeping(AtOnce::new(memory), meter);
        let lines = match self.parts.persistence.point {
            Point::Controller => None,
            Point::Buffer => {
                let buffer = PersistBuffer::of(scheme);
                let lines = buffer.lines().len();
                run_now(buffer.drain_on_battery(&verbs));
                Some(lines)
            }
            Point::Caches => {
                let dirty = chip.take_dirty();
                let lines = dirty.len();
                run_now(DurableCaches::of(scheme).drain_on_battery(&verbs, dirty));
                Some(lines)
            }
        };
        let meter = verbs.kept();
        let (died_after, memory) = match meter.died.take() {
            Some((after, left)) => (Some(after), left),
            None => (None, Memory::after_loss(memory)),
        };
        let battery = lines.map(|lines| OnBattery { lines, needed: meter.spent.get(), died_after });
        Ok(Left { memory, battery })
    }
}

/// Adds up what operations take, and keeps what memory is when the battery has no more.
struct Meter {
    memory: Rc<TimedMemory>,
    pricing: Pricing,
    holds: Option<Energy>,
    spent: Cell<Energy>,
    operations: Cell<usize>,
    died: RefCell<Option<(usize, Memory)>>,
}

impl Keep for Meter {
    fn operation(&self, operation: impl FnOnce() -> Operation) {
        let mut spent = self.spent.get();
        spent += self.pricing.price(&operation());
        self.spent.set(spent);
        if self.holds.is_some_and(|holds| spent > holds) {
            self.died.borrow_mut().get_or_insert_with(|| (self.operations.get(), Memory::after_loss(&self.memory)));
        }
        self.operations.set(self.operations.get() + 1);
    }

    fn span(&self, _: Time, _: Time, _: impl FnOnce() -> Piece) {}
}
