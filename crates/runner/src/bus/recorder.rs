//! The probe of a run, and the file that it writes.

use super::{BusError, BusHeader, BusOptions, BusWriter};
use crate::record::Configuration;
use protection::execution::TimedMemory;
use protection::media::Shape;
use protection::probe::Probe;
use std::cell::RefCell;
use std::rc::Rc;

/// A file that a probe fills, or the error that ended it; taking the error leaves `None`.
type Filled = Result<BusWriter, Option<BusError>>;

/// Recorder of the crossings of a run; inactive unless the options request a file.
pub(crate) struct BusRecorder(Option<Rc<RefCell<Filled>>>);

impl BusRecorder {
    /// Creates the requested file, and attaches a probe to the pins that fills it.
    pub fn begin(
        bus: Option<&BusOptions>,
        configuration: impl FnOnce() -> Configuration,
        memory: &TimedMemory,
        shape: Shape,
    ) -> Result<BusRecorder, BusError> {
        let Some(bus) = bus else { return Ok(BusRecorder(None)) };
        let configuration = configuration();
        super::check_bus(bus, configuration.detail)?;
        let header = BusHeader { configuration: &configuration, bytes: bus.bytes, shape: shape.into() };
        let filled = Rc::new(RefCell::new(Ok(BusWriter::create(&bus.path, &header)?)));
        let filling = filled.clone();
        memory.attach(Probe::new(bus.bytes, move |at, crossing| {
            let filled = &mut *filling.borrow_mut();
            if let Ok(writer) = filled
                && let Err(error) = writer.write(at, &crossing)
            {
                // Dropping the writer deletes its unfinished file.
                *filled = Err(Some(error));
            }
        }));
        Ok(BusRecorder(Some(filled)))
    }

    /// Returns true if writing has failed.
    pub fn has_failed(&self) -> bool {
        self.0.as_ref().is_some_and(|filled| filled.borrow().is_err())
    }

    /// Takes the error that ended the file, if any.
    pub fn take_error(&self) -> Option<BusError> {
        self.0.as_ref().and_then(|filled| filled.borrow_mut().as_mut().err()?.take())
    }

    /// Completes the file of crossings.
    ///
    /// # Errors
    /// The first error in writing the file.
    pub fn finish(&self, memory: &TimedMemory) -> Result<(), BusError> {
        let Some(filled) = &self.0 else { return Ok(()) };
        memory.probe().into_iter().for_each(Probe::finish);
        match std::mem::replace(&mut *filled.borrow_mut(), Err(None)) {
            Ok(writer) => writer.finish().map(|_| ()),
            Err(error) => error.map_or(Ok(()), Err),
        }
    }
}

impl Drop for BusRecorder {
    /// Deletes an unfinished file, even if the memory still holds the probe.
    fn drop(&mut self) {
        self.0.iter().for_each(|filled| drop(filled.replace(Err(None))));
    }
}
