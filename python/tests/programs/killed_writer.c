/* Reads what a process stored to shared memory until SIGKILL ended it, between two calls. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 512 };

int main(void) {
    volatile unsigned long *shared =
        mmap(0, WORDS * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        for (unsigned long count = 1;; count++) shared[count % WORDS] = count;
    }
    while (shared[1] < 20 * WORDS) continue;
    kill(child, SIGKILL);
    waitpid(child, 0, 0);
    unsigned long sum = 0;
    for (int word = 0; word < WORDS; word++) sum += shared[word];
    return sum == 0;
}
