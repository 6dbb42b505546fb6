//! The battery's work after a loss of power: the energy of each operation, and the remaining memory if the battery is
//! empty before its work ends.

use super::OnBattery;
use crate::run::RunError;
use chip::counts::Meters;
use cost::tally::OperationTally;
use cost::{Energy, Profile};
use protection::design::{Parts, Point};
use protection::domain::Registers;
use protection::execution::{AtOnce, Explained, Keep, Operation, TimedMemory, UnitSpan, Untimed, run_now};
use protection::ledger::Ledger;
use protection::media::Media;
use protection::scheme::{DurableCaches, PersistBufferHandle};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::{LineAddr, Time};

/// Name of the cost profile with the energies that determine the size of a battery.
const PROFILE: &str = "secpb";

/// Memory after a loss of power.
#[derive(Clone)]
pub(super) struct SurvivingMemory {
    pub media: Media,
    pub registers: Registers,
    /// The keystream that an attacker may have seen, if a ledger recorded it.
    pub shown: Option<Ledger>,
}

impl SurvivingMemory {
    /// The memory that would survive a loss of power at this moment.
    fn after_loss(memory: &TimedMemory) -> SurvivingMemory {
        let (media, registers) = memory.after_power_loss();
        SurvivingMemory { media, registers, shown: memory.ledger() }
    }
}

/// Memory, and record of the battery, after the work of the battery.
pub(super) struct Left {
    pub memory: SurvivingMemory,
    /// Work of the battery, if the design has one.
    pub battery: Option<OnBattery>,
}

/// Battery of a machine after a loss of power, when all operations have ended.
pub(super) struct Battery<'a> {
    pub meters: &'a Meters,
    pub parts: &'a Parts,
    /// Energy of the battery; `None` if it always lasts.
    pub holds: Option<Energy>,
}

impl Battery<'_> {
    /// Does the work of the battery: writes the durable lines to memory.
    ///
    /// # Errors
    /// [`RunError::PowerLoss`] if the price list is missing.
    pub fn work(&self) -> Result<Left, RunError> {
        let Meters { chip, scheme, memory, .. } = self.meters;
        let profile = cost::profile(PROFILE).map_err(|error| RunError::PowerLoss(error.to_string()))?;
        let point = self.parts.persistence.point;
        let dirty = if point == Point::Caches { chip.take_dirty() } else { Vec::new() };
        let lines: Vec<LineAddr> = match point {
            Point::Controller | Point::Caches => dirty.iter().map(|(line, _)| *line).collect(),
            Point::Buffer => PersistBufferHandle::of(scheme).lines(),
        };
        let tally = OperationTally::of(self.parts, &profile);
        tally.buffers(lines.iter().map(|line| scheme.layout().data_slot(*line).slot()));
        let meter = Rc::new(Meter {
            memory: memory.clone(),
            tally,
            profile,
            holds: self.holds,
            operations: Cell::default(),
            died: RefCell::default(),
        });
        let at_once = AtOnce::new(memory);
        let verbs = Explained::new(at_once.verbs(), meter.clone());
        match point {
            Point::Controller => {}
            Point::Buffer => run_now(PersistBufferHandle::of(scheme).drain_on_battery(&verbs)),
            Point::Caches => run_now(DurableCaches::of(scheme).drain_on_battery(&verbs, dirty)),
        }
        let (died_after, memory) = match meter.died.take() {
            Some((after, left)) => (Some(after), left),
            None => (None, SurvivingMemory::after_loss(memory)),
        };
        let has_battery = self.parts.persistence.has_battery();
        let battery = has_battery.then(|| OnBattery { lines: lines.len(), needed: meter.spent(), died_after });
        Ok(Left { memory, battery })
    }
}

/// Adds up the energy of the operations, and keeps a copy of memory from the moment when the battery is empty.
struct Meter {
    memory: Rc<TimedMemory>,
    tally: OperationTally,
    profile: Profile,
    holds: Option<Energy>,
    operations: Cell<usize>,
    died: RefCell<Option<(usize, SurvivingMemory)>>,
}

impl Meter {
    fn spent(&self) -> Energy {
        self.profile.energy(&self.tally.counted())
    }
}

impl Keep for Meter {
    fn operation(&self, operation: &dyn Fn() -> Operation) {
        self.tally.operation(operation);
        if self.holds.is_some_and(|holds| self.spent() > holds) {
            self.died
                .borrow_mut()
                .get_or_insert_with(|| (self.operations.get(), SurvivingMemory::after_loss(&self.memory)));
        }
        self.operations.set(self.operations.get() + 1);
    }

    fn span(&self, _: Time, _: Time, _: &dyn Fn() -> UnitSpan) {}
}
