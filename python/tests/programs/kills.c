/* Kills processes that execute many instructions, so that each may be about to send what it has recorded. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    volatile int *flag = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 30; round++) {
        *flag = 0;
        pid_t child = fork();
        if (child == 0) {
            for (int count = 0;; count++) *flag += count == 1000;
        }
        while (!*flag) continue;
        kill(child, SIGKILL);
        waitpid(child, 0, 0);
    }
    return 0;
}
