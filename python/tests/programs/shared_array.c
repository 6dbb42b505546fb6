/* The main thread fills an array, and four threads read it. No two threads access a word at the same time. */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, WORDS = 1 << 15 };

static int *words;
static long sums[THREADS][8];

static void *add(void *number) {
    long first = (long)number, sum = 0;
    for (int word = first; word < WORDS; word += THREADS) sum += words[word];
    sums[first][0] = sum;
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    long sum = 0;
    words = malloc(WORDS * sizeof *words);
    for (int word = 0; word < WORDS; word++) words[word] = word;
    for (long number = 0; number < THREADS; number++) pthread_create(&threads[number], NULL, add, (void *)number);
    for (int number = 0; number < THREADS; number++) pthread_join(threads[number], NULL);
    for (int number = 0; number < THREADS; number++) sum += sums[number][0];
    return sum != (long)WORDS * (WORDS - 1) / 2;
}
