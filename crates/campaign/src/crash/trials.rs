//! A trial: a machine is switched on with a memory that a loss of power left, reads all lines and continues. The trial
//! judges the results.

use super::history::History;
use super::revival::{Contents, Revival};
use super::states::DeadMemory;
use catalogue::Verdict;
use units::LineAddr;
use units::random::Random;

/// Separates the texts and strikes of a campaign from the contents of its history.
pub(super) const SALT: u64 = 0x5eed_0ff0;

/// Result of one case.
pub struct Case {
    /// Verdict of the case.
    pub verdict: Verdict,
    /// Point at which power failed: changes issued to memory until then, or events of a machine with a battery.
    pub point: usize,
    /// Description of the events.
    pub story: String,
}

/// A machine that was switched on again and continued.
pub(super) struct RestartResult {
    point: usize,
    story: String,
    /// Worst verdict on its lines, after recovery and after each was written again.
    content: Verdict,
    /// True if a pad has hidden two texts, before or after the loss.
    leaked: bool,
}

impl RestartResult {
    /// Returns the verdict on content, whether or not keystream leaked.
    pub fn content(&self) -> Case {
        self.case(self.content)
    }

    fn case(&self, verdict: Verdict) -> Case {
        Case { verdict, point: self.point, story: self.story.clone() }
    }

    /// Returns the verdict on leakage, whatever the content.
    pub fn keystream(&self) -> Case {
        self.case(if self.leaked { Verdict::Leaked } else { Verdict::Hidden })
    }

    /// Returns one case for each kind of harm: a leak does not hide a wrong content, nor the reverse.
    pub fn evils(&self) -> impl Iterator<Item = Case> {
        std::iter::once(self.content()).chain(self.leaked.then(|| self.case(Verdict::Leaked)))
    }
}

/// Runs a trial after a loss of power without tampering.
pub(super) fn plain_loss(history: &History, dead: &DeadMemory) -> RestartResult {
    let revival = Revival::of(history, dead);
    let content = revival.judge(history, &history.allowed(dead), false);
    let is_well = content == Verdict::Harmless && !revival.alarmed();
    let story = if is_well { "power failed".to_owned() } else { story(history, dead, &revival) };
    let mut random = Random::new(history.seed ^ SALT);
    let (later, leaked) = revival.goes_on(history, &mut random);
    // No attacker tampered, so an alarm is a loss.
    let later = if later == Verdict::Detected { Verdict::Unrecoverable } else { later };
    RestartResult { point: dead.point, story, content: content.max(later), leaked }
}

/// Describes the accepted and resident stores when power failed, the result of recovery, and the lines refused afterwards. A
/// volatile design has no recovery, and loses its data by intent.
fn story(history: &History, dead: &DeadMemory, revival: &Revival) -> String {
    if !history.parts.persistence.exists() {
        return "power failed, and this design keeps no data over a loss of power, by intent".to_owned();
    }
    let list = |lines: &[LineAddr]| lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut story = "power failed".to_owned();
    if history.parts.persistence.has_battery() {
        let (accepted, all) = (dead.progress.least, history.writes.len());
        let holder = if history.parts.persistence.has_buffer() { "buffer" } else { "caches" };
        story += &format!(" when {accepted} of {all} stores had been accepted");
        if !dead.resident.is_empty() {
            story += &format!(", and of their lines only the {holder} had {}", list(&dead.resident));
        }
    }
    if revival.alarmed() {
        return story + ", recovery refused the memory";
    }
    let refused: Vec<LineAddr> =
        history.before.keys().copied().filter(|line| revival.read(*line).released.is_none()).collect();
    if refused.is_empty() {
        story
    } else {
        story + &format!(", recovery verified the root, and reads of {} are refused", list(&refused))
    }
}

/// Runs a trial after tampering; memory may hold any of these contents.
pub(super) fn after_tampering(
    history: &History,
    dead: &DeadMemory,
    allowed: &[Contents],
    story: String,
    random: &mut Random,
) -> RestartResult {
    let revival = Revival::of(history, dead);
    let content = revival.judge(history, allowed, true);
    let (later, leaked) = revival.goes_on(history, random);
    RestartResult { point: dead.point, story, content: content.max(later), leaked }
}
