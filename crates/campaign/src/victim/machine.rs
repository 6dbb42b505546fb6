//! The machine of a victim: a scheme over a memory behind a tap. Accesses complete at once, and the machine returns their outcomes.
//!
//! The machine does not know which content is right: the victim compares the outcomes with its oracle. So only the victim can call
//! the accesses that the oracle records or judges.

use crate::tap::{ReadOutcome, Tapped};
use protection::counter::Age;
use protection::design::{DataLines, Parts, Seeds};
use protection::execution::{Untimed, run_now};
use protection::layout::Layout;
use protection::ownership::Asker;
use protection::planted::PlantedBug;
use protection::scheme::{DurableCaches, FixedScheme, Permutations, Scheme};
use protection::speculation::Speculation;
use protection::verbs::{Fault, Slot, Untrusted};
use units::{Line, LineAddr, WORDS_PER_LINE};

/// A scheme over a memory behind a tap.
pub struct TappedMachine {
    scheme: Scheme,
    memory: Tapped,
}

impl TappedMachine {
    /// Creates a machine under these parts with a blank memory. With `start_up`, it starts with a content drawn from this seed.
    ///
    /// # Errors
    /// The rule that the composition breaks.
    pub(super) fn new(
        parts: &Parts,
        data: DataLines,
        seeds: Seeds,
        planted: PlantedBug,
        start_up: Option<u64>,
    ) -> Result<TappedMachine, String> {
        // With free permutations, no transfer of theirs would pass the tap.
        let scheme = parts.with_charged_permutations().build_with(data, seeds, planted)?;
        let memory = Tapped::new(scheme.layout().total_lines(), start_up);
        Ok(TappedMachine { scheme, memory })
    }

    /// Copies the machine, with its keys, on-chip state and memory.
    pub(super) fn twin(&self) -> TappedMachine {
        TappedMachine { scheme: self.scheme.twin(), memory: self.memory.clone() }
    }

    /// Memory of the machine, behind its tap.
    pub fn memory(&self) -> &Tapped {
        &self.memory
    }

    /// Slots of the memory.
    pub fn layout(&self) -> &Layout {
        self.scheme.layout()
    }

    /// The scheme of the machine.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// The scheme of a memory with owners.
    fn with_owners(&self) -> &FixedScheme {
        let Some(scheme) = self.scheme.fixed() else { unreachable!("lines with owners do not move") };
        scheme
    }

    /// The speculation on the content of lines, if the design speculates.
    pub fn speculation(&self) -> Option<&Speculation> {
        self.scheme.speculation()
    }

    /// Returns the line in a slot of data, if lines move.
    pub fn line_moved_to(&self, slot: Slot) -> Option<LineAddr> {
        let permutations = Permutations::of(&self.scheme).filter(|_| slot.0 < self.layout().data_lines())?;
        Some(permutations.for_judge().line_in(slot))
    }

    /// Cuts a content to the length of a line.
    pub(super) fn cut(&self, content: &Line) -> Line {
        self.layout().shape().length.cut(*content)
    }

    /// Returns the content with which a line starts, if the machine boots.
    pub(super) fn start_up_content(&self, line: LineAddr) -> Option<Line> {
        self.memory.memory().start_up_content(line).map(|content| self.cut(&content))
    }

    /// Begins as if the chip had written lines with these contents while some of their words were frequent. Has no effect on a
    /// design without a table of frequent values.
    pub(super) fn begin_ordered<'a>(&mut self, contents: impl Iterator<Item = &'a Line>) {
        let words = contents.zip(1..).map(|(content, word)| content.as_chunks().0[word % WORDS_PER_LINE]);
        let values: Vec<(u64, u64)> = words.map(|word| (u64::from_le_bytes(word), 1)).collect();
        if let Some(scheme) = self.scheme.fixed_mut() {
            scheme.begin_ordered(&values);
        }
    }

    /// Advances the counters of a line and of its group to this age. No line of the group may have been written yet.
    pub fn age(&self, line: LineAddr, age: Age) {
        run_now(self.scheme.age(&self.memory.verbs(), line, age));
    }

    /// Writes a line and returns the reported fault, if any.
    pub(super) fn write(&self, line: LineAddr, content: &Line) -> Option<Fault> {
        run_now(self.scheme.write(&self.memory.verbs(), line, content));
        self.memory.take_fault()
    }

    /// Writes a line as `asker`, through the controller, and returns the reported fault, if any. The oracle does not record the
    /// write.
    pub fn write_as(&self, line: LineAddr, content: &Line, asker: Asker) -> Option<Fault> {
        run_now(self.with_owners().write_as(&self.memory.verbs(), line, content, asker));
        self.memory.take_fault()
    }

    /// Reads a line on some core. The core's L2 begins the read if the design lets L2s do so.
    pub(super) fn read(&self, line: LineAddr, core: usize) -> ReadOutcome {
        run_now(self.scheme.read_by(&self.memory.verbs(), line, core));
        self.memory.take_outcome(line)
    }

    /// Reads a line as `asker`, through the controller.
    pub(super) fn read_as(&self, line: LineAddr, asker: Asker) -> ReadOutcome {
        run_now(self.with_owners().read_as(&self.memory.verbs(), line, asker));
        self.memory.take_outcome(line)
    }

    /// Assigns the page of a line to an owner, as the hypervisor does.
    pub fn assign(&self, line: LineAddr, to: Asker) {
        run_now(self.with_owners().assign(&self.memory.verbs(), line, to));
    }

    /// Empties the metadata caches and returns the reported fault, if any.
    pub fn flush(&self) -> Option<Fault> {
        run_now(self.scheme.flush(&self.memory.verbs()));
        self.memory.take_fault()
    }

    /// Permutes the page chunk of a line, as a fill of another process does.
    pub fn permute_chunk_of(&self, line: LineAddr) -> Option<Fault> {
        run_now(Permutations::of(&self.scheme)?.permute_chunk_of(&self.memory.verbs(), line));
        self.memory.take_fault()
    }

    /// Evicts the lines that the chip has locked, if lines move.
    pub fn give_lines_up(&self) {
        if Permutations::of(&self.scheme).is_some() {
            self.flush();
        }
    }

    /// Lets a battery drain the durable caches. The stores of a victim go to memory at once, so that only metadata and the root
    /// remain for the battery.
    pub(super) fn drain_on_battery(&self) {
        run_now(DurableCaches::of(&self.scheme).drain_on_battery(&self.memory.verbs(), Vec::new()));
    }

    /// Starts over a memory that holds this image, with the registers that the machine before has left. Keystream of the same keys
    /// stays in the ledger. The start-up content does not return.
    pub(super) fn recover(
        &self,
        before: &TappedMachine,
        has_same_keys: bool,
        image: impl IntoIterator<Item = (Slot, Untrusted)>,
    ) {
        let (memory, left) = (self.memory.memory(), before.memory.memory());
        if has_same_keys {
            memory.carry(left.ledger().clone());
        }
        image.into_iter().for_each(|(slot, content)| self.memory.put(slot, content));
        let registers = left.registers();
        memory.go_on_with(registers.clone());
        run_now(self.scheme.recover(&self.memory.verbs(), &registers));
    }
}
