/* Executes its own program by an entry of /proc, which is QEMU while the program is recorded.
 *
 * usage: executes KIND
 *
 * KIND: self, pid, thread, link, inside, moved or child. Exit code 0 if the executed program was this one. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count == 3 && !strcmp(arguments[2], "again")) {
        puts("again");
        return 0;
    }
    if (count != 2) return 2;
    const char *kind = arguments[1];
    char path[64] = "/proc/self/exe", link[] = "/tmp/executes-XXXXXX";
    pid_t child = 0;
    if (!strcmp(kind, "pid")) snprintf(path, sizeof path, "/proc/%d/exe", (int)getpid());
    if (!strcmp(kind, "thread")) strcpy(path, "/proc/thread-self/exe");
    if (!strcmp(kind, "link")) {
        close(mkstemp(link));
        unlink(link);
        if (symlink("/proc/self/exe", link)) return 2;
        strcpy(path, link);
    }
    if (!strcmp(kind, "inside")) {
        if (chdir("/proc/self")) return 2;
        strcpy(path, "exe");
    }
    if (!strcmp(kind, "moved") && chdir("/")) return 2;
    if (!strcmp(kind, "child")) {
        child = fork();
        if (!child) {
            pause();
            _exit(0);
        }
        snprintf(path, sizeof path, "/proc/%d/exe", (int)child);
    }
    pid_t executing = fork();
    if (!executing) {
        execl(path, arguments[0], kind, "again", (char *)0);
        _exit(9);
    }
    int status;
    waitpid(executing, &status, 0);
    if (child) kill(child, 9), waitpid(child, 0, 0);
    if (!strcmp(kind, "link")) unlink(link);
    return status != 0;
}
