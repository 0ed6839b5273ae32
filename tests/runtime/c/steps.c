/* A program whose arguments say what it does, one step each; kernels come from entries.c, which the tests write.
 *
 *   device                           launch NAME GRID BLOCK SHARED [ARG...]   (also: unsized, chevron, at QUEUE)
 *   alloc VAR BYTES | free VAR       put VAR HEX | get VAR BYTES | move VAR VAR BYTES | fill VAR VALUE BYTES
 *   queue VAR | unqueue VAR | sync [VAR]
 *   threads COUNT NAME GRID BLOCK SHARED [ARG...]    each thread launches 50 times
 *   fork                             the child goes on, the parent waits and ends as the child does
 *   at-exit VAR                      a destructor of the program frees VAR after everything else
 *
 * ARG is hexadecimal bytes, or a variable, whose address is passed. Each step prints a line: "ok ..." or
 * "error STATUS TEXT".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offloadc/runtime.h"

const void *stub_named(const char *name);

enum { MAX_ARGS = 32, MAX_ARG_BYTES = 4096, MAX_VARS = 32 };

static struct {
  char name[32];
  void *value;
} vars[MAX_VARS];

static void **var(const char *name) {
  for (int i = 0; i < MAX_VARS; i++) {
    if (!*vars[i].name)
      snprintf(vars[i].name, sizeof vars[i].name, "%s", name);
    if (!strcmp(vars[i].name, name))
      return &vars[i].value;
  }
  abort();
}

static int is_var(const char *word) { return *word >= 'A' && *word <= 'Z'; }

static uint32_t bytes_of(const char *hex, unsigned char *out) {
  uint32_t n = 0;
  for (unsigned byte; n < MAX_ARG_BYTES && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
    out[n] = (unsigned char)byte;
  return n;
}

struct call {
  const void *stub;
  offloadc_dim3 grid, block;
  size_t shared;
  offloadc_queue queue;
  uint32_t count, sizes[MAX_ARGS];
  void *args[MAX_ARGS];
  unsigned char values[MAX_ARGS][MAX_ARG_BYTES];
};

static char *word(void) { return strtok(NULL, " "); }

static offloadc_dim3 dimensions(const char *text) {
  offloadc_dim3 d = {0, 0, 0};
  if (sscanf(text, "%u,%u,%u", &d.x, &d.y, &d.z) != 3)
    abort();
  return d;
}

static void read_call(struct call *call) {
  memset(call, 0, sizeof *call);
  char *name = word();
  if (!strcmp(name, "at")) {
    call->queue = *var(word());
    name = word();
  }
  call->stub = stub_named(name);
  call->grid = dimensions(word());
  call->block = dimensions(word());
  call->shared = strtoull(word(), NULL, 10);
  for (char *text; (text = word()); call->count++) {
    void *at = call->args[call->count] = call->values[call->count];
    call->sizes[call->count] = is_var(text) ? sizeof(void *) : bytes_of(text, at);
    if (is_var(text))
      memcpy(at, var(text), sizeof(void *));
  }
}

static int run_call(struct call *c, int sized) {
  return offloadc_launch(c->stub, c->grid, c->block, c->args, sized ? c->sizes : NULL, c->count, c->shared, c->queue);
}

/* As clang's host stub does. */
static int run_chevron(struct call *c) {
  offloadc_dim3 grid, block;
  size_t shared;
  void *queue;
  if (__offloadc_push_call_configuration(c->grid, c->block, c->shared, c->queue))
    return 0;
  __offloadc_pop_call_configuration(&grid, &block, &shared, &queue);
  return __offloadc_launch_kernel(c->stub, grid, block, c->args, shared, queue);
}

static void *run_thread(void *data) {
  struct call *call = data;
  int status = 0;
  for (int i = 0; i < 50 && !status; i++)
    status = run_call(call, 1);
  if (status)
    fprintf(stderr, "thread: %s\n", offloadc_last_error());
  return (void *)(intptr_t)status;
}

static int run_threads(void) {
  static struct call call;
  pthread_t threads[64];
  int count = atoi(word()), status = 0;
  read_call(&call);
  for (int i = 0; i < count; i++)
    pthread_create(&threads[i], NULL, run_thread, &call);
  for (int i = 0; i < count; i++) {
    void *result;
    pthread_join(threads[i], &result);
    status = result ? (int)(intptr_t)result : status;
  }
  return status;
}

/* What a step has to show, behind "ok". */
static char shown[2 * MAX_ARG_BYTES + 512];

static void print_device(const offloadc_device_info *d) {
  snprintf(shown, sizeof shown, " %d:%d|%s|%s|%u|%u|%u|%llu", d->kind, d->index, d->name, d->arch, d->warp_size,
           d->compute_units, d->max_block_threads, (unsigned long long)d->memory_bytes);
}

static int get(void *source, size_t bytes) {
  unsigned char *host = malloc(bytes + 1);
  int status = offloadc_copy_to_host(host, source, bytes, NULL);
  snprintf(shown, sizeof shown, " ");
  for (size_t i = 0; i < bytes && !status; i++)
    snprintf(shown + 1 + 2 * i, sizeof shown - 1 - 2 * i, "%02x", host[i]);
  free(host);
  return status;
}

static int put(void *destination, const char *hex) {
  unsigned char bytes[MAX_ARG_BYTES];
  uint32_t count = bytes_of(hex, bytes);
  return offloadc_copy_to_device(destination, bytes, count, NULL);
}

static void *freed_late;
__attribute__((destructor)) static void free_late(void) {
  if (freed_late)
    fprintf(stderr, "late free: %d\n", offloadc_free(freed_late));
}

static void step_fork(void) {
  fflush(stdout);
  pid_t child = fork();
  int status = 0;
  if (child) {
    waitpid(child, &status, 0);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100);
  }
}

static int memory_step(const char *verb) {
  if (!strcmp(verb, "alloc")) {
    void **out = var(word());
    return offloadc_alloc(strtoull(word(), NULL, 10), out);
  }
  if (!strcmp(verb, "free"))
    return offloadc_free(*var(word()));
  if (!strcmp(verb, "put")) {
    void *to = *var(word());
    return put(to, word());
  }
  if (!strcmp(verb, "get")) {
    void *from = *var(word());
    return get(from, strtoull(word(), NULL, 10));
  }
  if (!strcmp(verb, "move")) {
    void *to = *var(word()), *from = *var(word());
    return offloadc_copy_on_device(to, from, strtoull(word(), NULL, 10), NULL);
  }
  if (!strcmp(verb, "fill")) {
    void *to = *var(word());
    unsigned char value = (unsigned char)atoi(word());
    return offloadc_fill(to, value, strtoull(word(), NULL, 10), NULL);
  }
  abort();
}

static int step(char *text) {
  static struct call call;
  offloadc_device_info info;
  char *verb = strtok(text, " ");
  if (!strcmp(verb, "device")) {
    int status = offloadc_current_device(&info);
    if (!status)
      print_device(&info);
    return status;
  }
  if (!strcmp(verb, "launch") || !strcmp(verb, "unsized") || !strcmp(verb, "chevron")) {
    read_call(&call);
    return *verb == 'c' ? run_chevron(&call) : run_call(&call, *verb == 'l');
  }
  if (!strcmp(verb, "threads"))
    return run_threads();
  if (!strcmp(verb, "queue"))
    return offloadc_queue_create((offloadc_queue *)var(word()));
  if (!strcmp(verb, "unqueue"))
    return offloadc_queue_destroy(*var(word()));
  if (!strcmp(verb, "sync")) {
    char *name = word();
    return offloadc_synchronize(name ? *var(name) : NULL);
  }
  if (!strcmp(verb, "at-exit")) {
    freed_late = *var(word());
    return 0;
  }
  if (!strcmp(verb, "fork")) {
    step_fork();
    return 0;
  }
  return memory_step(verb);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    char *text = strdup(argv[i]);
    *shown = 0;
    int status = step(text);
    if (status)
      printf("error %d %s\n", status, offloadc_last_error());
    else
      printf("ok%s\n", shown);
    fflush(stdout);
    free(text);
  }
  return 0;
}
