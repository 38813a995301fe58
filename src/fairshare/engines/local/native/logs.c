/* Owns the limit on a container's output: the beginning and the end of each stream are kept, and the
 * bytes in between are freed (enforcement.py). */

#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const long long BLOCK_BYTES = 4096;
static const double CALM_S = 1.0, HURRIED_S = 0.1;

struct logs open_logs(long long limit_bytes) {
    struct logs logs = {.limit_bytes = limit_bytes, .look_at = limit_bytes ? 0.0 : -1.0};
    long long head = limit_bytes / 4 / BLOCK_BYTES * BLOCK_BYTES;
    if (head < BLOCK_BYTES) head = BLOCK_BYTES;
    long long tail = limit_bytes > head ? limit_bytes - head : 0;
    logs.streams[0] = (struct stream){"stdout.log", "stdout.dropped", head, tail, limit_bytes / 32, 0, head};
    logs.streams[1] = (struct stream){"stderr.log", "stderr.dropped", head, tail, limit_bytes / 32, 0, head};
    return logs;
}

static int drop(struct stream *stream, long long end) {
    char words[96];
    int size = snprintf(words, sizeof words, "{\"from\": %lld, \"to\": %lld}", stream->head_bytes, end);
    /* The range is written first, so that a reader never takes the gap for output. */
    if (!write_atomically(stream->dropped_path, words, (size_t)size)) return errno;
    int descriptor = open(stream->path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), failure = 0;
    struct stat found;
    if (descriptor < 0) return errno;
    if (!fstat(descriptor, &found) && S_ISREG(found.st_mode) && end > stream->dropped_to &&
        fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, stream->dropped_to,
                  end - stream->dropped_to))
        failure = errno;
    close(descriptor);
    if (!failure) stream->dropped_to = end;
    return failure;
}

int look_at_logs(struct logs *logs, double now) {
    if (logs->look_at < 0 || now < logs->look_at) return 0;
    bool hurried = false;
    for (int at = 0; at < 2; at++) {
        struct stream *stream = &logs->streams[at];
        struct stat found;
        int failure = 0;
        if (lstat(stream->path, &found)) {
            if (errno == ENOENT) continue;
            failure = errno;
        } else {
            long long grown = found.st_size - stream->size;
            long long kept = stream->head_bytes + found.st_size - stream->dropped_to;
            stream->size = found.st_size;
            if (kept > logs->limit_bytes + stream->slack_bytes)
                failure = drop(stream, (found.st_size - stream->tail_bytes) / BLOCK_BYTES * BLOCK_BYTES);
            hurried = hurried || grown > logs->limit_bytes / 4;
        }
        if (failure) {
            logs->look_at = -1.0;
            return failure;
        }
    }
    logs->look_at = now + (hurried ? HURRIED_S : CALM_S);
    return 0;
}

long long dropped_bytes(const struct logs *logs, int stream) {
    return logs->streams[stream].dropped_to - logs->streams[stream].head_bytes;
}
