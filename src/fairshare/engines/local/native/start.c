/* Owns the steps between fork and exec that set up a container's first process (execution.py). If one
 * fails, supervisor.py tries again, and finds the words. */

#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_log(const char *path, const struct launch *launch) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (descriptor < 0) hand_over();
    /* A program can reopen its output through /dev/stderr. */
    if (*launch->account && fchown(descriptor, (uid_t)launch->uid, (gid_t)-1)) hand_over();
    return descriptor;
}

static void run(const struct launch *launch) {
    const char *program = launch->arguments[0], *path = "/bin:/usr/bin";
    if (strchr(program, '/')) {
        execve(program, launch->arguments, launch->environment);
        return;
    }
    for (char **variable = launch->environment; *variable; variable++)
        if (!strncmp(*variable, "PATH=", 5)) path = *variable + 5;
    char *copy = joined(path, ""), *rest = copy;
    for (char *folder; (folder = strsep(&rest, ":"));) {
        char *start = *folder ? joined(folder, "/") : joined("", "");
        execve(joined(start, program), launch->arguments, launch->environment);
    }
}

static bool switch_account(const struct launch *launch, pid_t supervisor) {
    uid_t uid = (uid_t)launch->uid;
    gid_t gid = (gid_t)launch->gid;
    if (setgroups(launch->supplementary_count, launch->supplementary)) return false;
    if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid)) return false;
    umask(022);
    /* The kernel resets this setting when the user changes. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return getppid() == supervisor;
}

/* Unless the machine has lost them meanwhile. */
static void use_processors(const struct launch *launch) {
    enum { MOST = 1 << 16 };
    cpu_set_t *chosen = CPU_ALLOC(MOST);
    size_t size = CPU_ALLOC_SIZE(MOST);
    if (!launch->processor_count || !chosen) return;
    CPU_ZERO_S(size, chosen);
    for (size_t at = 0; at < launch->processor_count; at++)
        if (launch->processors[at] >= 0 && launch->processors[at] < MOST)
            CPU_SET_S((size_t)launch->processors[at], size, chosen);
    sched_setaffinity(0, size, chosen);
}

static bool set_limits(const struct launch *launch) {
    for (size_t at = 0; at < launch->limit_count; at++) {
        struct rlimit limit;
        long long wanted = launch->limits[at].wanted;
        if (getrlimit(launch->limits[at].which, &limit)) return false;
        bool above = wanted < 0 || (limit.rlim_max != RLIM_INFINITY && (rlim_t)wanted > limit.rlim_max);
        limit.rlim_cur = above ? limit.rlim_max : (rlim_t)wanted;
        if (setrlimit(launch->limits[at].which, &limit)) return false;
    }
    return true;
}

static bool set_up(const struct launch *launch, const int outputs[2], pid_t supervisor) {
    static const int reset[] = {SIGPIPE, SIGXFSZ, SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGCHLD};
    /* A session of its own: signals to its group, or from a terminal, reach no other container. */
    if (setsid() < 0) return false;
    /* Without its supervisor its limits would not be enforced, nor its outcome reported. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != supervisor) return false;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(outputs[0], 1) < 0 || dup2(outputs[1], 2) < 0) return false;
    for (size_t at = 0; at < sizeof reset / sizeof *reset; at++) signal(reset[at], SIG_DFL);
    for (size_t at = 0; at < launch->group_count; at++) {
        char *file = joined(launch->groups[at].path, "/cgroup.procs");
        if (!write_text(file, "0")) return false;
    }
    use_processors(launch);
    errno = 0;
    if (launch->niceness && nice((int)launch->niceness) == -1 && errno) return false;
    if (launch->no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return false;
    if (*launch->account && !switch_account(launch, supervisor)) return false;
    if (launch->umask >= 0) umask((mode_t)launch->umask);
    if (chdir(launch->directory) || !set_limits(launch)) return false;
    sigset_t none;
    sigemptyset(&none);
    return !sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A /tmp and a /dev/shm of its own (private_mounts.py), for this process and what it starts. */
static bool enter_private(const struct launch *launch) {
    char options[64] = "mode=1777";
    if (launch->memory_mb) snprintf(options, sizeof options, "mode=1777,size=%lldm", launch->memory_mb);
    return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) &&
           !mount(launch->private_tmp, "/tmp", NULL, MS_BIND, NULL) &&
           !mount(NULL, "/tmp", NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL) &&
           !mount("fairshare", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options);
}

pid_t start_command(const struct launch *launch) {
    if (*launch->private_tmp && !enter_private(launch)) hand_over();
    int outputs[2] = {open_log("stdout.log", launch), open_log("stderr.log", launch)};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) hand_over();
    pid_t supervisor = getpid(), pid = fork();
    if (pid < 0) hand_over();
    if (pid == 0) {
        if (set_up(launch, outputs, supervisor)) run(launch);
        if (write(ends[1], "x", 1) < 0) _exit(126);
        _exit(126);
    }
    close(outputs[0]);
    close(outputs[1]);
    close(ends[1]);
    char failed;
    ssize_t got;
    while ((got = read(ends[0], &failed, 1)) < 0 && errno == EINTR) {
    }
    close(ends[0]);
    if (got != 0) { /* else exec has closed it */
        waitpid(pid, NULL, 0);
        hand_over();
    }
    return pid;
}
