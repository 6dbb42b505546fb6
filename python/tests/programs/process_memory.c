/* The kernel writes into the memory of a process by the process's number, as for debuggers and compilers.
 *
 * usage: process_memory KIND
 *
 * KIND: self, read-only, moved, gathered, child or parent. The written process loads the bytes before and
 * after each write. Exit code 0 if every load was right, 1 if not, 77 if the host forbids the write. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4, ROUNDS = 20 };

static volatile uint8_t data[PAGES * PAGE] __attribute__((aligned(PAGE)));
static int wrong;

static int memory_of(pid_t process) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/mem", (int)process);
    int file = open(name, O_RDWR);
    if (file < 0) exit(77);
    return file;
}

static void fill(uint8_t value) {
    for (int n = 0; n < PAGES * PAGE; n++) data[n] = value;
}

/* The place of a round, across two lines and sometimes two pages. */
static size_t place(int round) { return (size_t)round * 797 + 40; }

static void check(int round, uint8_t value) {
    for (int n = 0; n < 64; n++)
        if (data[place(round) + n] != value) wrong = 1;
}

static void written_by_itself(const char *kind) {
    int file = memory_of(getpid());
    uint8_t bytes[64];
    fill(1);
    if (!strcmp(kind, "read-only")) mprotect((void *)data, sizeof data, PROT_READ);
    pid_t child = fork(); /* The pages are shared now: the kernel copies those that it writes. */
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t value = (uint8_t)(round + (child ? 2 : 100));
        memset(bytes, value, sizeof bytes);
        check(round, 1);
        off_t to = (off_t)(uintptr_t)(data + place(round));
        struct iovec parts[2] = {{bytes, 24}, {bytes + 24, 40}};
        int own = child ? file : memory_of(getpid());
        ssize_t done = 0;
        if (!strcmp(kind, "moved")) done = lseek(own, to, SEEK_SET) == to ? write(own, bytes, 64) : -1;
        else if (!strcmp(kind, "gathered")) done = pwritev(own, parts, 2, to);
        else done = pwrite(own, bytes, 64, to);
        if (done != 64) exit(2);
        check(round, value);
        if (!child) close(own);
    }
    if (!child) _exit(wrong);
    int status;
    waitpid(child, &status, 0);
    if (status) wrong = 1;
}

/* One process writes into the other, which waits meanwhile. */
static void written_by_another(const char *kind) {
    int to_writer[2], to_written[2], is_parent_written = !strcmp(kind, "parent");
    char token = 0;
    if (pipe(to_writer) || pipe(to_written)) exit(2);
    fill(1);
    pid_t first = getpid(), child = fork();
    if (!child == !is_parent_written) {
        for (int round = 0; round < ROUNDS; round++) {
            check(round, 1);
            if (write(to_writer[1], &token, 1) != 1 || read(to_written[0], &token, 1) != 1) _exit(77);
            check(round, (uint8_t)(round + 2));
        }
    } else {
        pid_t written = is_parent_written ? first : child;
        int file = memory_of(written);
        for (int round = 0; round < ROUNDS; round++) {
            uint8_t bytes[64];
            memset(bytes, round + 2, sizeof bytes);
            if (read(to_writer[0], &token, 1) != 1) _exit(77);
            if (pwrite(file, bytes, 64, (off_t)(uintptr_t)(data + place(round))) != 64) exit(77);
            if (write(to_written[1], &token, 1) != 1) _exit(77);
        }
    }
    if (!child) _exit(wrong);
    int status;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 77) exit(77);
    if (status) wrong = 1;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    const char *kind = arguments[1];
    if (!strcmp(kind, "child") || !strcmp(kind, "parent")) written_by_another(kind);
    else written_by_itself(kind);
    return wrong;
}
