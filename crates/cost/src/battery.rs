//! The answer to a question: a row for each system and number of entries, next to what the paper prints.

use crate::caches::{self, CacheDrains};
use crate::closed_form;
use crate::counted::{Drains, drains_of, worst};
use crate::differences::Difference;
use crate::energy::{Energy, Storage};
use crate::operations::Operations;
use crate::overflowing;
use crate::printed::{Printed, printed, remark};
use crate::profile::{Profile, profile};
use crate::scheme::{Accounting, Scheme, Step, System};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use thiserror::Error;
use units::nearest;

/// The most entries of a buffer.
const ENTRIES_MAX: u32 = 1 << 20;

/// The fewest levels of a tree: counters and a root.
const LEVELS_MIN: u32 = 2;
/// The most levels of a tree: a binary one has 2^63 lines of counters then.
const LEVELS_MAX: u32 = 64;

/// How often each entry or line, and the store in flight, is drained to be counted: alone, and with all others.
const DRAINS_OF_EACH: usize = 2;

/// What is asked.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Entries of the buffer, one row of each system for each.
    pub entries: Vec<i64>,
    /// Levels of the tree, counters and root included; if nothing is said, as many as the profile's memory needs.
    pub levels: Option<i64>,
    /// The systems by name; all of them if none is named.
    pub systems: Vec<String>,
    /// Which drains are carried out too, so that what they do is counted.
    #[serde(default)]
    pub counted: Counting,
}

/// Which drains are carried out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// None: there are closed forms alone.
    #[default]
    Nothing,
    /// Those of full buffers, by schemes.
    Buffers,
    /// Those of full caches as well: 74,752 lines take seconds.
    All,
}

/// Why there is no answer.
#[derive(Error, PartialEq, Eq, Debug)]
pub enum QuestionError {
    /// There is no such system.
    #[error("unknown scheme '{name}'{}; there are: {}", catalogue::did_you_mean(.nearest), .known.join(", "))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The most similar name, if any is similar.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A number is out of range.
    #[error("{key} is {found}: expected {least} to {most}")]
    Range {
        /// What was asked.
        key: &'static str,
        /// What it was.
        found: i64,
        /// The smallest that is possible.
        least: u32,
        /// The largest.
        most: u32,
    },
}

/// How large a storage must be.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Size {
    /// Which.
    pub storage: String,
    /// Its volume in cubic millimetres.
    pub volume_mm3: f64,
    /// The area that it covers as a cube, in square millimetres.
    pub footprint_mm2: f64,
    /// That in percent of the core's.
    pub core_percent: f64,
    /// The volume that the paper prints, if the question is of its parameters.
    pub printed_mm3: Option<f64>,
    /// Whether ours is printed so, rounded or cut off.
    pub is_as_printed: Option<bool>,
    /// By how much ours is larger, in percent of that.
    pub difference_percent: Option<f64>,
    /// The paper's percentage of the core.
    pub printed_core_percent: Option<f64>,
}

/// What drains did that were carried out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Account {
    /// What they did.
    pub operations: Operations,
    /// What that takes, in nanojoules.
    pub energy_nj: f64,
    /// What holds that; the paper prints nothing of it.
    pub sizes: Vec<Size>,
    /// By what it differs from the account before it, all of it.
    pub differences: Vec<Difference>,
}

/// The drain of a full buffer at the worst, and of the store in flight, or of caches all of whose lines are dirty: carried out, and
/// counted.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Counted {
    /// Each entry or line alone, from cold caches of metadata. It differs from the closed form.
    pub alone: Account,
    /// All of them, from caches that were cold once. It differs from each alone.
    pub together: Account,
    /// The same where each counter overflows that the battery moves on, so that its group is encrypted anew. It differs from all
    /// together. Nothing of caches.
    pub overflowing: Option<Account>,
}

/// What one system needs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Which.
    pub system: String,
    /// From what its operations follow, in words.
    pub formula: &'static str,
    /// Its early steps.
    pub early: &'static [Step],
    /// Entries of its buffer, if it has one.
    pub entries: Option<u32>,
    /// What its drain does.
    pub operations: Operations,
    /// What that takes, in nanojoules.
    pub energy_nj: f64,
    /// What holds that.
    pub sizes: Vec<Size>,
    /// Where the paper contradicts itself.
    pub remark: Option<&'static str>,
    /// What its drain does where it is carried out, if that is asked for and a design does it.
    pub counted: Option<Counted>,
    /// Why that cannot be carried out.
    pub not_counted: Option<String>,
}

/// The answer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Battery {
    /// The name of what it is estimated from.
    pub profile: String,
    /// What that is, in a sentence.
    pub summary: String,
    /// The area of the core that footprints are compared with, in square millimetres.
    pub core_mm2: f64,
    /// The levels of the tree.
    pub levels: u32,
    /// For each number of entries the buffers, then what has no entries.
    pub rows: Vec<Row>,
}

/// The batteries of systems under a profile. `told` hears how many entries were drained, and of how many.
///
/// # Errors
/// Unknown systems, with the nearest right one; entries and levels out of range.
pub fn battery(
    profile: &Profile,
    question: &Question,
    told: &mut dyn FnMut(usize, usize),
) -> Result<Battery, QuestionError> {
    let needed = profile.tree.levels().max(LEVELS_MIN);
    let levels = question.levels.map_or(Ok(needed), |levels| in_range("height", levels, LEVELS_MIN, LEVELS_MAX))?;
    let entries: Result<Vec<u32>, _> =
        question.entries.iter().map(|entries| in_range("entries", *entries, 1, ENTRIES_MAX)).collect();
    let systems = chosen(&question.systems)?;
    let with =
        |entries: u32| systems.iter().filter(|system| system.has_entries()).map(move |system| (*system, Some(entries)));
    let without = systems.iter().filter(|system| !system.has_entries()).map(|system| (*system, None));
    let asked = entries?.into_iter().flat_map(with).chain(without);
    let are_papers = are_papers(profile, levels);
    let terms = Terms { profile, levels, are_papers, counted: question.counted, caches: OnceCell::new() };
    let asked: Vec<_> = asked.collect();
    let (mut drained, of) = (0, DRAINS_OF_EACH * terms.drained_at_once(&asked));
    let mut told = || {
        drained += 1;
        told(drained, of);
    };
    let rows = asked.into_iter().map(|(system, entries)| terms.row(system, entries, &mut told)).collect();
    let (name, summary) = (profile.name.clone(), profile.summary.clone());
    Ok(Battery { profile: name, summary, core_mm2: profile.core.area_mm2, levels, rows })
}

fn in_range(key: &'static str, found: i64, least: u32, most: u32) -> Result<u32, QuestionError> {
    let refused = QuestionError::Range { key, found, least, most };
    u32::try_from(found).ok().filter(|number| (least..=most).contains(number)).ok_or(refused)
}

/// The systems with these names, in their own order; all of them, if none is named.
fn chosen(names: &[String]) -> Result<Vec<System>, QuestionError> {
    let known: Vec<String> = System::all().iter().map(System::to_string).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        return Err(QuestionError::Unknown { name: name.clone(), nearest, known });
    }
    Ok(System::all().into_iter().filter(|system| names.is_empty() || names.contains(&system.to_string())).collect())
}

/// Whether the paper prints anything about these terms: whether all is as it assumes.
fn are_papers(asked: &Profile, levels: u32) -> bool {
    profile("secpb").is_ok_and(|papers| papers == *asked && papers.tree.levels() == levels)
}

/// What all rows of an answer are estimated from.
struct Terms<'a> {
    profile: &'a Profile,
    levels: u32,
    are_papers: bool,
    counted: Counting,
    /// The drains of full caches, once they were carried out.
    caches: OnceCell<Result<CacheDrains, String>>,
}

impl Terms<'_> {
    fn counts(&self, drains: Counting) -> bool {
        self.counted >= drains
    }

    /// How many entries, lines and stores in flight a drain of each of these systems has, where it is counted.
    fn drained_at_once(&self, asked: &[(System, Option<u32>)]) -> usize {
        let of_entries = asked.iter().filter_map(|(system, entries)| system.scheme().and(*entries));
        let in_buffers: usize = of_entries.map(|entries| entries as usize + 1).sum();
        let has_caches = asked.iter().any(|(system, _)| matches!(system, System::SecureEadr(_)));
        let in_caches = caches::lines(self.profile).ok().filter(|_| has_caches && self.counts(Counting::All));
        in_buffers + in_caches.unwrap_or_default() as usize
    }

    fn row(&self, system: System, entries: Option<u32>, told: &mut dyn FnMut()) -> Row {
        let operations = closed_form::operations(system, self.profile, entries.unwrap_or_default(), self.levels);
        let (name, energy) = (system.to_string(), self.profile.energy(&operations));
        let size = |storage: &Storage| {
            let printed = printed(&name, entries, &storage.name).filter(|_| self.are_papers);
            self.size(storage, energy, printed)
        };
        let sizes: Vec<Size> = self.profile.storage.iter().map(size).collect();
        let counted = match (system, entries) {
            (System::Buffer(scheme), Some(entries)) if self.counts(Counting::Buffers) => {
                Some(self.counted(scheme, entries, told))
            }
            (System::SecureEadr(accounting), _) if self.counts(Counting::All) => {
                Some(self.counted_caches(accounting, told))
            }
            _ => None,
        };
        let counted = counted.transpose();
        let remark = remark(&name, entries).filter(|_| sizes.iter().any(|size| size.printed_mm3.is_some()));
        Row {
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

    fn counted(&self, scheme: Scheme, entries: u32, told: &mut dyn FnMut()) -> Result<Counted, String> {
        let (geometry, lines) = worst(scheme, self.profile, (entries, self.levels))?;
        let Drains { alone, alone_differs, together, together_differs } =
            drains_of(scheme, self.profile, &geometry, &lines, told)?;
        let renewing = overflowing::drain(scheme, self.profile, &geometry, &lines)?;
        let renewing_differs = renewing.differs(scheme, self.profile, &geometry, together);
        Ok(Counted {
            alone: self.account(alone, alone_differs),
            together: self.account(together, together_differs),
            overflowing: Some(self.account(renewing.operations, renewing_differs)),
        })
    }

    /// The same drains stand next to either closed form of full caches.
    fn counted_caches(&self, accounting: Accounting, told: &mut dyn FnMut()) -> Result<Counted, String> {
        let drains = self.caches.get_or_init(|| caches::drain(self.profile, self.levels, told)).as_ref();
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
