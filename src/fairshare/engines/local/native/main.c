/* Owns the supervision of one container from its start to its end: what supervisor.py does, at a fifth
 * of its cost. That file explains the whole; here are the same states and the same files, except that
 * exit.json has facts, which outcome.py turns into words when it is read.
 *
 *     fs-supervisor CHANNEL LOCK DIRECTORY PYTHON [ARGUMENT]...
 *     fs-supervisor CHANNEL LOCK @ORDERS PYTHON [ARGUMENT]...
 *
 * CHANNEL, LOCK and ORDERS are open descriptors. With @ORDERS the program is the starter (starter.c): each
 * order then names DIRECTORY, which also replaces an ARGUMENT @ORDERS. Whatever is unusual before the
 * command runs (a field that this program does not know, a command that cannot be started) is handed
 * over to PYTHON ARGUMENT..., which begins again in this process, and then reports the failure in its
 * words.
 * The caller has blocked SIGTERM, SIGCHLD and SIGURG; they are received through a signalfd. */

#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t EXIT_BYTES = 4096; /* for facts: supervisor.py reserves more, for words. Blocks to free cost time */
static const int WRITE_ATTEMPTS = 600;
static const long long LONGEST_KILL_PAUSE_MS = 320;
static const double PROCESS_LOOK_S = 5.0;
static const long long LEFT_BEHIND_MS = 250; /* the longest grace of processes that outlive the first */

static char **python;
static int channel, lock;

static struct {
    struct launch launch;
    struct memory memory;
    struct logs logs;
    struct pids pids;
    const char *directory;
    int signals, crowd; /* descriptors: signalfd; pids.events, or -1 */
    double crowd_looked_at;
    pid_t first;
    bool first_ended, stop_wanted, limit_changed, over_memory, ending, warned, terminated;
    int status;
    const char *cause; /* why the supervisor ends it: a word of outcome.py; "": it ended by itself */
    int failure;       /* errno that goes with the cause */
    double kill_at;
    long long kill_pause_ms;
} own = {.crowd = -1, .cause = "", .kill_pause_ms = 5};

_Noreturn void hand_over(void) {
    fcntl(channel, F_SETFD, 0);
    fcntl(lock, F_SETFD, 0);
    execv(python[0], python);
    _exit(127);
}

static void warn(void) { /* send the signal that announces the end */
    descendants(getpid(), &own.pids);
    size_t others = 0;
    for (size_t at = 0; at < own.pids.count; at++) others += own.pids.items[at] != own.first;
    bool first = own.launch.signal_first || !others;
    for (size_t at = 0; at < own.pids.count; at++)
        if ((own.pids.items[at] == own.first) == first) kill(own.pids.items[at], (int)own.launch.signal);
    own.warned = true;
}

static void terminate(void) {
    descendants(getpid(), &own.pids);
    send_all(&own.pids, SIGTERM);
    own.terminated = true;
}

static void end(const char *cause, int failure, long long grace_ms) {
    own.cause = cause;
    own.failure = failure;
    own.ending = true;
    own.kill_at = monotonic_s() + (double)grace_ms / 1000;
    if (own.launch.signal && !own.warned && *cause) {
        warn();
        return;
    }
    terminate();
}

static double kill_all(void) {
    /* The group first, since it includes concurrent forks. The descendants too: there may be no
     * group, and a privileged container can leave it. */
    if (own.launch.kill_group) kill_group(own.launch.kill_group);
    descendants(getpid(), &own.pids);
    send_all(&own.pids, SIGKILL);
    long long pause_ms = own.kill_pause_ms;
    own.kill_pause_ms = 2 * pause_ms < LONGEST_KILL_PAUSE_MS ? 2 * pause_ms : LONGEST_KILL_PAUSE_MS;
    return (double)pause_ms / 1000;
}

static void write_pid(void) {
    char boot[64] = "", words[512];
    char *text = read_all("/proc/sys/kernel/random/boot_id", 60, NULL);
    if (text) snprintf(boot, sizeof boot, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    int size = snprintf(words, sizeof words,
                        "{\"supervisor\": %d, \"supervisor_start\": %llu, \"pid\": %d, \"start\": %llu, "
                        "\"boot\": \"%s\", \"started_at_ms\": %lld}",
                        (int)getpid(), start_time(getpid()), (int)own.first, start_time(own.first), boot,
                        wall_ms());
    /* Without this file no later server would find the container. */
    if (!write_atomically("pid.json", words, (size_t)size)) end("no-pid", errno, 0);
}

static void tell(void) {
    if (channel < 0) return;
    char *message = joined("S ", own.directory);
    ssize_t sent = send(channel, message, strlen(message), MSG_DONTWAIT | MSG_NOSIGNAL);
    free(message);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    close(channel); /* if the server has ended, the next one reads pid.json */
    channel = -1;
}

static bool reap(void) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) != 0;) {
        if (pid < 0 && errno == EINTR) continue;
        if (pid < 0) return false;
        if (pid == own.first) {
            own.first_ended = true;
            own.status = status;
        }
    }
    return true;
}

static bool crowded(double now) {
    char words[256];
    if (own.crowd < 0) return false;
    own.crowd_looked_at = now;
    ssize_t size = pread(own.crowd, words, sizeof words - 1, 0);
    if (size < 0) size = 0;
    words[size] = '\0';
    if (strncmp(words, "max ", 4) || strtoll(words + 4, NULL, 10) == 0) return false;
    close(own.crowd);
    own.crowd = -1;
    return true;
}

static void look_at_memory(double now) {
    struct pids none = {0};
    if (own.memory.descriptor < 0) descendants(getpid(), &own.pids);
    if (memory_exceeded(&own.memory, own.memory.descriptor < 0 ? &own.pids : &none)) {
        own.over_memory = true;
        own.ending = true;
        own.kill_at = now;
    }
}

static void sooner(double *until, double moment) {
    if (*until < 0 || moment < *until) *until = moment;
}

static void wait_until(double until) {
    struct pollfd polled[3] = {{own.signals, POLLIN, 0}, {own.memory.descriptor, POLLIN, 0}, {own.crowd, POLLPRI, 0}};
    double left_ms = until < 0 ? -1 : (until - monotonic_s()) * 1000;
    int timeout = until < 0 ? -1 : left_ms <= 0 ? 0 : left_ms > 1e9 ? 1000000000 : (int)left_ms + 1;
    poll(polled, 3, timeout);
    struct signalfd_siginfo received;
    while (read(own.signals, &received, sizeof received) == sizeof received)
        if (received.ssi_signo == SIGTERM) own.stop_wanted = true;
        else if (received.ssi_signo == SIGURG) own.limit_changed = true; /* LIMIT_CHANGED of launch.py */
}

static void supervise(double started) {
    const struct launch *launch = &own.launch;
    double look_at = started, end_at = -1, warn_at = -1;
    bool begins = true;
    long long left_behind_ms = launch->grace_ms < LEFT_BEHIND_MS ? launch->grace_ms : LEFT_BEHIND_MS;
    while (reap()) {
        double now = monotonic_s(), until = -1;
        if (begins || own.limit_changed) {
            if (own.limit_changed) own.launch.time_limit_ms = time_limit_of(launch);
            begins = own.limit_changed = false;
            end_at = launch->time_limit_ms < 0 ? -1 : started + (double)launch->time_limit_ms / 1000;
            bool warns = end_at >= 0 && launch->signal_before_ms && !own.warned;
            warn_at = warns ? end_at - (double)launch->signal_before_ms / 1000 : -1;
        }
        tell();
        if (!own.over_memory) {
            bool look = own.memory.interval_ms >= 0 && now >= look_at;
            if (look || own.memory.descriptor >= 0) look_at_memory(now);
            if (look) look_at = now + (double)(own.memory.interval_ms > 0 ? own.memory.interval_ms : 0) / 1000;
        }
        if (crowded(now) && !own.ending) end("processes", 0, launch->grace_ms);
        int unlimited = look_at_logs(&own.logs, now);
        if (unlimited && !own.ending) end("logs", unlimited, launch->grace_ms);
        if (!own.ending) {
            if (own.first_ended) end("", 0, left_behind_ms);
            else if (own.stop_wanted) end("stop", 0, launch->grace_ms);
            else if (end_at >= 0 && now >= end_at) end("time", 0, launch->grace_ms);
        }
        /* Those who did not get the signal of their own. */
        if (own.ending && own.first_ended && !own.terminated) terminate();
        if (warn_at >= 0 && now >= warn_at && !own.ending) {
            warn();
            warn_at = -1;
        }
        if (warn_at >= 0 && !own.ending) sooner(&until, warn_at);
        if (own.ending) sooner(&until, now >= own.kill_at ? now + kill_all() : own.kill_at);
        else if (end_at >= 0) sooner(&until, end_at);
        if (own.logs.look_at >= 0) sooner(&until, own.logs.look_at);
        if (own.crowd >= 0) sooner(&until, own.crowd_looked_at + PROCESS_LOOK_S);
        if (own.memory.interval_ms >= 0 && !own.over_memory) sooner(&until, look_at);
        if (channel >= 0) sooner(&until, now + (double)launch->watch_ms / 1000);
        wait_until(until);
    }
}

static void take_result(void) {
    struct stat found;
    if (rename("returned/result.pickle", "result.pickle") || lstat("result.pickle", &found)) return;
    if (!S_ISREG(found.st_mode) || found.st_uid != (uid_t)own.launch.uid || found.st_nlink != 1)
        unlink("result.pickle");
}

static long long peak_bytes(long long measured) {
    struct rusage children, self;
    getrusage(RUSAGE_CHILDREN, &children);
    getrusage(RUSAGE_SELF, &self);
    /* The exact peak of the largest process. Before exec it had the supervisor's size. */
    if (own.memory.method == BY_WATCHING && children.ru_maxrss > self.ru_maxrss &&
        children.ru_maxrss * 1024 > measured)
        return children.ru_maxrss * 1024;
    return measured;
}

static void write_exit(long long peak) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    long long cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    char words[1024];
    int size = snprintf(words, sizeof words,
                        "{\"container\": %lld, \"status\": %d, \"cause\": \"%s\", \"failure\": %d, "
                        "\"over_memory\": %s, \"peak_bytes\": %lld, \"cpu_ms\": %lld, \"ended_at_ms\": %lld, "
                        "\"dropped\": [%lld, %lld]}",
                        own.launch.container, own.status, own.cause, own.failure,
                        own.over_memory ? "true" : "false", peak, (cpu_us + 500) / 1000, wall_ms(),
                        dropped_bytes(&own.logs, 0), dropped_bytes(&own.logs, 1));
    for (int attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
        if (write_atomically("exit.json", words, (size_t)size)) return;
        /* A full disk may get free space again. A deleted directory has no readers. */
        struct stat found;
        if (stat(own.directory, &found) || !S_ISDIR(found.st_mode)) return;
        if (!stat("exit.json", &found) && S_ISDIR(found.st_mode)) { /* a container has put it there */
            char aside[64];
            snprintf(aside, sizeof aside, "work/exit.json.%d", (int)getpid());
            if (!rename("exit.json", aside)) continue;
        }
        sleep(1);
    }
}

static void receive_signals(void) {
    sigset_t wanted, pending;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGURG);
    sigprocmask(SIG_SETMASK, &wanted, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (!sigpending(&pending) && sigismember(&pending, SIGTERM)) hand_over(); /* stopped already */
    own.signals = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (own.signals < 0) hand_over();
}

static void limit_processes(void) {
    if (!own.launch.process_limit || !*own.launch.process_group) return;
    char *file = joined(own.launch.process_group, "/pids.events");
    own.crowd = open(file, O_RDONLY | O_CLOEXEC); /* a kernel before 4.8 does not count refusals */
    free(file);
}

int main(int count, char **words) {
    if (count < 5) return 2;
    channel = atoi(words[1]);
    lock = atoi(words[2]);
    own.directory = words[3];
    python = words + 4;
    if (*own.directory == '@') {
        const char *placeholder = own.directory;
        own.directory = await_order(atoi(placeholder + 1));
        for (char **word = python; *word; word++)
            if (!strcmp(*word, placeholder)) *word = (char *)own.directory;
    }
    prctl(PR_SET_NAME, "fs-supervisor", 0, 0, 0);
    if (chdir(own.directory) || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) hand_over();
    fcntl(channel, F_SETFD, FD_CLOEXEC);
    fcntl(lock, F_SETFD, FD_CLOEXEC);
    receive_signals();
    own.launch = read_launch();
    if (!reserve("exit.json", EXIT_BYTES)) hand_over();
    create_groups(&own.launch);
    own.memory = open_memory(&own.launch);
    limit_processes();
    own.logs = open_logs(own.launch.log_limit_bytes);
    add_secrets(&own.launch);
    own.first = start_command(&own.launch);
    unlink("secrets.json");
    double started = monotonic_s();
    write_pid();
    close(lock); /* the next server knows now that no further file will appear */
    supervise(started);
    long long measured = memory_peak_bytes(&own.memory);
    struct pids none = {0};
    own.over_memory = own.over_memory || memory_exceeded(&own.memory, &none);
    remove_groups(&own.launch);
    own.logs.look_at = own.logs.look_at < 0 ? -1 : 0;
    look_at_logs(&own.logs, monotonic_s());
    if (*own.launch.account) take_result();
    write_exit(peak_bytes(measured));
    remove_abandoned_groups();
    return 0;
}
