/* Programs whose threads, or processes, wait for each other in one of several ways: `turns WAY`. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 400, PLACES = 8 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static volatile int lock;
static volatile long count;
static long cells[THREADS + 2];
static int queue[PLACES], head, filled;

static void *with_mutex(void *thread) {
    (void)thread;
    for (int n = 0; n < ROUNDS; n++) {
        pthread_mutex_lock(&mutex);
        count += n;
        cells[count % THREADS] += count;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *with_spin_lock(void *thread) {
    (void)thread;
    for (int n = 0; n < ROUNDS; n++) {
        while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
            while (lock) __builtin_ia32_pause();
        count += n;
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *with_barrier(void *thread) {
    long at = (long)thread + 1;
    for (int n = 0; n < ROUNDS / 10; n++) {
        long next = cells[at - 1] + cells[at] + cells[at + 1] + n;
        pthread_barrier_wait(&barrier);
        cells[at] = next % 1000003;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *with_queue(void *thread) {
    for (int n = 0; n < ROUNDS; n++) {
        pthread_mutex_lock(&mutex);
        if ((long)thread % 2) {
            while (filled == PLACES) pthread_cond_wait(&not_full, &mutex);
            queue[(head + filled++) % PLACES] = n;
            pthread_cond_signal(&not_empty);
        } else {
            while (!filled) pthread_cond_wait(&not_empty, &mutex);
            count += queue[head];
            head = (head + 1) % PLACES;
            filled--;
            pthread_cond_signal(&not_full);
        }
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *with_a_race(void *thread) {
    for (long n = 0; n < 20 * ROUNDS; n++) {
        count++;
        cells[(count + n) % THREADS] += count + (long)thread;
    }
    return NULL;
}

/* A process lowers a flag of its parent with plain stores. */
static void between_processes(void) {
    volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!fork()) {
        for (int n = 1; n <= 20; n++) {
            shared[1] = n * 7;
            shared[0] = n;
            while (shared[0]) {}
        }
        _exit(0);
    }
    for (int n = 1; n <= 20; n++) {
        while (shared[0] != n) {}
        count += shared[1];
        shared[0] = 0;
    }
    wait(NULL);
}

/* A process stops another one, and lets it go on. */
static void with_job_control(void) {
    int status = 0;
    pid_t child = fork();
    if (!child) {
        for (int n = 0; n < 100 * ROUNDS; n++) count += n;
        _exit(0);
    }
    usleep(1000);
    kill(child, SIGSTOP);
    waitpid(child, &status, WUNTRACED);
    count = WIFSTOPPED(status);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
}

int main(int argc, char **argv) {
    static const struct { const char *name; void *(*run)(void *); } ways[] = {
        {"mutex", with_mutex}, {"spin", with_spin_lock}, {"barrier", with_barrier}, {"queue", with_queue}, {"race", with_a_race},
    };
    if (argc > 1 && !strcmp(argv[1], "flag")) between_processes();
    if (argc > 1 && !strcmp(argv[1], "stop")) with_job_control();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
        if (argc < 2 || strcmp(argv[1], ways[way].name)) continue;
        pthread_t threads[THREADS];
        for (long n = 0; n < THREADS; n++) pthread_create(&threads[n], NULL, ways[way].run, (void *)n);
        for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    }
    printf("%ld\n", count);
    return 0;
}
