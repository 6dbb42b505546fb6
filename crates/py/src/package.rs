//! The package: the code that it was built from, the processor that it needs, and the names that Python takes from it.

use protection::kind::{Kind, MetadataCacheKind};

/// Digest of the source files that decide results, in hexadecimal (see `build.rs`).
pub const BUILD: &str = env!("CASEMATE_BUILD");

/// Names of processor features, as the compiler knows them and as `/proc/cpuinfo` lists them, of which the compiler was
/// allowed to use the former without a test at run time.
macro_rules! enabled_flags {
    ($($feature:literal as $flag:literal),* $(,)?) => {
        [$((cfg!(target_feature = $feature), $flag)),*]
    };
}

/// Names of the kinds of lines in memory.
pub fn kinds() -> Vec<&'static str> {
    Kind::all().map(Kind::name).collect()
}

/// Names of the metadata caches, in the order of records.
pub fn metadata_caches() -> Vec<&'static str> {
    MetadataCacheKind::all().map(MetadataCacheKind::name).collect()
}

/// Flags in `/proc/cpuinfo` that a processor must have to execute this package.
pub fn processor_flags() -> Vec<&'static str> {
    let all = enabled_flags![
        "sse2" as "sse2",
        "sse3" as "pni",
        "ssse3" as "ssse3",
        "sse4.1" as "sse4_1",
        "sse4.2" as "sse4_2",
        "popcnt" as "popcnt",
        "avx" as "avx",
        "avx2" as "avx2",
        "fma" as "fma",
        "f16c" as "f16c",
        "bmi1" as "bmi1",
        "bmi2" as "bmi2",
        "lzcnt" as "abm",
        "movbe" as "movbe",
        "adx" as "adx",
        "aes" as "aes",
        "pclmulqdq" as "pclmulqdq",
        "sha" as "sha_ni",
        "gfni" as "gfni",
        "vaes" as "vaes",
        "vpclmulqdq" as "vpclmulqdq",
        "avx512f" as "avx512f",
        "avx512bw" as "avx512bw",
        "avx512cd" as "avx512cd",
        "avx512dq" as "avx512dq",
        "avx512vl" as "avx512vl",
        "avx512ifma" as "avx512ifma",
        "avx512vbmi" as "avx512vbmi",
    ];
    all.iter().filter(|(enabled, _)| *enabled).map(|(_, flag)| *flag).collect()
}
