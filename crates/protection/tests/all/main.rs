//! Integration tests of the parts and of the scheme over a memory, linked as one program.

mod battery;
mod buffered;
mod cached;
mod counters;
mod durable;
mod eager;
mod forests;
mod halted_renewals;
mod observed;
mod ownership;
mod page_records;
mod permuted;
mod persistence;
mod renewals;
mod scheme;
mod tag_lengths;
mod unused;
