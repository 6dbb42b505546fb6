/* The first store to a page of a shared object, through another view than the one that has loaded the page before.
 *
 * usage: first_stores OBJECT ACCESS
 *
 * OBJECT: memfd, file, grown, hugetlb, segment, zero or anonymous. ACCESS: byte, lines, update, clear, copy or, by the
 * kernel, read. The program loads each page through one view, stores to it through the other one, and loads it again: with both views in
 * one process, and then with one of them in a child process. It also updates a known page just before the first load
 * through the other view. Exit code 0 if every load was right, 1 if not, 77 if the host lacks the kind of object. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 16, PAGE = 4096, BYTES = PAGES * PAGE, HUGE = 2 << 20 };

static volatile uint8_t *views[2];
static int wrong;

/* The two views of an object; its pages contain `fill`. */
static void map_both(const char *object, uint8_t fill) {
    size_t bytes = strcmp(object, "hugetlb") ? BYTES : HUGE;
    if (!strcmp(object, "segment")) {
        int segment = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
        if (segment < 0) exit(77);
        views[0] = shmat(segment, 0, 0);
        views[1] = shmat(segment, 0, 0);
        shmctl(segment, IPC_RMID, 0);
    } else if (!strcmp(object, "zero") || !strcmp(object, "anonymous")) {
        int file = strcmp(object, "zero") ? -1 : open("/dev/zero", O_RDWR);
        /* Only another process can have a second view. */
        views[0] = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
        views[1] = views[0];
    } else {
        int file;
        if (!strcmp(object, "hugetlb")) {
            file = memfd_create("x", MFD_HUGETLB);
            if (file < 0 || ftruncate(file, bytes)) exit(77);
        } else if (!strcmp(object, "memfd")) {
            file = memfd_create("x", 0);
        } else {
            char name[] = "/tmp/first-stores-XXXXXX";
            file = mkstemp(name);
            unlink(name);
        }
        if (strcmp(object, "hugetlb")) {
            static uint8_t content[BYTES];
            memset(content, fill, sizeof content);
            if (!strcmp(object, "grown") ? ftruncate(file, bytes) : write(file, content, bytes) != BYTES) exit(2);
        }
        for (int view = 0; view < 2; view++)
            views[view] = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    for (int view = 0; view < 2; view++)
        if (views[view] == MAP_FAILED || views[view] == (void *)-1) exit(77);
}

/* The line that is stored to is in the middle of the page, at the end of the line before it. */
static size_t at(int page) { return (size_t)page * PAGE + 2048 - 4; }

static uint64_t load(int view, int page) { return *(volatile uint64_t *)(views[view] + at(page)); }

/* Loads through view 0, stores through view 1 and loads again, without a call between them. */
#define ROUND(store, expected)                                                                                         \
    do {                                                                                                               \
        volatile uint8_t *y = views[0] + at(page), *x = views[1] + at(page);                                           \
        uint64_t old = *(volatile uint64_t *)y;                                                                        \
        store;                                                                                                         \
        uint64_t now = *(volatile uint64_t *)y;                                                                        \
        if (now != (expected)) wrong = 1;                                                                              \
    } while (0)

static void touch(const char *access, int page) {
    if (!strcmp(access, "byte")) ROUND(x[0] = 0x77, (old & ~0xffull) | 0x77);
    else if (!strcmp(access, "lines")) ROUND(*(volatile uint64_t *)x = 0x1122334455667788, ((void)old, 0x1122334455667788));
    else if (!strcmp(access, "update")) ROUND((*(volatile uint64_t *)x) += 3, old + 3);
    else if (!strcmp(access, "clear")) ROUND(*(volatile uint64_t *)x = 0, ((void)old, 0));
    else if (!strcmp(access, "read")) {
        int ends[2];
        if (pipe(ends) || write(ends[1], "the text", 8) != 8) exit(2);
        ROUND(wrong |= read(ends[0], (void *)x, 8) != 8, ((void)old, *(uint64_t *)"the text"));
        close(ends[0]), close(ends[1]);
    } else {
        static uint8_t bytes[256];
        for (int n = 0; n < 256; n++) bytes[n] = (uint8_t)(page + n);
        ROUND(memcpy((void *)(x - 128), bytes, 256), ((void)old, *(uint64_t *)(bytes + 128)));
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const char *object = arguments[1], *access = arguments[2];
    map_both(object, 5);
    for (int page = 0; page < PAGES / 2; page++) touch(access, page);
    /* A known page is updated, and the next instruction loads it through the other view for the first time. */
    for (int page = PAGES / 2; page < PAGES; page++) {
        uint64_t old = load(1, page);
        volatile uint64_t *x = (volatile uint64_t *)(views[1] + at(page)), *y = (volatile uint64_t *)(views[0] + at(page));
        __asm__ volatile("addq $9, (%0)\n\tmovq (%1), %%rax" : : "r"(x), "r"(y) : "rax", "memory");
        if (*y != old + 9) wrong = 1;
    }
    /* The child stores first through its view; the parent has loaded, and loads again. */
    map_both(object, 6);
    int to_child[2], to_parent[2];
    if (pipe(to_child) || pipe(to_parent)) return 2;
    pid_t child = fork();
    char token = 0;
    if (!child) {
        for (int page = 0; page < PAGES; page++) {
            if (read(to_child[0], &token, 1) != 1) _exit(2);
            touch(access, page);
            if (write(to_parent[1], &token, 1) != 1) _exit(2);
        }
        _exit(wrong);
    }
    for (int page = 0; page < PAGES; page++) {
        uint64_t old = load(0, page);
        if (write(to_child[1], &token, 1) != 1 || read(to_parent[0], &token, 1) != 1) return 2;
        if (strcmp(access, "update") ? 0 : load(0, page) != old + 3) wrong = 1;
        load(1, page);
    }
    int status;
    waitpid(child, &status, 0);
    return wrong || status != 0;
}
