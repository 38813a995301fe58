/* Owns the reading of launch.json (written by launch.py). A field that this program does not know, and
 * that says something, is handed over to supervisor.py: no field is read and ignored. */

#include "supervisor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char *const IGNORED[] = {"container_name", "node", "resources", "launched_ms", "gpus", "other_directory"};
/* The server reads them; the last one matters only to supervisor.py, which begins again if a directory
 * cannot be entered. */

static const struct {
    const char *name;
    int which;
} LIMITS[] = {
    {"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},     {"data", RLIMIT_DATA},
    {"fsize", RLIMIT_FSIZE},   {"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE},
    {"nproc", RLIMIT_NPROC},   {"rss", RLIMIT_RSS},     {"stack", RLIMIT_STACK},
};

static long long number(const struct value *value) {
    if (value->kind != JSON_NUMBER) hand_over();
    return value->number;
}

static char *text(const struct value *value) {
    if (value->kind != JSON_TEXT) hand_over();
    return value->text;
}

static const struct value *array(const struct value *value) {
    if (value->kind != JSON_ARRAY) hand_over();
    return value;
}

static char **texts(const struct value *value) {
    char **result = allocate((array(value)->count + 1) * sizeof *result);
    for (size_t at = 0; at < value->count; at++) result[at] = text(value->items[at]);
    return result;
}

static char **variables(const struct value *value, char **earlier) {
    if (value->kind != JSON_OBJECT) hand_over();
    size_t count = 0;
    while (earlier && earlier[count]) count++;
    char **result = allocate((count + value->count + 1) * sizeof *result);
    for (size_t at = 0; at < count; at++) result[at] = earlier[at];
    for (size_t at = 0; at < value->count; at++) {
        if (strchr(value->keys[at], '=')) hand_over();
        char *name = joined(value->keys[at], "=");
        char *variable = joined(name, text(value->items[at]));
        size_t place = 0;
        while (place < count && strncmp(result[place], name, strlen(name))) place++;
        if (place == count) count++;
        result[place] = variable;
        free(name);
    }
    return result;
}

static struct group_plan *groups(const struct value *value, size_t *count) {
    *count = array(value)->count;
    struct group_plan *result = allocate(*count * sizeof *result);
    for (size_t at = 0; at < *count; at++) {
        const struct value *plan = array(value->items[at]);
        if (plan->count != 2) hand_over();
        const struct value *settings = array(plan->items[1]);
        result[at].path = text(plan->items[0]);
        result[at].setting_count = settings->count;
        result[at].settings = allocate(settings->count * sizeof *result[at].settings);
        for (size_t of = 0; of < settings->count; of++) {
            const struct value *setting = array(settings->items[of]);
            if (setting->count != 3) hand_over();
            result[at].settings[of] = (struct setting){
                text(setting->items[0]), text(setting->items[1]), setting->items[2]->kind == JSON_TRUE};
        }
    }
    return result;
}

static gid_t *identifiers(const struct value *value, size_t *count) {
    *count = array(value)->count;
    gid_t *result = allocate(*count * sizeof *result);
    for (size_t at = 0; at < *count; at++) result[at] = (gid_t)number(value->items[at]);
    return result;
}

static long long *numbers_of(const struct value *value, size_t *count) {
    *count = array(value)->count;
    long long *result = allocate(*count * sizeof *result);
    for (size_t at = 0; at < *count; at++) result[at] = number(value->items[at]);
    return result;
}

static struct soft_limit *soft_limits(const struct value *value, size_t *count) {
    if (value->kind != JSON_OBJECT) hand_over();
    *count = value->count;
    struct soft_limit *result = allocate(*count * sizeof *result);
    for (size_t at = 0; at < *count; at++) {
        size_t of = 0, known = sizeof LIMITS / sizeof *LIMITS;
        while (of < known && strcmp(LIMITS[of].name, value->keys[at])) of++;
        if (of == known) hand_over();
        result[at] = (struct soft_limit){LIMITS[of].which, number(value->items[at])};
    }
    return result;
}

static bool says_nothing(const struct value *value) {
    switch (value->kind) {
    case JSON_NUMBER: return value->number == 0 || value->number == -1;
    case JSON_TEXT: return !*value->text;
    case JSON_TRUE: return false;
    default: return value->count == 0;
    }
}

static bool take_field(struct launch *launch, const char *key, const struct value *value) {
    struct {
        const char *key;
        long long *number;
    } numbers[] = {
        {"container", &launch->container},       {"memory_mb", &launch->memory_mb},
        {"grace_ms", &launch->grace_ms},         {"watch_ms", &launch->watch_ms},
        {"niceness", &launch->niceness},         {"log_limit_bytes", &launch->log_limit_bytes},
        {"uid", &launch->uid},                   {"gid", &launch->gid},
        {"process_limit", &launch->process_limit}, {"umask", &launch->umask},
        {"signal", &launch->signal},             {"signal_before_ms", &launch->signal_before_ms},
    };
    struct {
        const char *key;
        char **text;
    } words[] = {
        {"directory", &launch->directory},
        {"memory_limit", &launch->memory_limit},
        {"process_group", &launch->process_group},
        {"account", &launch->account},
        {"private_tmp", &launch->private_tmp},
    };
    for (size_t at = 0; at < sizeof numbers / sizeof *numbers; at++)
        if (!strcmp(key, numbers[at].key)) {
            *numbers[at].number = number(value);
            return true;
        }
    for (size_t at = 0; at < sizeof words / sizeof *words; at++)
        if (!strcmp(key, words[at].key)) {
            *words[at].text = text(value);
            return true;
        }
    for (size_t at = 0; at < sizeof IGNORED / sizeof *IGNORED; at++)
        if (!strcmp(key, IGNORED[at])) return true;
    if (!strcmp(key, "arguments")) launch->arguments = texts(value);
    else if (!strcmp(key, "environment")) launch->environment = variables(value, NULL);
    else if (!strcmp(key, "groups")) launch->groups = groups(value, &launch->group_count);
    else if (!strcmp(key, "signal_first")) launch->signal_first = value->kind == JSON_TRUE;
    else if (!strcmp(key, "no_new_privileges")) launch->no_new_privileges = value->kind == JSON_TRUE;
    else if (!strcmp(key, "limits")) launch->limits = soft_limits(value, &launch->limit_count);
    else if (!strcmp(key, "supplementary"))
        launch->supplementary = identifiers(value, &launch->supplementary_count);
    else if (!strcmp(key, "processors"))
        launch->processors = numbers_of(value, &launch->processor_count);
    else if (!strcmp(key, "kill_group"))
        launch->kill_group = value->kind == JSON_NULL ? NULL : text(value);
    else if (!strcmp(key, "time_limit_ms"))
        launch->time_limit_ms = value->kind == JSON_NULL ? -1 : number(value);
    else return false;
    return true;
}

static struct value *read_object(const char *path) {
    char *content;
    size_t size;
    if (!read_plain(path, &content, &size)) return NULL;
    struct value *value = parse_json(content, size);
    return value && value->kind == JSON_OBJECT ? value : NULL;
}

struct launch read_launch(void) {
    struct launch launch = {.time_limit_ms = -1, .uid = -1, .gid = -1, .umask = -1, .account = "", .process_group = "",
                            .private_tmp = ""};
    const struct value *value = read_object("launch.json");
    if (!value) hand_over();
    for (size_t at = 0; at < value->count; at++)
        if (!take_field(&launch, value->keys[at], value->items[at]) && !says_nothing(value->items[at]))
            hand_over();
    bool whole = launch.arguments && launch.environment && launch.directory && launch.memory_limit;
    if (!whole || !launch.arguments[0] || !*launch.arguments[0]) hand_over();
    if (*launch.account && (launch.uid <= 0 || launch.gid < 0 || !launch.supplementary_count)) hand_over();
    return launch;
}

void add_secrets(struct launch *launch) {
    const struct value *secrets = read_object("secrets.json");
    if (secrets) launch->environment = variables(secrets, launch->environment);
}

long long time_limit_of(const struct launch *launch) {
    const struct value *value = read_object("launch.json");
    for (size_t at = 0; value && at < value->count; at++) {
        const struct value *limit = value->items[at];
        if (strcmp(value->keys[at], "time_limit_ms")) continue;
        if (limit->kind == JSON_NULL) return -1;
        if (limit->kind == JSON_NUMBER && limit->number >= 0) return limit->number;
    }
    return launch->time_limit_ms;
}
