/* Owns small files: read in one piece, written atomically. Paths are relative to the container's
 * directory, the supervisor's working directory. */

#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const size_t MOST_BYTES = 64 * 1024 * 1024;

void *allocate(size_t size) {
    void *found = calloc(1, size ? size : 1);
    if (!found) abort(); /* the server notices that its supervisor was lost */
    return found;
}

char *joined(const char *first, const char *second) {
    size_t size = strlen(first) + strlen(second) + 1;
    char *result = allocate(size);
    snprintf(result, size, "%s%s", first, second);
    return result;
}

double monotonic_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

long long wall_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static char *read_open(int descriptor, size_t limit, size_t *size) {
    size_t room = 4096, used = 0;
    char *data = allocate(room + 1);
    while (used < limit) {
        ssize_t got = read(descriptor, data + used, room - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            free(data);
            return NULL;
        }
        if (got == 0) break;
        used += (size_t)got;
        if (used == room) {
            room *= 2;
            data = realloc(data, room + 1);
            if (!data) abort();
        }
    }
    data[used] = '\0';
    if (size) *size = used;
    return data;
}

char *read_all(const char *path, size_t limit, size_t *size) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return NULL;
    char *data = read_open(descriptor, limit, size);
    close(descriptor);
    return data;
}

bool read_plain(const char *path, char **content, size_t *size) {
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) return false;
    struct stat found;
    *content = NULL;
    if (!fstat(descriptor, &found) && S_ISREG(found.st_mode) && found.st_size <= (off_t)MOST_BYTES)
        *content = read_open(descriptor, MOST_BYTES, size);
    close(descriptor);
    return *content != NULL;
}

bool reserve(const char *path, size_t size) {
    char *draft = joined(path, ".new");
    int descriptor = open(draft, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    free(draft);
    if (descriptor < 0) return false;
    int failure = posix_fallocate(descriptor, 0, (off_t)size);
    close(descriptor);
    errno = failure;
    return failure == 0;
}

bool write_atomically(const char *path, const char *data, size_t size) {
    char *draft = joined(path, ".new");
    /* Reserved space is overwritten, so that no further disk space is needed. */
    int descriptor = open(draft, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool done = descriptor >= 0;
    for (size_t written = 0; done && written < size;) {
        ssize_t step = write(descriptor, data + written, size - written);
        if (step < 0 && errno == EINTR) continue;
        if (step <= 0)
            done = false;
        else
            written += (size_t)step;
    }
    done = done && !ftruncate(descriptor, (off_t)size);
    int failure = errno;
    if (descriptor >= 0) close(descriptor);
    if (done && rename(draft, path)) {
        failure = errno;
        done = false;
    }
    if (!done) unlink(draft);
    free(draft);
    errno = failure;
    return done;
}

bool write_text(const char *path, const char *text) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    ssize_t done = write(descriptor, text, strlen(text));
    int failure = errno;
    close(descriptor);
    errno = failure;
    return done >= 0;
}
