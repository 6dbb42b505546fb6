/* Kinds of mapping, each with loads whose values tell right from wrong. `mappings KIND` exits with 1 if a value is wrong. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, SIZE = 16 * PAGE };
static unsigned bad;

static void expect(volatile uint8_t *address, int value) {
    if (*address != value) bad++;
}

/* Touches every line, so that later changes come to what is known. */
static unsigned sum(volatile uint8_t *memory) {
    unsigned sum = 0;
    for (int i = 0; i < SIZE; i += 64) sum += memory[i];
    return sum;
}

static void *map(int flags, int file, off_t offset) {
    void *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, flags, file, offset);
    if (memory == MAP_FAILED) exit(2);
    return memory;
}

static int memory_file(void) {
    int file = memfd_create("x", 0);
    if (file < 0 || ftruncate(file, SIZE)) exit(2);
    return file;
}

/* Stores through each of two views show in the other. */
static void compare_views(volatile uint8_t *a, volatile uint8_t *b) {
    sum(a), sum(b);
    for (int i = 0; i < SIZE; i += 40) {
        a[i] = i, expect(b + i, (uint8_t)i);
        b[i + 1] = i + 1, expect(a + i + 1, (uint8_t)(i + 1));
    }
}

static void two_views(void) {
    int file = memory_file();
    compare_views(map(MAP_SHARED, file, 0), map(MAP_SHARED, file, 0));
}

static void views_at_offsets(void) {
    int file = memory_file();
    uint8_t *a = map(MAP_SHARED, file, 0);
    uint8_t *b = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 8 * PAGE);
    for (int i = 0; i < 4 * PAGE; i += 32) a[8 * PAGE + i] = i / 32, expect(b + i, (uint8_t)(i / 32));
}

static void segments(void) {
    int id = shmget(IPC_PRIVATE, SIZE, 0600);
    uint8_t *a = shmat(id, 0, 0), *b = shmat(id, 0, 0);
    shmctl(id, IPC_RMID, 0);
    compare_views(a, b);
    shmdt(b);
    a[5] = 9, expect(a + 5, 9);
}

static void doubled(void) {
    uint8_t *a = map(MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint8_t *b = mremap(a, 0, SIZE, MREMAP_MAYMOVE);
    /* QEMU 7.2 refuses it. */
    if (b != MAP_FAILED) compare_views(a, b);
}

static void moved(void) {
    uint8_t *a = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < SIZE; i += 64) a[i] = i / 64;
    uint8_t *guard = mmap(a + SIZE, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    uint8_t *b = mremap(a, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
    for (int i = 0; i < SIZE; i += 64) expect(b + i, (uint8_t)(i / 64));
    expect(b + SIZE, 0);
    b[SIZE + 1] = 7, expect(b + SIZE + 1, 7);
    uint8_t *c = mmap(a, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (a != b)
        for (int i = 0; i < SIZE; i += 64) expect(c + i, 0);
    b = mremap(b, 2 * SIZE, PAGE, 0);
    b = mremap(b, PAGE, SIZE, MREMAP_MAYMOVE);
    expect(b + 64, 1), expect(b + PAGE + 64, 0);
    (void)guard;
}

static void mapped_over(void) {
    int file = memory_file();
    char text[PAGE];
    memset(text, 3, PAGE);
    if (pwrite(file, text, PAGE, PAGE) != PAGE) exit(2);
    uint8_t *a = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(a, 5, SIZE);
    mmap(a + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, PAGE);
    expect(a + PAGE + 9, 3), expect(a + 2 * PAGE + 9, 0), expect(a + 9, 5), expect(a + 3 * PAGE + 9, 5);
    munmap(a + PAGE, PAGE);
    mmap(a + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    expect(a + PAGE + 9, 0);
}

static void dropped(void) {
    int file = memory_file();
    uint8_t *shared = map(MAP_SHARED, file, 0), *private = map(MAP_PRIVATE, file, 0);
    uint8_t *own = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(shared, 4, SIZE), memset(own, 6, SIZE);
    expect(private + 70, 4), private[70] = 5, expect(private + 70, 5), expect(shared + 70, 4);
    shared[71] = 8, expect(private + 71, 4);
    madvise(own, SIZE, MADV_DONTNEED), madvise(private, SIZE, MADV_DONTNEED), madvise(shared, SIZE, MADV_DONTNEED);
    int is_zero = own[70] == 0;
    expect(own + 70, is_zero ? 0 : 6);
    expect(shared + 70, 4), expect(shared + 71, 8);
    unsigned total = sum(private) + sum(own) + sum(shared);
    own[70] = 1, expect(own + 70, 1);
    if (total == 1) puts("");
}

/* A private mapping shows the file until its page is stored to. */
static void private_file(void) {
    int file = memory_file();
    uint8_t *shared = map(MAP_SHARED, file, 0), *private = map(MAP_PRIVATE, file, 0);
    sum(private);
    shared[100] = 1, expect(private + 100, 1);
    char two = 2;
    if (pwrite(file, &two, 1, 101) != 1) exit(2);
    expect(private + 101, 2), expect(shared + 101, 2);
    private[100] += 2, expect(private + 100, 3), expect(shared + 100, 1), expect(private + 101, 2);
    shared[101] = 7, expect(private + 101, 2);
    shared[PAGE] = 9, expect(private + PAGE, 9);
}

static void kernel_writes(void) {
    int file = memory_file(), source = memory_file();
    uint8_t *a = map(MAP_SHARED, file, 0), *from = map(MAP_SHARED, source, 0), buffer[256];
    sum(a), memset(from, 11, SIZE);
    memset(buffer, 7, sizeof buffer);
    bad += pwrite(file, buffer, 256, 130) != 256;
    expect(a + 129, 0), expect(a + 130, 7), expect(a + 385, 7), expect(a + 386, 0);
    lseek(file, PAGE, SEEK_SET), bad += write(file, buffer, 3) != 3, expect(a + PAGE + 2, 7), expect(a + PAGE + 3, 0);
    struct iovec parts[2] = {{buffer, 5}, {buffer, 6}};
    bad += writev(file, parts, 2) != 11, expect(a + PAGE + 13, 7), expect(a + PAGE + 14, 0);
    bad += pwritev(file, parts, 2, 3 * PAGE) != 11, expect(a + 3 * PAGE + 10, 7), expect(a + 3 * PAGE + 11, 0);
    off_t in = 0, out = 4 * PAGE;
    if (copy_file_range(source, &in, file, &out, 100, 0) == 100) expect(a + 4 * PAGE + 99, 11), expect(a + 4 * PAGE + 100, 0);
    lseek(file, 5 * PAGE, SEEK_SET), in = 0;
    if (sendfile(file, source, &in, 100) == 100) expect(a + 5 * PAGE + 99, 11), expect(a + 5 * PAGE + 100, 0);
    a[6 * PAGE + 5] = 1;
    if (!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 6 * PAGE, PAGE)) expect(a + 6 * PAGE + 5, 0);
    a[8 * PAGE + 5] = 1, a[8 * PAGE - 1] = 2;
    bad += ftruncate(file, 8 * PAGE) || ftruncate(file, SIZE);
    expect(a + 8 * PAGE + 5, 0), expect(a + 8 * PAGE - 1, 2);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int appending = open(path, O_WRONLY | O_APPEND);
    bad += ftruncate(file, 9 * PAGE) || write(appending, buffer, 4) != 4 || ftruncate(file, SIZE);
    expect(a + 9 * PAGE + 3, 7), expect(a + 9 * PAGE + 4, 0);
    int again = open(path, O_RDWR | O_TRUNC);
    bad += ftruncate(again, SIZE) != 0, expect(a + 130, 0);
}

/* The kernel writes into a shared mapping: the other one shows it. */
static void kernel_reads_into(void) {
    int file = memory_file(), source = memory_file();
    uint8_t *a = map(MAP_SHARED, file, 0), *b = map(MAP_SHARED, file, 0);
    char text[300];
    memset(text, 4, sizeof text);
    bad += pwrite(source, text, 300, 0) != 300;
    sum(a), sum(b);
    bad += read(source, a + 1000, 300) != 300 && 0;
    bad += pread(source, a + 1000, 300, 0) != 300;
    expect(b + 999, 0), expect(b + 1000, 4), expect(b + 1299, 4), expect(b + 1300, 0);
}

static void forked(void) {
    uint8_t *own = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *shared = map(MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < SIZE; i += 64) own[i] = 1, shared[i] = 1;
    int down[2], up[2];
    char token = 0;
    if (pipe(down) || pipe(up)) exit(2);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < SIZE; i += 128) expect(own + i, 1), own[i] += 5, expect(own + i, 6), shared[i] += 5;
        expect(own + 64, 1);
        if (write(up[1], &token, 1) != 1 || read(down[0], &token, 1) != 1) _exit(2);
        expect(own + 192, 1), expect(shared + 192, 9);
        _exit(bad != 0);
    }
    if (read(up[0], &token, 1) != 1) exit(2);
    for (int i = 0; i < SIZE; i += 128) expect(own + i, 1), expect(shared + i, 6);
    own[192] = 3, shared[192] = 9;
    if (write(down[1], &token, 1) != 1) exit(2);
    int status;
    waitpid(child, &status, 0);
    bad += status != 0;
    expect(own + 192, 3), expect(own + 128, 1);
    uint8_t *more = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < SIZE; i += 64) expect(more + i, 0), more[i] = 2;
}

/* Another process writes to a file that this one maps, and maps a file that this one writes. */
static void across(void) {
    int file = memory_file();
    uint8_t *a = map(MAP_SHARED, file, 0);
    sum(a);
    for (int round = 1; round < 4; round++) {
        pid_t child = fork();
        if (child == 0) {
            char text[100];
            memset(text, round, sizeof text);
            if (pwrite(file, text, 100, round * 1000) != 100) _exit(2);
            uint8_t *b = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            expect(b + round * 1000, round), b[round * 1000 + 200] = round + 10;
            munmap(a, SIZE);
            _exit(bad != 0);
        }
        int status;
        waitpid(child, &status, 0);
        bad += status != 0;
        expect(a + round * 1000 + 99, round), expect(a + round * 1000 + 200, round + 10);
    }
}

static void heap(void) {
    uint8_t *start = sbrk(SIZE);
    for (int i = 0; i < SIZE; i += 64) start[i] = 3;
    sbrk(-SIZE / 2), sbrk(SIZE / 2);
    expect(start + 64, 3), expect(start + SIZE - 64, 0);
    for (int i = 0; i < 40; i++) {
        char *one = calloc(1, 1 << 20);
        for (int k = 0; k < 1 << 20; k += 4096 * 7) bad += one[k] != 0, one[k] = 1;
        free(one);
    }
}

/* Two mappings of /dev/zero are two memories. */
static void zeros(void) {
    int file = open("/dev/zero", O_RDWR);
    uint8_t *a = map(MAP_SHARED, file, 0), *b = map(MAP_SHARED, file, 0);
    sum(a), sum(b);
    a[5] = 7, expect(b + 5, 0), expect(a + 5, 7);
}

/* The kernel writes to a private page of a file before the program does. */
static void kernel_writes_private(void) {
    int file = memory_file(), source = memory_file();
    char text[PAGE];
    memset(text, 6, PAGE);
    if (pwrite(source, text, PAGE, 0) != PAGE) exit(2);
    uint8_t *a = mmap(0, SIZE, PROT_READ, MAP_PRIVATE, file, 0), *b = map(MAP_PRIVATE, file, 0);
    mprotect(a, SIZE, PROT_READ | PROT_WRITE);
    if (pread(source, a, 100, 0) != 100) exit(2);
    expect(a + 99, 6), expect(a + 100, 0), expect(b + 99, 0);
}

/* A child receives a message into memory that it shares with its parent, and into a page that it has a copy of. */
static void received(void) {
    uint8_t *own = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *shared = map(MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sum(own), sum(shared), own[9] = 1;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) || write(ends[0], "abc", 3) != 3 || write(ends[0], "def", 3) != 3) exit(2);
    pid_t child = fork();
    if (child == 0) {
        struct iovec to = {own + 64, 3}, to_shared = {shared + 64, 3};
        struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1}, other = {.msg_iov = &to_shared, .msg_iovlen = 1};
        if (recvmsg(ends[1], &message, 0) != 3 || recvmsg(ends[1], &other, 0) != 3) _exit(2);
        expect(own + 65, 'b'), expect(own + 9, 1), expect(shared + 65, 'e');
        _exit(bad != 0);
    }
    int status;
    waitpid(child, &status, 0);
    bad += status != 0;
    expect(own + 65, 0), expect(shared + 65, 'e');
}

/* The heap gains a part of a page again that it has given back. */
static void regained(void) {
    uint8_t *start = sbrk(2 * PAGE);
    memset(start, 5, 2 * PAGE);
    sbrk(-PAGE - 100), sbrk(PAGE + 100);
    unsigned end = start[2 * PAGE - 1], part = start[PAGE - 50];
    expect(start + 2 * PAGE - 1, end), expect(start + PAGE - 50, part), expect(start + 10, 5);
}

/* A parent and its child each touch a page first that neither has touched before. */
static void apart(void) {
    uint8_t *own = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    own[0] = 1;
    pid_t child = fork();
    if (child == 0) {
        own[PAGE] = 2, own[2 * PAGE] = 3;
        expect(own + PAGE + 64, 0), expect(own + 2 * PAGE, 3);
        _exit(bad != 0);
    }
    own[PAGE + 64] = 4;
    int status;
    waitpid(child, &status, 0);
    bad += status != 0;
    expect(own + PAGE, 0), expect(own + 2 * PAGE, 0), expect(own + PAGE + 64, 4);
}

int main(int count, char **words) {
    static const struct { const char *name; void (*run)(void); } kinds[] = {
        {"two-views", two_views}, {"views-at-offsets", views_at_offsets}, {"segments", segments}, {"doubled", doubled},
        {"moved", moved}, {"mapped-over", mapped_over}, {"dropped", dropped}, {"private-file", private_file},
        {"kernel-writes", kernel_writes}, {"kernel-reads-into", kernel_reads_into}, {"forked", forked},
        {"across", across}, {"heap", heap}, {"zeros", zeros}, {"kernel-writes-private", kernel_writes_private},
        {"received", received}, {"regained", regained}, {"apart", apart}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (count == 2 && !strcmp(words[1], kinds[i].name)) {
            kinds[i].run();
            printf("%s: %u wrong\n", words[1], bad);
            return bad != 0;
        }
    return 2;
}
