//! Host time of real cryptography: one line in each mode and each code.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crypto::*;
use std::hint::black_box;
use units::{LINE_BYTES, ZERO_LINE};

fn lines(criterion: &mut Criterion) {
    let (key, long, tdes) = (Key([7; 16]), Key([7; 32]), Key([7; 24]));
    let modes: [(&str, Box<dyn LineCipher>); 8] = [
        ("AES-128 counter", Box::new(CounterMode::<Aes128>::new(&key))),
        ("AES-256 counter", Box::new(CounterMode::<Aes256>::new(&long))),
        ("Triple-DES counter", Box::new(CounterMode::<TdesEde3>::new(&tdes))),
        ("AES-128 XTS", Box::new(Xts::<Aes128>::new(&key, &key))),
        ("AES-128 OCB3", Box::new(Ocb3::<Aes128>::new(&key))),
        ("AES-128 OCB chunks", Box::new(OcbChunks::<Aes128>::new(&key))),
        ("AES-128 CBC", Box::new(Cbc::<Aes128>::new(&key))),
        ("AES-128 ECB", Box::new(Ecb::<Aes128>::new(&key))),
    ];
    let codes: [(&str, Box<dyn LineMac>); 7] = [
        ("GMAC of a line", Box::new(Gmac::<Aes128>::new(&key))),
        ("CMAC of a line", Box::new(Cmac::<Aes128>::new(&key))),
        ("CBC-MAC of a line", Box::new(CbcMac::<Aes128>::new(&key))),
        ("HMAC-SHA-1 of a line", Box::new(HmacSha1::new(&Key([7; 20])))),
        ("HMAC-SHA-256 of a line", Box::new(HmacSha256::new(&long))),
        ("SHA-3 prefix of a line", Box::new(Sha3Prefix::new(&key))),
        ("multilinear hash of a line", Box::new(Multilinear::new(&key, &Key([7; 64])))),
    ];
    let mut group = criterion.benchmark_group("crypto");
    group.throughput(Throughput::Bytes(LINE_BYTES as u64));
    let mut number = 0;
    let mut nonce = move || {
        number += 1;
        Nonce::new(number, number.into())
    };
    for (name, mode) in &modes {
        group.bench_function(format!("{name}, sealing"), |bench| bench.iter(|| mode.seal(&nonce(), &ZERO_LINE)));
        group.bench_function(format!("{name}, opening"), |bench| bench.iter(|| mode.open(&nonce(), &ZERO_LINE)));
    }
    for (name, code) in &codes {
        group.bench_function(*name, |bench| bench.iter(|| code.tag(&nonce(), black_box(&ZERO_LINE), 56)));
    }
    let sha3 = Sha3Prefix::new(&key);
    group.bench_function("SHA-3 prefix of two lines", |bench| {
        let nonces = [nonce(), nonce()];
        bench.iter(|| sha3.tags(nonces.each_ref().map(|nonce| (nonce, black_box(&ZERO_LINE))), 28));
    });
    let hash = Sha256Prefix::new(&key);
    group.bench_function("SHA-256/192 of a node of two", |bench| bench.iter(|| hash.hash(1, black_box(&[0; 48]))));
    group.finish();
}

criterion_group!(benches, lines);
criterion_main!(benches);
