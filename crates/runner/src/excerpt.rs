//! A window of a run as a file: what every unit did in it and for which access, in the trace-event format, which Perfetto and
//! Chrome open. What is in the file is in `docs/EXCERPT_FORMAT.md`.
//!
//! The spans are those of the explained mode ([`protection::execution::Excerpt`]). They are kept while the run goes on, and
//! written when it is over.

mod events;
mod tracks;

use crate::record::Configuration;
use crate::sampling::Detail;
use crate::whole_file::{Unwritten, WholeFile, check_file, of_one};
use chip::Chip;
use protection::execution::Excerpt;
use protection::media::Shape;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use thiserror::Error;
use tracks::{Tracks, Units};
use units::{Duration, Time};

/// Which window is written, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExcerptOptions {
    /// The file.
    pub path: PathBuf,
    /// When the window begins, from power-on.
    pub from: Time,
    /// How long it is.
    pub length: Duration,
}

impl ExcerptOptions {
    /// The same for one of several simulations: the names that set it apart come before the file's suffix.
    pub fn of_one(&self, names: &[&str]) -> ExcerptOptions {
        ExcerptOptions { path: of_one(&self.path, names), ..*self }
    }

    /// From its first moment to the first after it.
    pub fn window(&self) -> Range<Time> {
        self.from..self.from + self.length
    }
}

/// Why there is no such file.
#[derive(Debug, Error)]
pub enum ExcerptError {
    /// It cannot be written.
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
    /// A sampled run has times of its own.
    #[error(
        "a sampled run has no window to trace (--trace-window): its clock stands still between what is in detail; run it with every instruction in detail"
    )]
    Sampled,
    /// Nothing can be in it.
    #[error("the window to trace is empty: expected FROM:LENGTH with a length, as in 20us:5us")]
    Empty,
    /// It is longer than time.
    #[error("the window to trace ends beyond what the simulated clock can count, 18446 s")]
    TooLong,
    /// The run was over before.
    #[error("the window to trace begins at {}, and the run has ended at {}: expected one that begins earlier", words_of(.0), words_of(.1))]
    PastTheEnd(Time, Time),
}

/// A time as people write it, for a message: in the largest unit of which it has one.
fn words_of(time: &Time) -> String {
    let ns = time.as_ns_f64();
    let (unit, length) =
        [("s", 1e9), ("ms", 1e6), ("us", 1e3)].into_iter().find(|(_, length)| ns >= *length).unwrap_or(("ns", 1.0));
    format!("{}{unit}", (ns / length * 1e3).round() / 1e3)
}

/// Whether a run can write its window, as far as it is known before it runs. Nothing is left behind.
///
/// # Errors
/// [`ExcerptError`], but for [`ExcerptError::PastTheEnd`].
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

/// What a run keeps of its window, and the file for it, if that is asked for.
#[derive(Default)]
pub(crate) struct ExcerptFile(Option<(Rc<Excerpt>, WholeFile)>);

impl ExcerptFile {
    /// Begins the file that is asked for.
    pub fn begin(options: Option<&ExcerptOptions>, detail: Detail) -> Result<ExcerptFile, ExcerptError> {
        let Some(options) = options else { return Ok(ExcerptFile(None)) };
        check_excerpt(options, detail)?;
        Ok(ExcerptFile(Some((Excerpt::new(options.window()), WholeFile::create(&options.path)?))))
    }

    /// Lets a chip keep what happens in the window.
    pub fn attach(&self, chip: &Chip) {
        self.0.iter().for_each(|(excerpt, _)| chip.keep(excerpt));
    }

    /// Writes what was kept until the end of the run.
    ///
    /// # Errors
    /// [`ExcerptError::Unwritten`] and [`ExcerptError::PastTheEnd`].
    pub fn finish(
        self,
        ended: Time,
        shape: Shape,
        configuration: impl FnOnce() -> Configuration,
    ) -> Result<(), ExcerptError> {
        let Some((excerpt, mut file)) = self.0 else { return Ok(()) };
        let window = excerpt.window();
        if window.start >= ended {
            return Err(ExcerptError::PastTheEnd(window.start, ended));
        }
        let configuration = configuration();
        let units = Units::of(&configuration, shape);
        let (trips, clips) = excerpt.take();
        let tracks = Tracks::of(&units, window.clone(), &trips, &clips);
        events::write(&mut file, &tracks, &events::TraceAbout { configuration: &configuration, window, ended })?;
        Ok(file.finish()?)
    }
}

#[cfg(test)]
mod tests;
