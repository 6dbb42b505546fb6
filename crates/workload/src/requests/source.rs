//! Converts lines of text to the stream that the machine reads.

use super::form::{Form, TraceLine};
use crate::drawn::{ACCESS_BYTES, SeededContent};
use crate::error::WorkloadError;
use crate::packed::Unpacked;
use crate::source::{Finish, Origin, Source};
use crate::stream::{Batch, Block, BlockId, Strand};
use arrayvec::ArrayVec;
use isa::{Class, Flow, Instruction};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::{LINE_BYTES, VirtAddr, without_mark};
use wire::word::{self, Birth, Control};

/// Words after which the source returns a batch.
const BATCH_WORDS: usize = 8 << 10;

/// A text trace as a source of batches.
pub(super) struct RequestSource {
    path: PathBuf,
    bytes: Unpacked,
    form: Form,
    origin: Origin,
    drawn: SeededContent,
    /// Lines read so far.
    lines: u64,
}

impl RequestSource {
    pub(super) fn new(path: &Path, bytes: Unpacked, form: Form, (origin, seed): (Origin, u64)) -> RequestSource {
        RequestSource { path: path.to_owned(), bytes, form, origin, drawn: SeededContent::new(seed), lines: 0 }
    }

    /// Returns the next request, or `None` at the end.
    fn entry(&mut self) -> Result<Option<TraceLine>, WorkloadError> {
        loop {
            let line = self.bytes.line().map_err(WorkloadError::io("reading", &self.path))?;
            let Some(line) = line else {
                self.bytes.check_end(&self.path)?;
                return Ok(None);
            };
            self.lines += 1;
            let line = if self.lines == 1 { without_mark(&line) } else { &line };
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let line = String::from_utf8_lossy(line);
            return self.form.parse(&line).map(Some).map_err(|expected| WorkloadError::RequestLine {
                path: self.path.clone(),
                form: self.form.name(),
                number: self.lines,
                expected,
            });
        }
    }

    fn emit(&mut self, TraceLine { read, write, due }: TraceLine, batch: &mut Batch) {
        batch.words.push(word::control(Control::Due, 0, due));
        batch.words.push(word::block(0, 1));
        if let Some(address) = read {
            let line = self.drawn.touch(address / LINE_BYTES as u64 * LINE_BYTES as u64, batch);
            batch.words.push(word::access(false, 3, false, 0, line));
        }
        if let Some(address) = write {
            let line = self.drawn.touch(address / LINE_BYTES as u64 * LINE_BYTES as u64, batch);
            (0..LINE_BYTES as u64 / ACCESS_BYTES).for_each(|word| self.drawn.store(line + word * ACCESS_BYTES, batch));
        }
    }
}

impl Source for RequestSource {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        let mut batch = Batch { strand: Strand::default(), ..Batch::default() };
        if self.lines == 0 {
            let beginning =
                [word::control(Control::Process, Birth::First as u8, 0), word::control(Control::Thread, 0, 0)];
            batch.words.extend(beginning);
            let instructions = vec![request()];
            batch.new_blocks.push(Arc::new(Block { id: BlockId(0), instructions, code: Box::default() }));
        }
        while batch.words.len() < BATCH_WORDS {
            let Some(entry) = self.entry()? else { break };
            self.emit(entry, &mut batch);
        }
        if batch.words.is_empty() {
            self.origin.finish = Finish::Exited(0);
            return Ok(None);
        }
        Ok(Some(Arc::new(batch)))
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// Returns the instruction that represents a request in the stream: no core executes it.
fn request() -> Instruction {
    Instruction {
        persist: isa::PersistEffect::None,
        pc: VirtAddr(0),
        bytes: 1,
        class: Class::IntAlu,
        flow: Flow::Next,
        address_sources: ArrayVec::new(),
        sources: ArrayVec::new(),
        destinations: ArrayVec::new(),
    }
}
