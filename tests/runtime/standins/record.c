#define _GNU_SOURCE
#include "record.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local char *line;
static _Thread_local size_t length, capacity;

static void put(const char *format, ...) {
  va_list list;
  for (;;) {
    va_start(list, format);
    int need = vsnprintf(line ? line + length : NULL, capacity - length, format, list);
    va_end(list);
    if (need >= 0 && (size_t)need < capacity - length) {
      length += (size_t)need;
      return;
    }
    capacity = capacity * 2 + 4096;
    line = realloc(line, capacity);
    if (!line)
      abort();
  }
}

static void put_string(const char *text) {
  put("\"");
  for (; *text; text++)
    put(*text == '"' || *text == '\\' || (unsigned char)*text < 0x20 ? "\\u%04x" : "%c", (unsigned char)*text);
  put("\"");
}

static void put_key(const char *key) {
  put(", ");
  put_string(key);
  put(": ");
}

void record_begin(const char *call) {
  length = 0;
  put("{\"call\": ");
  put_string(call);
}

void record_number(const char *key, uint64_t value) {
  put_key(key);
  put("%llu", (unsigned long long)value);
}

void record_text(const char *key, const char *value) {
  put_key(key);
  put_string(value);
}

void record_bytes(const char *key, const void *bytes, size_t size) {
  put_key(key);
  put("\"");
  for (size_t i = 0; i < size; i++)
    put("%02x", ((const unsigned char *)bytes)[i]);
  put("\"");
}

/* One write to a file opened for appending: lines of several threads and processes stay whole. */
void record_end(void) {
  put("}\n");
  const char *path = getenv("OFFLOADC_STANDIN_LOG");
  if (!path)
    return;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, line, length) != (ssize_t)length)
    abort();
  close(fd);
}

int list_word(const char *list, unsigned index, char *word, size_t size) {
  for (; list && *list; index--) {
    size_t n = strcspn(list, ",");
    if (index == 0) {
      snprintf(word, size, "%.*s", (int)n, list);
      return 1;
    }
    list += n + (list[n] == ',');
  }
  return 0;
}

#define MAX_COUNTED 64
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  const char *call;
  unsigned count;
} counted[MAX_COUNTED];

static unsigned count_call(const char *call) {
  unsigned count = 0;
  pthread_mutex_lock(&count_lock);
  for (int i = 0; i < MAX_COUNTED && !count; i++) {
    if (!counted[i].call)
      counted[i].call = call;
    if (!strcmp(counted[i].call, call))
      count = ++counted[i].count;
  }
  pthread_mutex_unlock(&count_lock);
  return count;
}

int injected_failure(const char *call) {
  const char *list = getenv("OFFLOADC_STANDIN_FAIL");
  char word[128];
  if (!list || !strstr(list, call))
    return 0;
  unsigned count = count_call(call);
  for (unsigned i = 0; list_word(list, i, word, sizeof word); i++) {
    char *code = strchr(word, '=');
    if (!code)
      abort();
    *code++ = 0;
    char *from = strchr(word, '#');
    if (from)
      *from++ = 0;
    if (!strcmp(word, call) && count >= (from ? strtoul(from, NULL, 10) : 1))
      return (int)strtol(code, NULL, 0);
  }
  return 0;
}
