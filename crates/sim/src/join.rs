//! Doing several things at once within one task: overlap made visible in the text.
//!
//! Every wake-up of the task polls each part that is not yet done, first to last; a part looks whether what it waits
//! for has happened and costs next to nothing if not. So no wakers are needed, and the order is always the text's.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Polls a part unless it is already done; says whether it is.
fn advance<F: Future>(part: Pin<&mut F>, output: &mut Option<F::Output>, context: &mut Context<'_>) -> bool {
    if output.is_none()
        && let Poll::Ready(value) = part.poll(context)
    {
        *output = Some(value);
    }
    output.is_some()
}

/// Waits for two or three futures, which stay where they are made: nothing is moved but references.
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

/// What [`join!`] stands on: waits for all three.
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

/// Waits for all of a list; the outputs keep its order.
pub async fn join_all<F: Future>(parts: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut parts: Vec<Pin<Box<F>>> = parts.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = parts.iter().map(|_| None).collect();
    poll_fn(move |context| {
        let mut all = true;
        for (part, output) in parts.iter_mut().zip(&mut outputs) {
            all &= advance(part.as_mut(), output, context);
        }
        if all { Poll::Ready(outputs.iter_mut().filter_map(Option::take).collect()) } else { Poll::Pending }
    })
    .await
}

#[cfg(test)]
mod tests {
    use crate::{Executor, join_all};
    use std::cell::Cell;
    use std::rc::Rc;
    use units::{Duration, Time};

    #[test]
    fn a_join_takes_as_long_as_its_slowest_part() {
        let mut executor = Executor::new();
        let ended = Rc::new(Cell::new(Time::ZERO));
        let (clock, seen) = (executor.clock().clone(), ended.clone());
        executor.clock().spawn(async move {
            join!(clock.sleep(Duration::from_ns(3)), clock.sleep(Duration::from_ns(9)));
            join_all((1..5).map(|n| clock.sleep(Duration::from_ns(n)))).await;
            seen.set(clock.now());
        });
        executor.run();
        assert_eq!(ended.get(), Time::ZERO + Duration::from_ns(13));
    }
}
