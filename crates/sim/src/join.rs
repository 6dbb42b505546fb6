//! Concurrent work within one task: overlap is visible in the source.
//!
//! Every wake-up of the task polls each unfinished part, first to last. A part checks its condition, which costs little
//! if the condition is not yet true. So no wakers are needed, and the order is always the order in the source.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Polls a part unless it is done; returns true if the part is done.
fn advance<F: Future>(part: Pin<&mut F>, output: &mut Option<F::Output>, context: &mut Context<'_>) -> bool {
    if output.is_none()
        && let Poll::Ready(value) = part.poll(context)
    {
        *output = Some(value);
    }
    output.is_some()
}

/// Waits for two or three futures. They stay where they are created: only references are moved.
#[macro_export]
macro_rules! join {
    ($a:expr, $b:expr $(,)?) => {
        $crate::join_pinned(::std::pin::pin!($a), ::std::pin::pin!($b), ::std::pin::pin!(::std::future::ready(())))
            .await
            .0
    };
    ($a:expr, $b:expr, $c:expr $(,)?) => {
        match $crate::join_pinned(::std::pin::pin!($a), ::std::pin::pin!($b), ::std::pin::pin!($c)).await {
            ((a, b), c) => (a, b, c),
        }
    };
}

/// Implementation of [`join!`]: waits for all three futures.
#[doc(hidden)]
pub fn join_pinned<A: Future, B: Future, C: Future>(
    mut a: Pin<&mut A>,
    mut b: Pin<&mut B>,
    mut c: Pin<&mut C>,
) -> impl Future<Output = ((A::Output, B::Output), C::Output)> {
    let mut outputs = (None, None, None);
    poll_fn(move |context| {
        let done = [
            advance(a.as_mut(), &mut outputs.0, context),
            advance(b.as_mut(), &mut outputs.1, context),
            advance(c.as_mut(), &mut outputs.2, context),
        ];
        match (done, &mut outputs) {
            ([true, true, true], (a, b, c)) => match (a.take(), b.take(), c.take()) {
                (Some(a), Some(b), Some(c)) => Poll::Ready(((a, b), c)),
                _ => unreachable!("a join is not polled after it is done"),
            },
            _ => Poll::Pending,
        }
    })
}

/// Waits for the first of two futures to finish; if both finish at one instant, `race` returns the output of `first`.
/// The other future is dropped unfinished.
pub async fn race<T>(first: impl Future<Output = T>, second: impl Future<Output = T>) -> T {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Pending => second.as_mut().poll(context),
        done => done,
    })
    .await
}

/// Waits for all futures of a list; the outputs keep its order.
pub async fn join_all<F: Future>(parts: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut going = Going::default();
    parts.into_iter().for_each(|part| going.begin(part));
    going.all().await
}

/// A running future, and its output when it is done.
type Part<F> = (Pin<Box<F>>, Option<<F as Future>::Output>);

/// A list of running futures that can grow.
pub struct Going<F: Future> {
    parts: Vec<Part<F>>,
    /// Number of leading parts that are done.
    done: usize,
}

impl<F: Future> Default for Going<F> {
    fn default() -> Going<F> {
        Going { parts: Vec::new(), done: 0 }
    }
}

impl<F: Future> Going<F> {
    /// Adds a part to the list. It starts at the next await on this list.
    pub fn begin(&mut self, part: F) {
        self.parts.push((Box::pin(part), None));
    }

    /// Waits for another future, while the parts continue.
    pub async fn meanwhile<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        poll_fn(|context| {
            self.advance(context);
            other.as_mut().poll(context)
        })
        .await
    }

    /// Waits for all parts; the outputs keep the order in which they began.
    pub async fn all(mut self) -> Vec<F::Output> {
        poll_fn(|context| if self.advance(context) { Poll::Ready(()) } else { Poll::Pending }).await;
        self.parts.into_iter().filter_map(|(_, output)| output).collect()
    }

    /// Polls all unfinished parts; returns true if all are done.
    fn advance(&mut self, context: &mut Context<'_>) -> bool {
        let mut all = true;
        for (part, output) in &mut self.parts[self.done..] {
            all &= advance(part.as_mut(), output, context);
            self.done += usize::from(all);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use crate::{Clock, Executor, Going, join_all, race};
    use std::cell::Cell;
    use std::rc::Rc;
    use units::{Duration, Time};

    /// Returns the end of work that begins at zero.
    fn ended_at<W: Future<Output = ()> + 'static>(work: impl FnOnce(Clock) -> W) -> Time {
        let mut executor = Executor::new();
        let ended = Rc::new(Cell::new(Time::ZERO));
        let (clock, seen) = (executor.clock().clone(), ended.clone());
        let work = work(clock.clone());
        executor.clock().spawn(async move {
            work.await;
            seen.set(clock.now());
        });
        executor.run();
        ended.get()
    }

    #[test]
    fn a_join_of_tasks_takes_as_long_as_its_slowest_task() {
        let ended = ended_at(|clock| async move {
            join!(clock.sleep(Duration::from_ns(3)), clock.sleep(Duration::from_ns(9)));
            join_all((1..5).map(|n| clock.sleep(Duration::from_ns(n)))).await;
        });
        assert_eq!(ended, Time::ZERO + Duration::from_ns(13));
    }

    #[test]
    fn a_race_of_two_tasks_ends_with_the_faster_one_and_the_first_wins_a_tie() {
        let ended = ended_at(|clock| async move {
            let part = async |ns, name| {
                clock.sleep(Duration::from_ns(ns)).await;
                name
            };
            let winners = [
                race(part(3, "first"), part(9, "second")).await,
                race(part(9, "first"), part(3, "second")).await,
                race(part(5, "first"), part(5, "second")).await,
            ];
            assert_eq!(winners, ["first", "second", "first"]);
        });
        assert_eq!(ended, Time::ZERO + Duration::from_ns(11));
    }

    #[test]
    fn started_tasks_progress_while_their_parent_awaits_another() {
        let ended = ended_at(|clock| async move {
            let mut going = Going::default();
            let part = async |ns| {
                clock.sleep(Duration::from_ns(ns)).await;
                ns
            };
            going.begin(part(7));
            going.meanwhile(clock.sleep(Duration::from_ns(3))).await;
            going.begin(part(2));
            assert_eq!(going.all().await, [7, 2]);
        });
        assert_eq!(ended, Time::ZERO + Duration::from_ns(7));
    }
}
