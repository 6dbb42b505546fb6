//! Waiting lists: many first-in-first-out lists in one arena, so that adding an entry needs no separate host
//! allocation.

const NONE: u32 = u32::MAX;

/// One list; its members are stored in the [`Lists`] to which they were added.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(super) const EMPTY: List = List { head: NONE, tail: NONE };
}

/// The members of all lists.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    nodes: Vec<(T, u32)>,
    free: u32,
}

impl<T: Copy> Lists<T> {
    pub(super) fn new() -> Lists<T> {
        Lists { nodes: Vec::new(), free: NONE }
    }

    pub(super) fn push(&mut self, list: &mut List, item: T) {
        let node = self.node(item);
        match list.tail {
            NONE => list.head = node,
            tail => self.nodes[tail as usize].1 = node,
        }
        list.tail = node;
    }

    pub(super) fn pop(&mut self, list: &mut List) -> Option<T> {
        if list.head == NONE {
            return None;
        }
        let node = list.head;
        let (item, next) = self.nodes[node as usize];
        list.head = next;
        if next == NONE {
            list.tail = NONE;
        }
        self.nodes[node as usize].1 = self.free;
        self.free = node;
        Some(item)
    }

    fn node(&mut self, item: T) -> u32 {
        if self.free == NONE {
            self.nodes.push((item, NONE));
            return self.nodes.len() as u32 - 1;
        }
        let node = self.free;
        self.free = self.nodes[node as usize].1;
        self.nodes[node as usize] = (item, NONE);
        node
    }
}
