/* Owns operations on the cgroups of one container (groups.py). */

#include "supervisor.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const double PATIENCE_S = 1.0;

static char *path_in(const char *path, const char *file) {
    size_t size = strlen(path) + strlen(file) + 2;
    char *result = allocate(size);
    snprintf(result, size, "%s/%s", path, file);
    return result;
}

void create_groups(const struct launch *launch) {
    for (size_t at = 0; at < launch->group_count; at++) {
        const struct group_plan *group = &launch->groups[at];
        if (mkdir(group->path, 0755) && errno != EEXIST) hand_over();
        for (size_t of = 0; of < group->setting_count; of++) {
            char *file = path_in(group->path, group->settings[of].file);
            if (!write_text(file, group->settings[of].value) && group->settings[of].needed) hand_over();
            free(file);
        }
    }
}

void remove_groups(const struct launch *launch) {
    for (size_t at = 0; at < launch->group_count; at++) {
        double deadline = monotonic_s() + PATIENCE_S; /* for processes that are ending */
        while (rmdir(launch->groups[at].path) && errno != ENOENT && monotonic_s() < deadline)
            usleep(5000);
    }
}

void kill_group(const char *path) {
    char *file = path_in(path, "cgroup.kill");
    write_text(file, "1");
    free(file);
}

long long group_number(const char *path, const char *file, const char *key) {
    char *full = path_in(path, file), *text = read_all(full, 65536, NULL);
    char *next = text;
    free(full);
    while (next && *key) { /* the line that begins with the key */
        if (!strncmp(next, key, strlen(key)) && next[strlen(key)] == ' ') {
            next += strlen(key) + 1;
            break;
        }
        next = strchr(next, '\n');
        if (next) next++;
    }
    long long found = next && isdigit((unsigned char)*next) ? strtoll(next, NULL, 10) : 0;
    free(text);
    return found;
}

static int shared_lock(const char *state, const char *name) { /* -1: another process holds it */
    char *file = path_in(state, name);
    int lock = open(file, O_RDONLY | O_CLOEXEC);
    free(file);
    if (lock >= 0 && flock(lock, LOCK_SH | LOCK_NB)) {
        close(lock);
        return -1;
    }
    return lock;
}

void remove_abandoned_groups(void) {
    const char *paths = getenv("FAIRSHARE_GROUPS"), *state = getenv("FAIRSHARE_STATE_DIRECTORY");
    if (!paths || !*paths || !state || !*state) return;
    int server = shared_lock(state, "engine.lock"); /* no server is alive to do it */
    if (server < 0) return;
    int zygote = shared_lock(state, "zygote.lock"); /* and no zygote starts more containers */
    if (zygote >= 0) {
        close(zygote);
        char *copy = joined(paths, ""), *rest = copy;
        for (char *path; (path = strsep(&rest, ":"));)
            if (*path) rmdir(path);
        free(copy);
    }
    close(server);
}
