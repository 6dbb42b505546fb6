//! Battery sizes: one row of results for each system and number of buffer entries, next to the figures that the paper
//! prints.

use crate::caches::{self, CacheDrains};
use crate::closed_form;
use crate::counted::{Drains, drains_of, worst};
use crate::differences::Difference;
use crate::energy::{Energy, Storage};
use crate::operations::Operations;
use crate::overflowing;
use crate::printed::{Printed, printed, remark};
use crate::profile::{Profile, profile};
use crate::scheme::{Accounting, SecPbScheme, Step, System};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use thiserror::Error;
use units::nearest;

/// Maximum number of entries of a persist buffer.
const ENTRIES_MAX: u32 = 1 << 20;

/// The fewest levels of a tree: counters and a root.
const LEVELS_MIN: u32 = 2;
/// The most levels of a tree: a binary tree of this height has 2^63 counter lines.
const LEVELS_MAX: u32 = 64;

/// Number of drains of each entry or line, and of the store in flight: once separately, and once together with all
/// entries or lines.
const DRAINS_OF_EACH: usize = 2;

/// Parameters of the estimate.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Numbers of entries of the persist buffer. Each system with a buffer has one row for each number.
    pub entries: Vec<i64>,
    /// Levels of the tree, including counters and root; by default as many as the profile's memory needs.
    pub levels: Option<i64>,
    /// Names of the systems; an empty list selects all systems.
    pub systems: Vec<String>,
    /// Drains that are also executed, so that their operations are counted.
    #[serde(default)]
    pub counted: DrainSelection,
}

/// Drains that are executed and counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrainSelection {
    /// No drains: the answer contains only closed forms.
    #[default]
    Nothing,
    /// Drains of full buffers, by schemes.
    Buffers,
    /// Drains of full caches as well: their 74,752 lines take seconds.
    All,
}

/// A reason why there is no answer.
#[derive(Error, PartialEq, Eq, Debug)]
pub enum QuestionError {
    /// The system is unknown.
    #[error("unknown scheme '{name}'{}; there are: {}", catalogue::did_you_mean(.nearest), .known.join(", "))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The most similar name, if any is similar.
        nearest: Option<String>,
        /// Names of all systems.
        known: Vec<String>,
    },
    /// A number is out of range.
    #[error("{key} is {found}: expected {least} to {most}")]
    Range {
        /// Name of the parameter.
        key: &'static str,
        /// Value of the parameter.
        found: i64,
        /// Smallest value that is possible.
        least: u32,
        /// Largest value that is possible.
        most: u32,
    },
}

/// Size of a storage for an energy.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Size {
    /// Name of the storage.
    pub storage: String,
    /// Volume of the storage, in cubic millimetres.
    pub volume_mm3: f64,
    /// The area that the storage covers if it is a cube, in square millimetres.
    pub footprint_mm2: f64,
    /// The footprint as a percentage of the core's area.
    pub core_percent: f64,
    /// The volume that the paper prints, in cubic millimetres; present only if the question has the paper's parameters.
    pub printed_mm3: Option<f64>,
    /// True if our volume, rounded or truncated, equals the printed volume.
    pub is_as_printed: Option<bool>,
    /// Difference of our volume from the printed volume, in percent of the printed volume.
    pub difference_percent: Option<f64>,
    /// The percentage of the core's area that the paper prints.
    pub printed_core_percent: Option<f64>,
}

/// Operations and energy of executed drains.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Account {
    /// Operations of the drains.
    pub operations: Operations,
    /// Energy of the operations, in nanojoules.
    pub energy_nj: f64,
    /// Storages for this energy; the paper prints no sizes for comparison.
    pub sizes: Vec<Size>,
    /// Differences from the account that this one is compared with. Together they explain the complete difference.
    pub differences: Vec<Difference>,
}

/// The counted drain of a full buffer in the worst case, including the store in flight, or of caches with only dirty
/// lines.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Counted {
    /// A separate drain of each entry or line, from cold metadata caches. Its differences are relative to the closed
    /// form.
    pub alone: Account,
    /// One drain of all entries or lines, from metadata caches that are cold at its start. Its differences are relative
    /// to `alone`.
    pub together: Account,
    /// One drain of all entries in which each counter that the battery increments overflows, so that the drain
    /// re-encrypts the group of the counter. Its differences are relative to `together`. Absent for caches.
    pub overflowing: Option<Account>,
}

/// The battery of one system.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BatteryRow {
    /// Name of the system.
    pub system: String,
    /// The rule for the operations of the system, in words.
    pub formula: &'static str,
    /// Steps that the system executes before a loss of power.
    pub early: &'static [Step],
    /// Entries of the buffer, if the system has one.
    pub entries: Option<u32>,
    /// Operations of the drain, by the closed form.
    pub operations: Operations,
    /// Energy of the operations, in nanojoules.
    pub energy_nj: f64,
    /// Storages for this energy.
    pub sizes: Vec<Size>,
    /// A contradiction in the paper about this row.
    pub remark: Option<&'static str>,
    /// Counted operations of the drain, if the question requests them and a design can execute the drain.
    pub counted: Option<Counted>,
    /// The reason why the drain cannot be executed.
    pub not_counted: Option<String>,
}

/// The batteries of all systems of a question.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BatteryEstimate {
    /// Name of the profile.
    pub profile: String,
    /// Description of the profile, in a sentence.
    pub summary: String,
    /// Area of the core for the comparison of footprints, in square millimetres.
    pub core_mm2: f64,
    /// Levels of the tree, including counters and root.
    pub levels: u32,
    /// The buffers for each number of entries, then the systems without entries.
    pub rows: Vec<BatteryRow>,
}

/// The batteries of systems under a profile. `progress` gets the number of drained entries, and the total.
///
/// # Errors
/// Unknown systems, with the nearest known one; entries and levels out of range.
pub fn battery(
    profile: &Profile,
    question: &Question,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<BatteryEstimate, QuestionError> {
    let needed = profile.tree.levels().max(LEVELS_MIN);
    let levels = question.levels.map_or(Ok(needed), |levels| in_range("height", levels, LEVELS_MIN, LEVELS_MAX))?;
    let entries: Result<Vec<u32>, _> =
        question.entries.iter().map(|entries| in_range("entries", *entries, 1, ENTRIES_MAX)).collect();
    let systems = chosen(&question.systems)?;
    let with =
        |entries: u32| systems.iter().filter(|system| system.has_entries()).map(move |system| (*system, Some(entries)));
    let without = systems.iter().filter(|system| !system.has_entries()).map(|system| (*system, None));
    let systems_with_entries = entries?.into_iter().flat_map(with).chain(without);
    let are_papers = are_papers(profile, levels);
    let terms = Terms { profile, levels, are_papers, counted: question.counted, caches: OnceCell::new() };
    let systems_with_entries: Vec<_> = systems_with_entries.collect();
    let (mut drained, of) = (0, DRAINS_OF_EACH * terms.drained_at_once(&systems_with_entries));
    let mut progress = || {
        drained += 1;
        progress(drained, of);
    };
    let rows =
        systems_with_entries.into_iter().map(|(system, entries)| terms.row(system, entries, &mut progress)).collect();
    let (name, summary) = (profile.name.clone(), profile.summary.clone());
    Ok(BatteryEstimate { profile: name, summary, core_mm2: profile.core.area_mm2, levels, rows })
}

fn in_range(key: &'static str, found: i64, least: u32, most: u32) -> Result<u32, QuestionError> {
    let refused = QuestionError::Range { key, found, least, most };
    u32::try_from(found).ok().filter(|number| (least..=most).contains(number)).ok_or(refused)
}

/// The systems with these names, in the order of [`System::all`]; an empty list selects all.
fn chosen(names: &[String]) -> Result<Vec<System>, QuestionError> {
    let known: Vec<String> = System::all().iter().map(System::to_string).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        return Err(QuestionError::Unknown { name: name.clone(), nearest, known });
    }
    Ok(System::all().into_iter().filter(|system| names.is_empty() || names.contains(&system.to_string())).collect())
}

/// Returns true if the paper's tables are for this profile and number of levels.
fn are_papers(systems_with_entries: &Profile, levels: u32) -> bool {
    profile("secpb").is_ok_and(|papers| papers == *systems_with_entries && papers.tree.levels() == levels)
}

/// Parameters common to all rows of an answer.
struct Terms<'a> {
    profile: &'a Profile,
    levels: u32,
    are_papers: bool,
    counted: DrainSelection,
    /// The drains of full caches, after they were carried out.
    caches: OnceCell<Result<CacheDrains, String>>,
}

impl Terms<'_> {
    fn counts(&self, drains: DrainSelection) -> bool {
        self.counted >= drains
    }

    /// Number of entries, lines and stores in flight in one drain of each of these systems, if it is counted.
    fn drained_at_once(&self, systems_with_entries: &[(System, Option<u32>)]) -> usize {
        let of_entries = systems_with_entries.iter().filter_map(|(system, entries)| system.scheme().and(*entries));
        let in_buffers: usize = of_entries.map(|entries| entries as usize + 1).sum();
        let has_caches = systems_with_entries.iter().any(|(system, _)| matches!(system, System::SecureEadr(_)));
        let in_caches = caches::lines(self.profile).ok().filter(|_| has_caches && self.counts(DrainSelection::All));
        in_buffers + in_caches.unwrap_or_default() as usize
    }

    fn row(&self, system: System, entries: Option<u32>, progress: &mut dyn FnMut()) -> BatteryRow {
        let operations = closed_form::operations(system, self.profile, entries.unwrap_or_default(), self.levels);
        let (name, energy) = (system.to_string(), self.profile.energy(&operations));
        let size = |storage: &Storage| {
            let printed = printed(&name, entries, &storage.name).filter(|_| self.are_papers);
            self.size(storage, energy, printed)
        };
        let sizes: Vec<Size> = self.profile.storage.iter().map(size).collect();
        let counted = match (system, entries) {
            (System::Buffer(scheme), Some(entries)) if self.counts(DrainSelection::Buffers) => {
                Some(self.counted(scheme, entries, progress))
            }
            (System::SecureEadr(accounting), _) if self.counts(DrainSelection::All) => {
                Some(self.counted_caches(accounting, progress))
            }
            _ => None,
        };
        let counted = counted.transpose();
        let remark = remark(&name, entries).filter(|_| sizes.iter().any(|size| size.printed_mm3.is_some()));
        BatteryRow {
            system: name,
            formula: system.formula(),
            early: system.early(),
            entries,
            operations,
            energy_nj: energy.nanojoules(),
            sizes,
            remark,
            not_counted: counted.as_ref().err().cloned(),
            counted: counted.ok().flatten(),
        }
    }

    fn counted(&self, scheme: SecPbScheme, entries: u32, progress: &mut dyn FnMut()) -> Result<Counted, String> {
        let (geometry, lines) = worst(scheme, self.profile, (entries, self.levels))?;
        let Drains { alone, alone_differs, together, together_differs } =
            drains_of(scheme, self.profile, &geometry, &lines, progress)?;
        let renewing = overflowing::drain(scheme, self.profile, &geometry, &lines)?;
        let renewing_differs = renewing.differs(scheme, self.profile, &geometry, together);
        Ok(Counted {
            alone: self.account(alone, alone_differs),
            together: self.account(together, together_differs),
            overflowing: Some(self.account(renewing.operations, renewing_differs)),
        })
    }

    /// Counts the drains of full caches once, for both closed forms.
    fn counted_caches(&self, accounting: Accounting, progress: &mut dyn FnMut()) -> Result<Counted, String> {
        let drains = self.caches.get_or_init(|| caches::drain(self.profile, self.levels, progress)).as_ref();
        let drains = drains.map_err(String::clone)?;
        Ok(Counted {
            alone: self.account(drains.alone, drains.alone_differs(self.profile, accounting)),
            together: self.account(drains.together, drains.together_differs(self.profile)),
            overflowing: None,
        })
    }

    fn account(&self, operations: Operations, differences: Vec<Difference>) -> Account {
        let energy = self.profile.energy(&operations);
        let sizes = self.profile.storage.iter().map(|storage| self.size(storage, energy, None)).collect();
        Account { operations, energy_nj: energy.nanojoules(), sizes, differences }
    }

    fn size(&self, storage: &Storage, energy: Energy, printed: Option<Printed>) -> Size {
        let volume = storage.volume(energy);
        let footprint_mm2 = volume.footprint_mm2();
        Size {
            storage: storage.name.clone(),
            volume_mm3: volume.mm3,
            footprint_mm2,
            core_percent: 100.0 * footprint_mm2 / self.profile.core.area_mm2,
            printed_mm3: printed.map(|printed| printed.volume_mm3),
            is_as_printed: printed.map(|printed| printed.is_of(volume.mm3)),
            difference_percent: printed.map(|printed| 100.0 * (volume.mm3 / printed.volume_mm3 - 1.0)),
            printed_core_percent: printed.and_then(|printed| printed.core_percent),
        }
    }
}
