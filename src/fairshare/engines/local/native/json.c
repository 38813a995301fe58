/* Owns the parsing of JSON as Python's json.dumps writes it: whole numbers only, texts in ASCII with
 * escapes. A lone surrogate from U+DC80 to U+DCFF is the byte that Python's surrogateescape made it
 * of. Returns NULL for anything else: supervisor.py then says what is wrong. */

#include "supervisor.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int DEEPEST = 16;

struct reader {
    const char *next, *end;
};

static void skip_blanks(struct reader *reader) {
    while (reader->next < reader->end && strchr(" \t\r\n", *reader->next) && *reader->next)
        reader->next++;
}

static bool take(struct reader *reader, char wanted) {
    skip_blanks(reader);
    if (reader->next >= reader->end || *reader->next != wanted) return false;
    reader->next++;
    return true;
}

static bool take_word(struct reader *reader, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(reader->end - reader->next) < size || memcmp(reader->next, word, size)) return false;
    reader->next += size;
    return true;
}

static int four_digits(struct reader *reader) {
    if (reader->end - reader->next < 4) return -1;
    int code = 0;
    for (int at = 0; at < 4; at++) {
        char letter = *reader->next++;
        if (!isxdigit((unsigned char)letter)) return -1;
        code = code * 16 + (isdigit((unsigned char)letter) ? letter - '0' : (letter | 32) - 'a' + 10);
    }
    return code;
}

static char *put_code(char *out, unsigned code) {
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
        *out++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *out++ = (char)(0xE0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 63));
        *out++ = (char)(0x80 | (code & 63));
    } else {
        *out++ = (char)(0xF0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 63));
        *out++ = (char)(0x80 | (code >> 6 & 63));
        *out++ = (char)(0x80 | (code & 63));
    }
    return out;
}

static char *put_escaped(struct reader *reader, char *out) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (reader->next >= reader->end) return NULL;
    char letter = *reader->next++;
    const char *place = letter ? strchr(letters, letter) : NULL;
    if (place) {
        *out++ = meanings[place - letters];
        return out;
    }
    if (letter != 'u') return NULL;
    int code = four_digits(reader);
    if (code <= 0) return NULL; /* a null byte cannot be in an argument */
    if (code >= 0xDC80 && code <= 0xDCFF) {
        *out++ = (char)(code - 0xDC00);
        return out;
    }
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (!take_word(reader, "\\u")) return NULL;
        int low = four_digits(reader);
        if (low < 0xDC00 || low > 0xDFFF) return NULL;
        return put_code(out, 0x10000u + ((unsigned)(code - 0xD800) << 10) + (unsigned)(low - 0xDC00));
    }
    return code >= 0xDC00 && code <= 0xDFFF ? NULL : put_code(out, (unsigned)code);
}

static char *parse_text(struct reader *reader) {
    const char *end = reader->next;
    while (end < reader->end && *end != '"') end += *end == '\\' ? 2 : 1;
    if (end >= reader->end) return NULL;
    char *text = allocate((size_t)(end - reader->next) + 1), *out = text; /* never longer */
    while (reader->next < end) {
        char letter = *reader->next++;
        if (letter == '\\') {
            out = put_escaped(reader, out);
            if (!out) return NULL;
        } else if (!letter) {
            return NULL;
        } else {
            *out++ = letter;
        }
    }
    reader->next = end + 1;
    return text;
}

static struct value *parse_value(struct reader *reader, int depth);

static bool parse_members(struct reader *reader, struct value *into, char close, int depth) {
    size_t room = 0;
    if (take(reader, close)) return true;
    do {
        if (into->count == room) {
            room = room ? 2 * room : 8;
            into->items = realloc(into->items, room * sizeof *into->items);
            into->keys = realloc(into->keys, room * sizeof *into->keys);
            if (!into->items || !into->keys) abort();
        }
        if (close == '}') {
            char *key = take(reader, '"') ? parse_text(reader) : NULL;
            if (!key || !take(reader, ':')) return false;
            into->keys[into->count] = key;
        }
        struct value *item = parse_value(reader, depth + 1);
        if (!item) return false;
        into->items[into->count++] = item;
    } while (take(reader, ','));
    return take(reader, close);
}

static struct value *parse_value(struct reader *reader, int depth) {
    struct value *value = allocate(sizeof *value);
    if (depth > DEEPEST) return NULL;
    skip_blanks(reader);
    if (take(reader, '{')) {
        value->kind = JSON_OBJECT;
        return parse_members(reader, value, '}', depth) ? value : NULL;
    }
    if (take(reader, '[')) {
        value->kind = JSON_ARRAY;
        return parse_members(reader, value, ']', depth) ? value : NULL;
    }
    if (take(reader, '"')) {
        value->kind = JSON_TEXT;
        return (value->text = parse_text(reader)) ? value : NULL;
    }
    if (take_word(reader, "null")) value->kind = JSON_NULL;
    else if (take_word(reader, "false")) value->kind = JSON_FALSE;
    else if (take_word(reader, "true")) value->kind = JSON_TRUE;
    else {
        char *end = NULL;
        value->kind = JSON_NUMBER;
        errno = 0;
        value->number = strtoll(reader->next, &end, 10); /* the text ends with a null byte */
        if (errno || end == reader->next || end > reader->end) return NULL;
        reader->next = end;
        if (reader->next < reader->end && strchr(".eE", *reader->next)) return NULL;
    }
    return value;
}

struct value *parse_json(const char *text, size_t size) {
    struct reader reader = {text, text + size};
    struct value *value = parse_value(&reader, 0);
    skip_blanks(&reader);
    return value && reader.next == reader.end ? value : NULL;
}
