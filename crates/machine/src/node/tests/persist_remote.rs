//! Effects of other cores on the entries of a persist buffer, through the interface of a whole core.

use super::persist::{roomy, stores, with_buffer};
use super::*;

#[test]
fn a_remote_read_drains_a_persist_buffer_entry_after_its_unanswered_store() {
    let mut bench = Bench::warm(&roomy(StoreHold::NewEntries), &[64]);
    let mut out = Vec::new();
    let ops = stores(&[64]);
    let mut feed = Script { ops: ops.iter() };
    bench.node.run(&mut feed, Time::NEVER, &mut out).unwrap();
    let node = &mut bench.node;
    node.persist_buffer_mut().unwrap().flush(LineAddr(64), Time::ZERO);
    node.persist_buffer_mut().unwrap().flush(LineAddr(65), Time::ZERO);
    let requests: Vec<_> = node.persist_buffer_mut().unwrap().take_requests().collect();
    let [PersistRequest::Persist { at: entered, .. }, PersistRequest::Drain { at, line: LineAddr(64) }] = requests[..]
    else {
        panic!("{requests:?}")
    };
    assert_eq!(at, entered);
    assert_eq!(
        (node.persist_buffer().unwrap().counts().flushed, node.persist_buffer().unwrap().counts().drains),
        (1, 0)
    );
    node.persisted(at);
    node.drained(LineAddr(64), at);
}

#[test]
fn a_remote_write_removes_a_persist_buffer_entry_and_unblocks_a_waiting_store() {
    let mut bench = Bench::warm(&with_buffer(1, 1, 0, StoreHold::NewEntries), &[64, 65]);
    let mut out = Vec::new();
    let ops = stores(&[64, 65]);
    let mut feed = Script { ops: ops.iter() };
    bench.node.run(&mut feed, Time::NEVER, &mut out).unwrap();
    let node = &mut bench.node;
    let [PersistRequest::Persist { at, line: LineAddr(64), .. }] =
        node.persist_buffer_mut().unwrap().take_requests().collect::<Vec<_>>()[..]
    else {
        panic!("the first store enters, and waits for its answer")
    };
    node.give_up_entry(LineAddr(64), at);
    node.persisted(at);
    let requests: Vec<_> = node.persist_buffer_mut().unwrap().take_requests().collect();
    assert!(
        matches!(requests[..], [PersistRequest::Persist { line: LineAddr(65), allocates: true, .. }]),
        "what went over does not drain here, and its room is free: {requests:?}"
    );
    assert_eq!(node.persist_buffer().unwrap().counts().given_up, 1);
}
