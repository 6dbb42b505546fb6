//! Runs stores at the persist point of a design: the controller, persist buffers or caches.

use super::bench::{Bench, WorkloadWrite};
use super::holder::Holder;
use super::workload::Workload;
use super::{buffered, cached};
use machine::persist::PersistBufferConfig;
use protection::design::{Persistence, Point};
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

/// Entries of a buffer as an alternative to those of the design, and dirty lines that caches may hold. With smaller numbers, a
/// short life has more lines on their way out.
const FEW: [u32; 3] = [2, 4, 8];

/// Runs all stores to the end and returns them in the order in which they became durable.
pub(super) fn store(
    bench: &mut Bench,
    point: Point,
    workload: &Workload,
    contents: &[(LineAddr, Line)],
    crowding: Option<&mut Random>,
) -> Vec<WorkloadWrite> {
    if point == Point::Controller {
        return bench.write(contents, workload.at_once, crowding);
    }
    let holder = begin(bench, point, workload, contents, crowding);
    bench.run_until(|| holder.went_on() == contents.len());
    holder.die(bench);
    let write = |number: usize| {
        let ((line, content), (issued, returned)) = (contents[number], holder.span(number));
        WorkloadWrite { line, content, issued, returned }
    };
    holder.taken().into_iter().map(write).collect()
}

/// Starts stores into the caches or into buffers.
pub(super) fn begin(
    bench: &Bench,
    point: Point,
    workload: &Workload,
    contents: &[(LineAddr, Line)],
    crowding: Option<&mut Random>,
) -> Rc<dyn Holder> {
    if point == Point::Caches {
        return cached::begin(bench, workload, contents, crowding);
    }
    buffered::begin(bench, workload, contents, crowding)
}

/// Starts the stores of one core's program, into the caches or into a buffer.
pub(super) fn feed(
    bench: &Bench,
    persistence: &Persistence,
    contents: Vec<(LineAddr, Line)>,
    random: &mut Random,
) -> Rc<dyn Holder> {
    if persistence.point == Point::Caches {
        let room = FEW[random.below(FEW.len() as u64) as usize];
        return cached::feed_into(bench, room as usize, contents);
    }
    buffered::feed_into(bench, buffer(persistence, random), contents)
}

/// Returns the design's buffer, or one with fewer entries.
fn buffer(persistence: &Persistence, random: &mut Random) -> PersistBufferConfig {
    let entries = random.pick(&FEW).filter(|_| random.below(4) > 0).unwrap_or(persistence.entries);
    PersistBufferConfig::of_fractions(entries, persistence.drain_from.into(), persistence.drain_to.into())
        .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"))
}
