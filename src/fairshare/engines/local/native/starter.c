/* Owns the starter: one process of this program that forks a supervisor for each order of the zygote. A
 * fork of this small process is cheaper than a start of the program. Its children are those of the
 * zygote, which waits for them; the starter ends when the zygote closes its end or dies.
 *
 * One datagram each:
 *
 *     to the zygote     two ints when it is ready: READY, and the version of these datagrams
 *     from the zygote   DIRECTORY
 *     to the zygote     two ints: the pid of its supervisor, or 0; errno of what failed, or 0 */

#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 8192, READY = -1, VERSION = 1 };

char *await_order(int orders) {
    static char path[PATH_BYTES];
    prctl(PR_SET_NAME, "fs-starter", 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a fork does not inherit it */
    fcntl(orders, F_SETFD, FD_CLOEXEC);
    const int ready[2] = {READY, VERSION};
    if (send(orders, ready, sizeof ready, MSG_NOSIGNAL) < 0) _exit(0);
    for (;;) {
        ssize_t size = recv(orders, path, sizeof path - 1, 0);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) _exit(0);
        path[size] = '\0';
        /* As a sibling: the C library has no function for that. */
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            close(orders);
            return path;
        }
        int answer[2] = {pid < 0 ? 0 : (int)pid, pid < 0 ? errno : 0};
        if (send(orders, answer, sizeof answer, MSG_NOSIGNAL) < 0) _exit(0);
    }
}
