/* Owns the enforcement of a container's memory limit, by a cgroup or by periodic checks (enforcement.py). */

#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const long long AFTER_EVENT_MS = 20, LONGEST_INTERVAL_MS = 1000;
static const long long FASTEST_GROWTH = 4 * MEBIBYTE; /* bytes in a millisecond */

static int open_event(const char *path) {
    int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    char *file = joined(path, "/memory.oom_control");
    int control = open(file, O_RDONLY | O_CLOEXEC);
    free(file);
    char words[64];
    snprintf(words, sizeof words, "%d %d", descriptor, control);
    file = joined(path, "/cgroup.event_control");
    bool done = descriptor >= 0 && control >= 0 && write_text(file, words);
    free(file);
    if (control >= 0) close(control);
    if (!done) hand_over();
    return descriptor;
}

struct memory open_memory(const struct launch *launch) {
    struct memory memory = {launch, BY_WATCHING, -1, launch->watch_ms, 0};
    if (!strcmp(launch->memory_limit, "watch")) {
        if (!lists_children()) hand_over();
        return memory;
    }
    memory.interval_ms = -1;
    if (!launch->group_count) hand_over();
    if (!strcmp(launch->memory_limit, "cgroup-v2")) {
        memory.method = BY_GROUP_V2;
    } else if (!strcmp(launch->memory_limit, "cgroup-v1")) {
        memory.method = BY_GROUP_V1;
        if (launch->memory_mb > 0) memory.descriptor = open_event(launch->groups[0].path);
    } else {
        hand_over();
    }
    return memory;
}

static bool group_v1_exceeded(struct memory *memory) {
    const char *path = memory->launch->groups[0].path;
    uint64_t events;
    if (memory->descriptor < 0) return false;
    if (read(memory->descriptor, &events, sizeof events) == sizeof events)
        memory->interval_ms = AFTER_EVENT_MS; /* the event comes before the kernel acts on it */
    if (!group_number(path, "memory.oom_control", "oom_kill")) return false;
    return memory_peak_bytes(memory) >= (memory->launch->memory_mb - 1) * MEBIBYTE;
}

static bool watched_exceeded(struct memory *memory, const struct pids *pids) {
    long long limit = memory->launch->memory_mb * MEBIBYTE;
    long long held = resident_bytes(pids);
    if (pids->count > 1 && limit > 0 && held > limit) held = proportional_bytes(pids);
    if (held > memory->peak) memory->peak = held;
    long long safe_ms = (limit - held) / FASTEST_GROWTH;
    if (safe_ms > LONGEST_INTERVAL_MS) safe_ms = LONGEST_INTERVAL_MS;
    memory->interval_ms = safe_ms > memory->launch->watch_ms ? safe_ms : memory->launch->watch_ms;
    return limit > 0 && held > limit;
}

bool memory_exceeded(struct memory *memory, const struct pids *pids) {
    switch (memory->method) {
    case BY_GROUP_V1: return group_v1_exceeded(memory);
    case BY_GROUP_V2: {
        const char *path = memory->launch->groups[0].path;
        return group_number(path, "memory.events", "oom") && group_number(path, "memory.events", "oom_kill");
    }
    default: return watched_exceeded(memory, pids);
    }
}

long long memory_peak_bytes(struct memory *memory) {
    const struct launch *launch = memory->launch;
    switch (memory->method) {
    case BY_GROUP_V1: return group_number(launch->groups[0].path, "memory.max_usage_in_bytes", "");
    case BY_GROUP_V2: return group_number(launch->groups[0].path, "memory.peak", "");
    default: return memory->peak;
    }
}
