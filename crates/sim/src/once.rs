//! Values that one part of a task sets and other parts wait for. These values connect the stages of an access.

use std::cell::OnceCell;
use std::future::poll_fn;
use std::task::Poll;

/// A value that is set once. The waiting part must be in the same [`join!`](crate::join), after the part that sets the
/// value. Then it continues in the same poll, and needs no wake-up.
#[derive(Debug)]
pub struct Once<T>(OnceCell<T>);

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once(OnceCell::new())
    }
}

impl<T> Once<T> {
    /// Sets the value unless it is set already.
    pub fn set(&self, value: T) {
        let _ = self.0.set(value);
    }

    /// Returns the value, if it is set.
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// Returns the value; computes it now if it is not set.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(make)
    }

    /// Returns the value as soon as it is set.
    pub async fn wait(&self) -> &T {
        poll_fn(|_| self.0.get().map_or(Poll::Pending, Poll::Ready)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Executor, join};
    use std::cell::RefCell;
    use std::rc::Rc;
    use units::{Duration, Time};

    #[test]
    fn tasks_that_await_a_single_value_continue_when_it_is_first_set() {
        let mut executor = Executor::new();
        let clock = executor.clock().clone();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let noted = Rc::clone(&seen);
        executor.clock().spawn(async move {
            let once = Once::default();
            let bring = async {
                clock.sleep(Duration::from_ns(7)).await;
                once.set('a');
                once.set('b');
                clock.sleep(Duration::from_ns(2)).await;
            };
            let note = async || {
                let value = *once.wait().await;
                noted.borrow_mut().push((value, clock.now()));
            };
            join!(bring, note(), note());
            assert_eq!(once.get(), Some(&'a'));
        });
        executor.run();
        assert_eq!(*seen.borrow(), [('a', Time::ZERO + Duration::from_ns(7)); 2]);
    }
}
