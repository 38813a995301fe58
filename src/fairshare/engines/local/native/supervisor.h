/* Owns what the parts of the compiled supervisor share. Each part is a file that opens with what it
 * owns; main.c has the life of a container, and says how this program relates to supervisor.py. */

#ifndef FAIRSHARE_SUPERVISOR_H
#define FAIRSHARE_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEBIBYTE (1024LL * 1024LL)

/* main.c: let supervisor.py supervise this container instead; only before its command runs. */
_Noreturn void hand_over(void);

/* files.c */
char *read_all(const char *path, size_t limit, size_t *size); /* NULL and errno if it fails */
bool read_plain(const char *path, char **content, size_t *size);
bool write_atomically(const char *path, const char *data, size_t size); /* false and errno */
bool reserve(const char *path, size_t size);
bool write_text(const char *path, const char *text);
void *allocate(size_t size);
char *joined(const char *first, const char *second);
double monotonic_s(void);
long long wall_ms(void);

/* json.c */
enum kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };
struct value {
    enum kind kind;
    long long number;
    char *text; /* bytes, as in Python's surrogateescape */
    struct value **items;
    char **keys;
    size_t count;
};
struct value *parse_json(const char *text, size_t size); /* NULL for anything unusual */

/* launch.c */
struct setting {
    char *file, *value;
    bool needed;
};
struct group_plan {
    char *path;
    struct setting *settings;
    size_t setting_count;
};
struct soft_limit {
    int which; /* RLIMIT_... */
    long long wanted; /* negative: the hard one */
};
struct launch {
    long long container, memory_mb, time_limit_ms, grace_ms, watch_ms, log_limit_bytes;
    long long niceness, process_limit, uid, gid, umask, signal, signal_before_ms;
    bool signal_first, no_new_privileges;
    char **arguments, **environment;
    char *directory, *memory_limit, *kill_group, *process_group, *account, *private_tmp;
    gid_t *supplementary;
    size_t supplementary_count;
    struct group_plan *groups;
    size_t group_count;
    struct soft_limit *limits;
    size_t limit_count;
    long long *processors; /* on which it runs; none: all */
    size_t processor_count;
};
struct launch read_launch(void); /* hands over what it does not know */
void add_secrets(struct launch *launch);
long long time_limit_of(const struct launch *launch); /* as launch.json has it now; negative: none */

/* processes.c */
struct pids {
    pid_t *items;
    size_t count, room;
};
unsigned long long start_time(pid_t pid); /* 0 if there is no such process */
void descendants(pid_t pid, struct pids *found);
void send_all(const struct pids *pids, int number);
long long resident_bytes(const struct pids *pids);
long long proportional_bytes(const struct pids *pids);
bool lists_children(void);

/* groups.c */
void create_groups(const struct launch *launch); /* hands over if it fails */
void remove_groups(const struct launch *launch);
void kill_group(const char *path);
long long group_number(const char *path, const char *file, const char *key);
void remove_abandoned_groups(void);

/* memory.c */
struct memory {
    const struct launch *launch;
    enum { BY_WATCHING, BY_GROUP_V1, BY_GROUP_V2 } method;
    int descriptor;        /* readable when the limit may have been exceeded; -1: none */
    long long interval_ms; /* -1: it is not checked periodically */
    long long peak;
};
struct memory open_memory(const struct launch *launch);
bool memory_exceeded(struct memory *memory, const struct pids *pids);
long long memory_peak_bytes(struct memory *memory);

/* logs.c */
struct stream {
    const char *path, *dropped_path;
    long long head_bytes, tail_bytes, slack_bytes, size, dropped_to;
};
struct logs {
    long long limit_bytes;
    struct stream streams[2];
    double look_at; /* negative: never */
};
struct logs open_logs(long long limit_bytes);
int look_at_logs(struct logs *logs, double now); /* errno of what failed, or 0 */
long long dropped_bytes(const struct logs *logs, int stream);

/* starter.c */
char *await_order(int orders); /* returns in the process that shall supervise this directory */

/* start.c */
pid_t start_command(const struct launch *launch); /* hands over if it fails */

#endif
