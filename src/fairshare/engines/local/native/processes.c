/* Owns the information in /proc about processes: their start, descendants and memory (processes.py). */

#include "supervisor.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *read_of(pid_t pid, const char *file) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    return read_all(path, 1024 * 1024, NULL);
}

unsigned long long start_time(pid_t pid) {
    char *text = read_of(pid, "stat");
    /* The second field is the command's name in parentheses, which may contain any character. */
    char *next = text ? strrchr(text, ')') : NULL;
    unsigned long long found = 0;
    for (int field = 2; next && field < 22; field++) {
        next = strchr(next, ' ');
        if (next) next++;
    }
    if (next) found = strtoull(next, NULL, 10);
    free(text);
    return found;
}

bool lists_children(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    return access(path, R_OK) == 0;
}

static void add(struct pids *found, pid_t pid) {
    if (found->count == found->room) {
        found->room = found->room ? 2 * found->room : 64;
        found->items = realloc(found->items, found->room * sizeof *found->items);
        if (!found->items) abort();
    }
    found->items[found->count++] = pid;
}

static void add_children(pid_t pid, struct pids *found) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads) return;
    for (struct dirent *thread; (thread = readdir(threads));) {
        if (!isdigit((unsigned char)thread->d_name[0])) continue;
        char file[384];
        snprintf(file, sizeof file, "%s/%s/children", path, thread->d_name);
        char *text = read_all(file, 16 * 1024 * 1024, NULL);
        for (char *next = text, *end; next; next = end) {
            long child = strtol(next, &end, 10);
            if (end == next) break;
            add(found, (pid_t)child);
        }
        free(text);
    }
    closedir(threads);
}

void descendants(pid_t pid, struct pids *found) {
    found->count = 0;
    add_children(pid, found);
    for (size_t at = 0; at < found->count; at++) add_children(found->items[at], found);
}

void send_all(const struct pids *pids, int number) {
    for (size_t at = 0; at < pids->count; at++) kill(pids->items[at], number);
}

long long resident_bytes(const struct pids *pids) {
    long long total = 0, page = sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < pids->count; at++) {
        char *text = read_of(pids->items[at], "statm");
        char *second = text ? strchr(text, ' ') : NULL;
        if (second) total += strtoll(second, NULL, 10) * page;
        free(text);
    }
    return total;
}

long long proportional_bytes(const struct pids *pids) {
    long long total = 0;
    for (size_t at = 0; at < pids->count; at++) {
        char *text = read_of(pids->items[at], "smaps_rollup");
        char *line = text ? strstr(text, "\nPss:") : NULL;
        struct pids one = {&pids->items[at], 1, 1};
        total += line ? strtoll(line + 5, NULL, 10) * 1024 : resident_bytes(&one);
        free(text);
    }
    return total;
}
