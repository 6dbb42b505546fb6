/* Writes by the kernel, and files that replace others, which the next loads must see. `kernel_writes KIND`; exits with 0 if
   every load has the right content, natively as well. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, TEXT = 8 };
static const char text[TEXT + 1] = "ABCDEFGH";
static const uint64_t as_number = 0x4847464544434241;
static int wrong;
static int pipes[2], back[2];

static volatile uint64_t *word(char *at, int offset) { return (volatile uint64_t *)(at + offset); }

static void check(uint64_t found, uint64_t expected) { wrong += found != expected; }

static void need(int is_true) {
    if (!is_true) exit(9);
}

static char *shared(int object) { return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0); }

/* The kernel writes TEXT bytes into memory. */
static void fill(char *at) {
    need(write(pipes[1], text, TEXT) == TEXT);
    need(read(pipes[0], at, TEXT) == TEXT);
}

static void after_a_write(char *first, char *second) {
    fill(second + 8);
    *word(second, 16) = 5;
    check(*word(second, 8), as_number);
    check(*word(second, 0), 1);
    (void)first;
}

static void mapped_again(void) {
    int object = memfd_create("object", 0);
    need(ftruncate(object, PAGE) == 0);
    char *first = shared(object);
    *word(first, 0) = 1;
    *word(first, 8) = 2;
    munmap(first, PAGE);
    after_a_write(first, shared(object));
}

static void attached_again(void) {
    int segment = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    char *first = shmat(segment, NULL, 0);
    *word(first, 0) = 1;
    *word(first, 8) = 2;
    shmdt(first);
    after_a_write(first, shmat(segment, NULL, 0));
    shmctl(segment, IPC_RMID, NULL);
}

/* A new file may have the number of a deleted file. */
static void replaced_file(void) {
    char name[] = "kernel_writes.XXXXXX";
    for (int round = 0; round < 8; round++) {
        memcpy(name + sizeof name - 7, "XXXXXX", 6);
        int file = mkstemp(name);
        unlink(name);
        need(ftruncate(file, PAGE) == 0);
        char *view = shared(file);
        *word(view, 16) = round;
        check(*word(view, 0), 0);
        check(*word(view, 8), 0);
        memset(view, 0xee, PAGE);
        munmap(view, PAGE);
        close(file);
    }
}

static void private_view(void) {
    char content[PAGE];
    int object = memfd_create("object", 0);
    memset(content, 'z', PAGE);
    need(write(object, content, PAGE) == PAGE);
    char *clean = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, object, 0), *view = shared(object);
    check(*word(clean, 8), 0x7a7a7a7a7a7a7a7a);
    fill(view + 8);
    check(*word(clean, 8), as_number);
}

static uint64_t data[2 * PAGE / 8] __attribute__((aligned(PAGE)));

static void *write_own_memory(void *none) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%ld/mem", syscall(SYS_gettid));
    int memory = open(name, O_RDWR);
    *word((char *)data, 64) = 7;
    need(pwrite(memory, text, TEXT, (off_t)(uintptr_t)(data + 8)) == TEXT);
    check(*word((char *)data, 64), as_number);
    return none;
}

static void memory_of_a_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, write_own_memory, NULL);
    pthread_join(thread, NULL);
}

static void in_child(void (*fills)(char *), char *view) {
    char turn = 0;
    need(pipe(back) == 0);
    *word(view, 0) = 1;
    pid_t child = fork();
    if (child == 0) {
        fills(view);
        need(write(back[1], &turn, 1) == 1);
        _exit(0);
    }
    need(read(back[0], &turn, 1) == 1);
    check(*word(view, 0), as_number);
    int status;
    waitpid(child, &status, 0);
    wrong += status != 0;
}

static void receive(char *at) {
    int sockets[2];
    need(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
    struct iovec vector = {at, TEXT};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};
    need(send(sockets[1], text, TEXT, 0) == TEXT);
    need(recvmmsg(sockets[0], &message, 1, 0, NULL) == 1);
}

static char *anonymous(void) {
    return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* One call writes to two pages that the child shares with its parent until then. */
static void copied_pages(void) {
    int object = memfd_create("object", 0);
    char *memory = (char *)data;
    need(ftruncate(object, 2 * PAGE) == 0);
    memset(memory, 1, 2 * PAGE);
    pid_t child = fork();
    if (child == 0) {
        need(pread(object, memory, 2 * PAGE, 0) == 2 * PAGE);
        check(*word(memory, 0), 0);
        check(*word(memory, PAGE), 0);
        _exit(wrong);
    }
    int status;
    waitpid(child, &status, 0);
    for (int at = 0; at < 2 * PAGE; at += 8) check(*word(memory, at), 0x0101010101010101);
    wrong += status != 0;
}

int main(int count, char **kind) {
    need(count == 2 && pipe(pipes) == 0);
    if (!strcmp(kind[1], "mapped")) mapped_again();
    else if (!strcmp(kind[1], "attached")) attached_again();
    else if (!strcmp(kind[1], "replaced")) replaced_file();
    else if (!strcmp(kind[1], "private")) private_view();
    else if (!strcmp(kind[1], "thread")) memory_of_a_thread();
    else if (!strcmp(kind[1], "messages")) in_child(receive, anonymous());
    else if (!strcmp(kind[1], "child")) in_child(fill, anonymous());
    else if (!strcmp(kind[1], "copied")) copied_pages();
    else return 9;
    return wrong != 0;
}
