//! Something for every line of a memory, kept only where there is something.
//!
//! A map of small directories over pages of some lines: a page costs its content and little more, and a memory of many
//! gigabytes costs four bytes for each 128 KiB of it until it is used. Copies share the pages that neither has changed since;
//! what is copied at once is the map, and the directories that are used.
//!
//! A program that touches one line here and one there pays for whole pages and directories, in time as in memory, and one that
//! touches all for what each page has apart from its content: pages are of half the size that a page of the machine's has.

use std::rc::Rc;
use units::{Line, ZERO_LINE};

const LINES_PER_PAGE: usize = u32::BITS as usize;
const PAGES_PER_DIRECTORY: usize = 64;

/// No directory, in the map.
const NONE: u32 = u32::MAX;

type Page<T> = [T; LINES_PER_PAGE];

#[derive(Clone)]
struct Directory<T> {
    /// Which of the memory's stretches it is of.
    stretch: usize,
    /// For each page, one bit for each line that holds something: apart from the pages, so that asking whether a line
    /// holds anything does not touch its page.
    held: [u32; PAGES_PER_DIRECTORY],
    pages: [Option<Rc<Page<T>>>; PAGES_PER_DIRECTORY],
}

impl<T> Directory<T> {
    fn empty(stretch: usize) -> Directory<T> {
        Directory { stretch, held: [0; PAGES_PER_DIRECTORY], pages: [const { None }; PAGES_PER_DIRECTORY] }
    }
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
    /// For each stretch of the memory, where in `directories` its own is.
    map: Vec<u32>,
    directories: Vec<Directory<T>>,
    pages: u64,
}

impl<T: Copy + Default> Sparse<T> {
    /// An array of this many lines that holds nothing.
    pub fn new(lines: u64) -> Sparse<T> {
        let stretches = lines.div_ceil((LINES_PER_PAGE * PAGES_PER_DIRECTORY) as u64) as usize;
        Sparse { map: vec![NONE; stretches], directories: Vec::new(), pages: 0 }
    }

    fn directory(&self, stretch: usize) -> Option<&Directory<T>> {
        self.directories.get(self.map[stretch] as usize)
    }

    /// Whether a line holds something.
    pub fn holds(&self, line: u64) -> bool {
        let (stretch, page, index) = split(line);
        self.directory(stretch).is_some_and(|directory| directory.held[page] >> index & 1 == 1)
    }

    /// What a line holds, if it holds something.
    pub fn get(&self, line: u64) -> Option<&T> {
        let (stretch, page, index) = split(line);
        let directory = self.directory(stretch)?;
        let held = directory.held[page] >> index & 1 == 1;
        directory.pages[page].as_ref().filter(|_| held).map(|page| &page[index])
    }

    /// What a line holds, for changing; from now on it holds something, the default to begin with.
    pub fn entry(&mut self, line: u64) -> &mut T {
        let (stretch, page, index) = split(line);
        if self.map[stretch] == NONE {
            self.map[stretch] = self.directories.len() as u32;
            self.directories.push(Directory::empty(stretch));
        }
        let directory = &mut self.directories[self.map[stretch] as usize];
        directory.held[page] |= 1 << index;
        let page = directory.pages[page].get_or_insert_with(|| {
            self.pages += 1;
            Rc::new([T::default(); LINES_PER_PAGE])
        });
        &mut Rc::make_mut(page)[index]
    }

    /// The stretches that have a directory, in order. Of a large memory these are few, and its map is long.
    fn used(&self) -> Vec<(usize, &Directory<T>)> {
        let mut used: Vec<_> = self.directories.iter().map(|directory| (directory.stretch, directory)).collect();
        used.sort_unstable_by_key(|(stretch, _)| *stretch);
        used
    }

    /// Every line that holds something, in order, with what it holds.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> + '_ {
        let pages = self.used().into_iter().flat_map(|(i, directory)| {
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

    #[test]
    fn directories_keep_their_places_in_any_order_of_writing() {
        let stretch = (LINES_PER_PAGE * PAGES_PER_DIRECTORY) as u64;
        let mut array = Sparse::new(4 * stretch);
        for line in [3 * stretch, stretch + 1, 0, 3 * stretch + 2] {
            *array.entry(line) = line;
        }
        let held: Vec<_> = array.iter().map(|(line, _)| line).collect();
        assert_eq!(held, [0, stretch + 1, 3 * stretch, 3 * stretch + 2]);
        assert!(!array.holds(2 * stretch));
        assert_eq!(array.get(stretch + 1), Some(&(stretch + 1)));
    }

    #[test]
    fn a_copy_and_what_it_is_of_do_not_see_each_others_writes() {
        let mut array = Sparse::new(200_000);
        *array.entry(7) = 1;
        let mut copy = array.clone();
        *copy.entry(7) = 2;
        *copy.entry(100_000) = 3;
        *array.entry(150_000) = 4;
        assert_eq!((array.get(7), array.get(100_000), array.get(150_000)), (Some(&1), None, Some(&4)));
        assert_eq!((copy.get(7), copy.get(100_000), copy.get(150_000)), (Some(&2), Some(&3), None));
    }
}
