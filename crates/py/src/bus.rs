//! Files of the lines that crossed the pins of memory, read block by block as columns of numbers.

use crate::{refused, to_json};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use runner::bus::{BusBlock, BusReader};
use std::path::PathBuf;

/// A block: times and lines as 64-bit numbers in this computer's byte order, one byte of flags per crossing, contents
/// as stored in the file.
type Columns<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A file of the lines that crossed the pins.
#[pyclass]
pub struct BusFile(BusReader);

#[pymethods]
impl BusFile {
    #[new]
    fn open(path: PathBuf) -> PyResult<BusFile> {
        Ok(BusFile(BusReader::open(&path).map_err(refused)?))
    }

    /// Description of the file, as JSON.
    fn header(&self) -> &str {
        self.0.header()
    }

    /// Totals of the blocks read so far, as JSON.
    fn totals(&self) -> PyResult<String> {
        to_json(&self.0.totals())
    }

    /// The next block; `None` after the last.
    fn next_block<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Columns<'py>>> {
        let block = py.detach(|| self.0.next_block()).map_err(refused)?;
        let bytes = |column: &[u8]| PyBytes::new(py, column);
        let numbers =
            |column: &[u64]| bytes(&column.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>());
        Ok(block.map(|BusBlock { times_fs, lines, flags, contents }| {
            (numbers(&times_fs), numbers(&lines), bytes(&flags), bytes(&contents))
        }))
    }
}
