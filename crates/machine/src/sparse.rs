//! Something for every line of a memory, kept only where there is something.
//!
//! Two levels of directories over pages of some lines, so that a look-up is two indexings, a page costs its content and
//! little more, and a memory of many gigabytes costs nothing until it is used. Copies share what neither has changed since.
//!
//! A program that touches one line here and one there pays for whole pages, in time as in memory, and one that touches all
//! for what each page has apart from its content: they are of half the size that a page of the machine's has.

use std::rc::Rc;
use units::{Line, ZERO_LINE};

const LINES_PER_PAGE: usize = u32::BITS as usize;
const PAGES_PER_DIRECTORY: usize = 1024;

type Page<T> = [T; LINES_PER_PAGE];

#[derive(Clone)]
struct Directory<T> {
    /// For each page, one bit for each line that holds something: apart from the pages, so that asking whether a line
    /// holds anything does not touch its page.
    held: [u32; PAGES_PER_DIRECTORY],
    pages: [Option<Rc<Page<T>>>; PAGES_PER_DIRECTORY],
}

/// The bytes of one line; zeros to begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cells(pub Line);

impl Default for Cells {
    fn default() -> Cells {
        Cells(ZERO_LINE)
    }
}

/// A sparse array indexed by line.
#[derive(Clone)]
pub struct Sparse<T> {
    directories: Vec<Option<Rc<Directory<T>>>>,
    pages: u64,
}

impl<T: Copy + Default> Sparse<T> {
    /// An array of this many lines that holds nothing.
    pub fn new(lines: u64) -> Sparse<T> {
        let directories = lines.div_ceil((LINES_PER_PAGE * PAGES_PER_DIRECTORY) as u64);
        Sparse { directories: (0..directories).map(|_| None).collect(), pages: 0 }
    }

    /// Whether a line holds something.
    pub fn holds(&self, line: u64) -> bool {
        let (directory, page, index) = split(line);
        self.directories[directory].as_ref().is_some_and(|directory| directory.held[page] >> index & 1 == 1)
    }

    /// What a line holds, if it holds something.
    pub fn get(&self, line: u64) -> Option<&T> {
        let (directory, page, index) = split(line);
        let directory = self.directories[directory].as_ref()?;
        let held = directory.held[page] >> index & 1 == 1;
        directory.pages[page].as_ref().filter(|_| held).map(|page| &page[index])
    }

    /// What a line holds, for changing; from now on it holds something, the default to begin with.
    pub fn entry(&mut self, line: u64) -> &mut T {
        let (directory, page, index) = split(line);
        let directory = self.directories[directory].get_or_insert_with(|| {
            Rc::new(Directory { held: [0; PAGES_PER_DIRECTORY], pages: [const { None }; PAGES_PER_DIRECTORY] })
        });
        let directory = Rc::make_mut(directory);
        directory.held[page] |= 1 << index;
        let page = directory.pages[page].get_or_insert_with(|| {
            self.pages += 1;
            Rc::new([T::default(); LINES_PER_PAGE])
        });
        &mut Rc::make_mut(page)[index]
    }

    /// Every line that holds something, in order, with what it holds.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> + '_ {
        let directories =
            self.directories.iter().enumerate().filter_map(|(i, directory)| Some((i, directory.as_ref()?)));
        let pages = directories.flat_map(|(i, directory)| {
            // Most pages of a directory hold nothing; what holds something is there.
            let holding = directory.held.iter().enumerate().filter(|(_, held)| **held != 0);
            holding
                .filter_map(move |(j, held)| Some((i * PAGES_PER_DIRECTORY + j, directory.pages[j].as_ref()?, *held)))
        });
        pages.flat_map(|(number, page, held)| {
            ones(held).map(move |index| ((number * LINES_PER_PAGE + index) as u64, &page[index]))
        })
    }

    /// Bytes of this process that the content takes.
    pub fn footprint_bytes(&self) -> u64 {
        self.pages * size_of::<Page<T>>() as u64
    }
}

/// The bits of a word that are one, from the lowest on.
fn ones(mut word: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(lowest)
    })
}

fn split(line: u64) -> (usize, usize, usize) {
    let page = line as usize / LINES_PER_PAGE;
    (page / PAGES_PER_DIRECTORY, page % PAGES_PER_DIRECTORY, line as usize % LINES_PER_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_there_and_nothing_else() {
        let mut array = Sparse::new(200_000);
        for line in [0, 63, 64, 65_535, 65_536, 199_999] {
            assert_eq!(array.get(line), None);
            *array.entry(line) = line + 1;
        }
        let held: Vec<_> = array.iter().map(|(line, item)| (line, *item)).collect();
        assert_eq!(held, [0, 63, 64, 65_535, 65_536, 199_999].map(|line| (line, line + 1)));
        assert_eq!(array.get(1), None);
    }
}
