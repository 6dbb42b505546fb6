/* A chain of threads, of which few are alive at once: each starts its successor and ends.
 *
 * usage: thread_chain NUMBER */
#include <pthread.h>
#include <stdlib.h>

static long last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* Does some work, so that most instructions of a run are those of threads. */
static void *run(void *number) {
    volatile long sum = 0;
    for (long n = 0; n < 2000; n++) sum += n;
    pthread_mutex_lock(&lock);
    last = (long)number;
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(int count, char **arguments) {
    long threads = count > 1 ? atol(arguments[1]) : 0;
    for (long number = 1; number <= threads; number++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, run, (void *)number)) return 2;
        pthread_detach(thread);
        pthread_mutex_lock(&lock);
        while (last != number) pthread_cond_wait(&ended, &lock);
        pthread_mutex_unlock(&lock);
    }
    return last != threads;
}
