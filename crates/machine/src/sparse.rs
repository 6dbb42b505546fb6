//! A sparse array with an element for every line of a memory, which stores only pages in use.
//!
//! The array is a map of small directories over pages of some lines. A page occupies little more than its content, and
//! the array of a memory of many gigabytes occupies very little until it is used. Copies of the array share the pages
//! that have not changed since the copy was made. A copy duplicates only the map and the directories in use.
//!
//! The user of the array chooses the number of lines per page. If a simulated program touches scattered lines, the
//! array allocates whole pages, which costs time and memory. If the program touches all pages, the directories
//! determine the cost: the larger the pages, the smaller the directories. Pages of 1 to 2 KB were the best compromise.
//! Larger pages make runs with dense memory up to 4 % faster, and cost a third if frames are scattered.

use crate::prefetch_host::prefetch_host;
use std::rc::Rc;
use units::{Line, ZERO_LINE};

const PAGES_PER_DIRECTORY: usize = 64;

/// Map entry of a stretch of memory without a directory.
const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct PageDirectory<T, const PAGE: usize> {
    /// Index of the directory's stretch of memory.
    stretch: usize,
    pages: [Option<Rc<[T; PAGE]>>; PAGES_PER_DIRECTORY],
}

impl<T, const PAGE: usize> PageDirectory<T, PAGE> {
    fn empty(stretch: usize) -> Self {
        PageDirectory { stretch, pages: [const { None }; PAGES_PER_DIRECTORY] }
    }
}

/// The bytes of one line, initially zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cells(pub Line);

impl Default for Cells {
    fn default() -> Cells {
        Cells(ZERO_LINE)
    }
}

/// A sparse array indexed by line, in pages of `PAGE` lines. Elements have their default value at first.
#[derive(Clone)]
pub struct Sparse<T, const PAGE: usize> {
    /// Index into `directories` for each stretch of the memory, or [`NONE`].
    map: Vec<u32>,
    directories: Vec<PageDirectory<T, PAGE>>,
    pages: u64,
}

impl<T: Copy + Default, const PAGE: usize> Sparse<T, PAGE> {
    /// Number of lines of one directory.
    const STRETCH: usize = PAGE * PAGES_PER_DIRECTORY;

    /// Creates an array with elements for `lines` lines.
    pub fn new(lines: u64) -> Self {
        let stretches = lines.div_ceil(Self::STRETCH as u64) as usize;
        Sparse { map: vec![NONE; stretches], directories: Vec::new(), pages: 0 }
    }

    /// Returns the element of a line.
    #[inline]
    pub fn get(&self, line: u64) -> T {
        let (stretch, page, index) = Self::split(line);
        self.page(stretch, page).map_or_else(T::default, |page| page[index])
    }

    /// Returns a mutable reference to the element of a line.
    #[inline]
    pub fn entry(&mut self, line: u64) -> &mut T {
        let (stretch, page, index) = Self::split(line);
        if self.map[stretch] == NONE {
            self.begin(stretch);
        }
        let directory = &mut self.directories[self.map[stretch] as usize];
        let page = directory.pages[page].get_or_insert_with(|| {
            self.pages += 1;
            Rc::new([T::default(); PAGE])
        });
        &mut Rc::make_mut(page)[index]
    }

    /// Prefetches the host memory that [`Sparse::entry`] touches for a line.
    #[inline]
    pub fn prefetch_host(&self, line: u64) {
        let (stretch, page, index) = Self::split(line);
        if let Some(page) = self.page(stretch, page) {
            // The reference count, which shows whether a copy shares the page, is stored right before the page.
            prefetch_host(page, 0);
            prefetch_host(page, index);
        }
    }

    /// Returns the lines of all allocated pages, in order, with their elements.
    pub fn iter(&self) -> impl Iterator<Item = (u64, T)> + '_ {
        let pages = self.used().into_iter().flat_map(|(stretch, directory)| {
            let pages = directory.pages.iter().enumerate();
            pages.filter_map(move |(page, there)| Some((stretch * PAGES_PER_DIRECTORY + page, there.as_ref()?)))
        });
        pages.flat_map(|(number, page)| ((number * PAGE) as u64..).zip(page.iter().copied()))
    }

    /// Returns the size of the pages in the memory of this process, in bytes.
    pub fn footprint_bytes(&self) -> u64 {
        self.pages * (PAGE * size_of::<T>()) as u64
    }

    #[cold]
    fn begin(&mut self, stretch: usize) {
        self.map[stretch] = self.directories.len() as u32;
        self.directories.push(PageDirectory::empty(stretch));
    }

    #[inline]
    fn page(&self, stretch: usize, page: usize) -> Option<&[T; PAGE]> {
        self.directories.get(self.map[stretch] as usize)?.pages[page].as_deref()
    }

    /// Returns the stretches that have a directory, in order. Few stretches of a large memory have a directory, but its
    /// map is long.
    fn used(&self) -> Vec<(usize, &PageDirectory<T, PAGE>)> {
        let mut used: Vec<_> = self.directories.iter().map(|directory| (directory.stretch, directory)).collect();
        used.sort_unstable_by_key(|(stretch, _)| *stretch);
        used
    }

    #[inline]
    fn split(line: u64) -> (usize, usize, usize) {
        let page = line as usize / PAGE;
        (page / PAGES_PER_DIRECTORY, page % PAGES_PER_DIRECTORY, line as usize % PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_sparse_array_and_its_clone_equal_independent_ordered_maps(
            changes in proptest::collection::vec((0..3_u64, 0..300_u64, 1..9_u64), 1..200),
            copied_at in 0..200_usize,
        ) {
            // Lines of several pages and directories.
            let stretch = Sparse::<u64, 32>::STRETCH as u64;
            let (mut array, mut naive) = (Sparse::<u64, 32>::new(3 * stretch), BTreeMap::new());
            let (mut copy, mut naive_copy) = (array.clone(), naive.clone());
            for (number, &(directory, line, value)) in changes.iter().enumerate() {
                if number == copied_at {
                    (copy, naive_copy) = (array.clone(), naive.clone());
                }
                let line = directory * stretch + line;
                array.prefetch_host(line);
                *array.entry(line) = value;
                naive.insert(line, value);
                // The test also changes the copy, at other lines.
                *copy.entry(line + 300) = value;
                naive_copy.insert(line + 300, value);
            }
            for (array, naive) in [(&array, &naive), (&copy, &naive_copy)] {
                let held: Vec<_> = array.iter().filter(|(_, value)| *value != 0).collect();
                prop_assert_eq!(held, naive.iter().map(|(line, value)| (*line, *value)).collect::<Vec<_>>());
                prop_assert!((0..3 * stretch).step_by(7).all(|line| array.get(line) == naive.get(&line).copied().unwrap_or(0)));
            }
        }
    }

    #[test]
    fn a_sparse_array_allocates_a_page_on_the_first_write_to_it() {
        let mut array = Sparse::<u32, 32>::new(1 << 30);
        assert_eq!((array.get(1 << 29), array.footprint_bytes()), (0, 0));
        *array.entry(1 << 29) = 0;
        *array.entry((1 << 29) + 1) = 1;
        assert_eq!(array.footprint_bytes(), 32 * 4);
    }
}
