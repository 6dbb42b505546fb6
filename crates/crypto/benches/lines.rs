//! What real cryptography costs the host: one line through each cipher and each code.

use casemate_crypto::{Cmac, Gmac, Key, Nonce, PadCipher, Xts};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use units::{LINE_BYTES, LineAddr, ZERO_LINE};

fn lines(criterion: &mut Criterion) {
    let key = Key([7; 16]);
    let (pads, gmac, cmac, xts) = (PadCipher::new(&key), Gmac::new(&key), Cmac::new(&key), Xts::new(&key, &key));
    let mut group = criterion.benchmark_group("crypto");
    group.throughput(Throughput::Bytes(LINE_BYTES as u64));
    let mut number = 0;
    let mut nonce = move || {
        number += 1;
        Nonce::new(LineAddr(number), number.into())
    };
    group.bench_function("pad of a line", |bench| bench.iter(|| pads.pad(black_box(&nonce()))));
    group.bench_function("GMAC of a line", |bench| bench.iter(|| gmac.tag(&nonce(), black_box(&ZERO_LINE), 56)));
    group.bench_function("CMAC of a line", |bench| bench.iter(|| cmac.tag(&[3; 16], black_box(&ZERO_LINE), 64)));
    group.bench_function("XTS encryption", |bench| bench.iter(|| xts.encrypt(LineAddr(5), black_box(&ZERO_LINE))));
    group.bench_function("XTS decryption", |bench| bench.iter(|| xts.decrypt(LineAddr(5), black_box(&ZERO_LINE))));
    group.finish();
}

criterion_group!(benches, lines);
criterion_main!(benches);
