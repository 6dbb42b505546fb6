//! What the chip knows of persist buffers: which line memory has to return as what, from when on.

use super::Chip;
use units::{Line, LineAddr};

impl Chip {
    /// A persist buffer accepts the next store of the program, which is to this line: what that holds from here on.
    pub fn accept(&self, line: LineAddr) -> Line {
        self.shadow.borrow_mut().accept(line)
    }

    /// A change from outside that comes next in the order of the program, after the stores that were accepted.
    pub fn next_from_outside(&self) -> Option<(LineAddr, Line)> {
        self.shadow.borrow_mut().next_from_outside()
    }

    /// Whether all that cores store goes through persist buffers.
    pub fn has_buffers(&self) -> bool {
        self.has_buffers
    }

    /// The buffer has a line as this. From here on memory has to return it.
    pub fn taken(&self, line: LineAddr, content: &Line) {
        self.shadow.borrow_mut().taken(line, content);
    }

    /// The entry of a line has left its persist buffer for memory.
    pub fn left_buffer(&self, line: LineAddr) {
        self.shadow.borrow_mut().left_buffer(line);
    }
}
