//! Compiles C programs for a test.

use casemate_workload::live::LiveOptions;
use std::path::PathBuf;
use std::process::Command;

/// Common part of all programs: functions that create the files of the arguments, map their pages, and store numbers.
const PRELUDE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
enum { PAGE = 4096, LINE = 64 };
__attribute__((unused)) static int file(const char *name) {
    int made = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (made < 0 || ftruncate(made, 8 * PAGE)) abort();
    return made;
}
__attribute__((unused)) static char *map(int file, int kind, int first, int pages) {
    char *at = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, kind, file, first * PAGE);
    if (at == MAP_FAILED) abort();
    return at;
}
__attribute__((unused)) static void store(char *at, uint64_t number) { *(volatile uint64_t *)at = 0xca5e3a7e00000000 + number; }
#define clwb(at) __asm__ volatile(".byte 0x66; xsaveopt %0" : "+m"(*(at)))
#define clflushopt(at) __asm__ volatile(".byte 0x66; clflush %0" : "+m"(*(at)))
#define clflush(at) __asm__ volatile("clflush %0" : "+m"(*(at)))
#define sfence() __asm__ volatile("sfence" ::: "memory")
#define past_caches(at, number) __asm__ volatile("movnti %1, %0" : "=m"(*(at)) : "r"(0xca5e3a7e00000000 + (number)))
__attribute__((unused)) static void check(int result, int expected) { if (result != expected) abort(); }
"#;

/// A compiled program in a separate directory.
pub struct Compiled(PathBuf);

impl Compiled {
    /// Compiles a program with this body of `main`.
    pub fn new(name: &str, body: &str) -> Compiled {
        let directory = std::env::temp_dir().join(format!("casemate-durable-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let source = directory.join("program.c");
        let text = format!("{PRELUDE}\nint main(int argc, char **argv) {{ (void)argc; {body}\nreturn 0; }}\n");
        std::fs::write(&source, text).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Werror", "-Wl,-z,now", "-o"]).arg(directory.join("program")).arg(source);
        assert!(compiler.status().unwrap().success());
        Compiled(directory)
    }

    /// Path of a file in the program's directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Options that record the program, with two files in its directory as arguments.
    pub fn options(&self, recorder: PathBuf) -> LiveOptions {
        LiveOptions::new(["program", "one", "two"].map(|name| self.file(name)), recorder)
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // The test does not fail if the directory remains.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
