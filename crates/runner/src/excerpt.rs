//! Writes a window of a run to a file in the trace-event format, which Perfetto and Chrome open. The file shows each
//! piece of work of every unit in the window, and the access to which the work belongs. `docs/EXCERPT_FORMAT.md`
//! describes the content.
//!
//! The spans are recorded by the explained mode of the schemes ([`protection::execution::Excerpt`]). The run keeps the
//! spans in host memory and writes them at its end.

mod events;
mod tracks;

use crate::record::Configuration;
use crate::sampling::Detail;
use crate::whole_file::{Unwritten, WholeFile, check_file, of_one};
use chip::Chip;
use machine::memory::MemorySystem;
use protection::execution::Excerpt;
use protection::media::Shape;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use thiserror::Error;
use tracks::{Tracks, UnitNames};
use units::{Duration, Time};

/// The window to write and the file to write it to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExcerptOptions {
    /// Path of the file.
    pub path: PathBuf,
    /// Begin of the window, from power-on.
    pub from: Time,
    /// Length of the window.
    pub length: Duration,
}

impl ExcerptOptions {
    /// Returns the options for one of several simulations: inserts `names`, which identify the simulation, before the
    /// suffix of the file name.
    pub fn of_one(&self, names: &[&str]) -> ExcerptOptions {
        ExcerptOptions { path: of_one(&self.path, names), ..*self }
    }

    /// The window as a range of times, without its end.
    pub fn window(&self) -> Range<Time> {
        self.from..self.from + self.length
    }
}

/// A reason why the file of the window was not written.
#[derive(Debug, Error)]
pub enum ExcerptError {
    /// The file cannot be written.
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
    /// A sampled run has no continuous clock.
    #[error(
        "a sampled run has no window to trace (--trace-window): its clock stops between the units in detail; run it with every instruction in detail"
    )]
    Sampled,
    /// The window has no length, so that no event can be in it.
    #[error("the window to trace is empty: expected FROM:LENGTH with a length, as in 20us:5us")]
    Empty,
    /// The end of the window exceeds the range of the simulated clock.
    #[error("the window to trace ends beyond 18446 s, the end of the simulated clock")]
    TooLong,
    /// The run ended before the window began.
    #[error("the window to trace begins at {}, and the run has ended at {}: expected one that begins earlier", words_of(.0), words_of(.1))]
    PastTheEnd(Time, Time),
}

/// Formats a time for a message, in the largest unit of time that does not exceed it.
fn words_of(time: &Time) -> String {
    let ns = time.as_ns_f64();
    let (unit, length) =
        [("s", 1e9), ("ms", 1e6), ("us", 1e3)].into_iter().find(|(_, length)| ns >= *length).unwrap_or(("ns", 1.0));
    format!("{}{unit}", (ns / length * 1e3).round() / 1e3)
}

/// Checks all conditions for writing the window that are known before the run. Leaves no file behind.
///
/// # Errors
/// All of [`ExcerptError`], except [`ExcerptError::PastTheEnd`].
pub fn check_excerpt(options: &ExcerptOptions, detail: Detail) -> Result<(), ExcerptError> {
    if matches!(detail, Detail::Sampled(_)) {
        return Err(ExcerptError::Sampled);
    }
    if options.length == Duration::ZERO {
        return Err(ExcerptError::Empty);
    }
    if options.from.as_fs().checked_add(options.length.as_fs()).is_none() {
        return Err(ExcerptError::TooLong);
    }
    Ok(check_file(&options.path)?)
}

/// The recorded events of the window and the file for them, if the options request one.
#[derive(Default)]
pub(crate) struct ExcerptFile(Option<(Rc<Excerpt>, WholeFile)>);

impl ExcerptFile {
    /// Creates the file, if the options request one.
    pub fn begin(options: Option<&ExcerptOptions>, detail: Detail) -> Result<ExcerptFile, ExcerptError> {
        let Some(options) = options else { return Ok(ExcerptFile(None)) };
        check_excerpt(options, detail)?;
        Ok(ExcerptFile(Some((Excerpt::new(options.window()), WholeFile::create(&options.path)?))))
    }

    /// Makes the chip record its events within the window, and the memory its refreshes.
    pub fn attach(&self, chip: &Chip, channels: &MemorySystem) {
        if let Some((excerpt, _)) = &self.0 {
            chip.account.keep(excerpt);
            channels.keep_refreshes();
        }
    }

    /// Writes the events that were recorded until the end of the run.
    ///
    /// # Errors
    /// [`ExcerptError::Unwritten`], and [`ExcerptError::PastTheEnd`] if the window begins after the run.
    pub fn finish(
        self,
        ended: Time,
        (shape, channels): (Shape, &MemorySystem),
        configuration: impl FnOnce() -> Configuration,
    ) -> Result<(), ExcerptError> {
        let Some((excerpt, mut file)) = self.0 else { return Ok(()) };
        let window = excerpt.window();
        if window.start >= ended {
            return Err(ExcerptError::PastTheEnd(window.start, ended));
        }
        let configuration = configuration();
        let units = UnitNames::of(&configuration, shape);
        let (trips, clips) = excerpt.take();
        let mut tracks = Tracks::of(&units, window.clone(), &trips, &clips);
        tracks.add_refreshes(&window, &channels.refreshes());
        events::write(&mut file, &tracks, &events::TraceAbout { configuration: &configuration, window, ended })?;
        Ok(file.finish()?)
    }
}

#[cfg(test)]
mod tests;
