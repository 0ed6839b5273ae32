/* A stand-in for ROCm's libhsa-runtime64.so: the functions that liboffload 22's AMDGPU plugin and the launch
 * stub look up. Memory is malloc's, signals complete at once, kernel dispatches are recorded and not run.
 *
 *   OFFLOADC_STANDIN_AMDGPU_DEVICES  target id of each GPU agent, "gfx90a:sramecc+:xnack-,gfx1100"; default "gfx90a"
 *
 * Signatures, structures and numbers are those of the HSA Runtime Programmer's Reference 1.2 and of AMD's
 * extensions (hsa_ext_amd.h), declared here because the headers are seldom installed.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define API __attribute__((visibility("default")))

typedef int hsa_status;
typedef struct {
  uint64_t handle;
} hsa_handle; /* agents, signals, pools, ISAs, executables, ... are all opaque 64-bit handles */

enum { HSA_ERROR = 0x1000, HSA_INVALID_AGENT = 0x1004, HSA_OUT_OF_RESOURCES = 0x1008 };
enum { HSA_INVALID_CODE_OBJECT = 0x1010, HSA_INVALID_SYMBOL = 0x1013 };
enum { CPU_AGENT = 0x100, FIRST_GPU_AGENT = 0x200, AGENT_STEP = 0x100, AGENT_MASK = ~0xff };

/* ------------------------------------------------------------------------------------- devices */
static bool target_id(uint64_t agent, char *text, size_t size) {
  const char *list = getenv("OFFLOADC_STANDIN_AMDGPU_DEVICES");
  return list_word(list ? list : "gfx90a", (unsigned)((agent - FIRST_GPU_AGENT) / AGENT_STEP), text, size);
}

static bool is_gpu(uint64_t agent) { return agent >= FIRST_GPU_AGENT; }

static hsa_status done(int code) {
  record_number("result", (uint64_t)code);
  record_end();
  return code;
}

API hsa_status hsa_init(void) {
  record_begin("hsa_init");
  return done(injected_failure("hsa_init"));
}

API hsa_status hsa_shut_down(void) {
  record_begin("hsa_shut_down");
  return done(injected_failure("hsa_shut_down"));
}

API hsa_status hsa_status_string(hsa_status status, const char **text) {
  static _Thread_local char buffer[64];
  snprintf(buffer, sizeof buffer, "%sstand-in HSA status %#x",
           status == HSA_OUT_OF_RESOURCES ? "The runtime failed to allocate the necessary resources: " : "",
           (unsigned)status);
  *text = buffer;
  return 0;
}

API hsa_status hsa_system_get_info(int info, void *value) {
  switch (info) {
  case 0: /* VERSION_MAJOR */
    *(uint16_t *)value = 1;
    break;
  case 1: /* VERSION_MINOR */
    *(uint16_t *)value = 18;
    break;
  case 3: /* TIMESTAMP_FREQUENCY */
    *(uint64_t *)value = 100000000;
    break;
  default:
    *(uint64_t *)value = 0;
  }
  return 0;
}

API hsa_status hsa_amd_register_system_event_handler(void *callback, void *data) {
  (void)callback, (void)data;
  return 0;
}

API hsa_status hsa_iterate_agents(hsa_status (*callback)(hsa_handle, void *), void *data) {
  char word[64];
  hsa_status status = callback((hsa_handle){CPU_AGENT}, data);
  for (uint64_t agent = FIRST_GPU_AGENT; !status && target_id(agent, word, sizeof word); agent += AGENT_STEP)
    status = callback((hsa_handle){agent}, data);
  return status;
}

static void put_text(void *value, const char *text, size_t size) {
  memset(value, 0, size);
  memcpy(value, text, strlen(text) < size ? strlen(text) : size - 1);
}

static void agent_name(uint64_t agent, void *value) {
  char text[64] = "Stand-in CPU";
  if (is_gpu(agent)) {
    target_id(agent, text, sizeof text);
    text[strcspn(text, ":")] = 0;
  }
  put_text(value, text, 64);
}

static unsigned wavefront(uint64_t agent) {
  char text[64];
  return target_id(agent, text, sizeof text) && !strncmp(text, "gfx9", 4) ? 64 : 32;
}

static unsigned agent_number(uint64_t agent, int info) {
  switch (info) {
  case 2: /* FEATURE: kernel dispatch */
  case 4: /* PROFILE: 1 full */
  case 21: /* VERSION_MAJOR */
    return 1;
  case 6: /* WAVEFRONT_SIZE */
    return wavefront(agent);
  case 8: /* WORKGROUP_MAX_SIZE */
    return 1024;
  case 10: /* GRID_MAX_SIZE */
    return 0xffffffff;
  case 12: /* QUEUES_MAX */
    return 128;
  case 13: /* QUEUE_MIN_SIZE */
    return 64;
  case 14: /* QUEUE_MAX_SIZE */
    return 131072;
  case 16: /* NODE */
  case 17: /* DEVICE: 0 CPU, 1 GPU */
    return is_gpu(agent);
  case 0xa001: /* CACHELINE_SIZE */
    return 128;
  case 0xa002: /* COMPUTE_UNIT_COUNT */
    return 104;
  case 0xa003: /* MAX_CLOCK_FREQUENCY */
    return 1700;
  case 0xa00a: /* MAX_WAVES_PER_CU */
    return 32;
  case 0xa00b: /* NUM_SIMDS_PER_CU */
    return 4;
  case 0xa00c: /* NUM_SHADER_ENGINES */
    return 8;
  case 0xa00d: /* NUM_SHADER_ARRAYS_PER_SE */
    return 1;
  default:
    return 0;
  }
}

API hsa_status hsa_agent_get_info(hsa_handle agent, int info, void *value) {
  char uuid[21];
  switch (info) {
  case 0: /* NAME */
    agent_name(agent.handle, value);
    break;
  case 1: /* VENDOR_NAME */
    put_text(value, "AMD", 64);
    break;
  case 7: /* WORKGROUP_MAX_DIM */
    memcpy(value, (uint16_t[3]){1024, 1024, 1024}, 6);
    break;
  case 9: /* GRID_MAX_DIM */
    memcpy(value, (uint32_t[3]){2147483647, 65535, 65535}, 12);
    break;
  case 18: /* CACHE_SIZE */
    memcpy(value, (uint32_t[4]){16384, 8388608, 0, 0}, 16);
    break;
  case 21: /* VERSION_MAJOR */
  case 22: /* VERSION_MINOR */
    *(uint16_t *)value = 1;
    break;
  case 24: /* FAST_F16_OPERATION */
  case 0xa010: /* COOPERATIVE_QUEUES */
    *(bool *)value = true;
    break;
  case 0xa013: /* SVM_DIRECT_HOST_ACCESS */
    *(bool *)value = false;
    break;
  case 0xa009: /* PRODUCT_NAME */
    put_text(value, "Stand-in AMD GPU", 64);
    break;
  case 0xa011: /* UUID */
    snprintf(uuid, sizeof uuid, "GPU-%016llx", (unsigned long long)agent.handle);
    put_text(value, uuid, 21);
    break;
  default:
    *(uint32_t *)value = agent_number(agent.handle, info);
  }
  return 0;
}

/* As recent runtimes do, the processor's own ISA first, then the generic one it also runs. */
API hsa_status hsa_agent_iterate_isas(hsa_handle agent, hsa_status (*callback)(hsa_handle, void *), void *data) {
  if (!is_gpu(agent.handle))
    return HSA_INVALID_AGENT;
  hsa_status status = callback((hsa_handle){agent.handle}, data);
  return status ? status : callback((hsa_handle){agent.handle + 1}, data);
}

static const char *generic_of(const char *processor) {
  return !strncmp(processor, "gfx94", 5) || !strncmp(processor, "gfx95", 5) ? "gfx9-4-generic"
         : !strncmp(processor, "gfx9", 4)                                  ? "gfx9-generic"
         : !strncmp(processor, "gfx103", 6)                                ? "gfx10-3-generic"
         : !strncmp(processor, "gfx10", 5)                                 ? "gfx10-1-generic"
         : !strncmp(processor, "gfx11", 5)                                 ? "gfx11-generic"
                                                                           : "gfx12-generic";
}

API hsa_status hsa_isa_get_info_alt(hsa_handle isa, int info, void *value) {
  char id[64] = "", name[128];
  target_id(isa.handle & AGENT_MASK, id, sizeof id);
  snprintf(name, sizeof name, "amdgcn-amd-amdhsa--%s", isa.handle & 1 ? generic_of(id) : id);
  if (info == 0) /* NAME_LENGTH */
    *(uint32_t *)value = (uint32_t)strlen(name) + 1;
  else if (info == 1) /* NAME */
    strcpy(value, name);
  else
    return HSA_ERROR;
  return 0;
}

/* -------------------------------------------------------------------------------- memory pools */
enum { FINE = 1, KERNARG = 2, COARSE = 3, GROUP = 4 }; /* in the low byte of a pool's handle */

API hsa_status hsa_amd_agent_iterate_memory_pools(hsa_handle agent, hsa_status (*callback)(hsa_handle, void *),
                                                  void *data) {
  static const uint64_t of_cpu[] = {FINE, KERNARG, COARSE, 0}, of_gpu[] = {COARSE, FINE, GROUP, 0};
  hsa_status status = 0;
  for (const uint64_t *kind = is_gpu(agent.handle) ? of_gpu : of_cpu; *kind && !status; kind++)
    status = callback((hsa_handle){agent.handle | *kind}, data);
  return status;
}

API hsa_status hsa_amd_memory_pool_get_info(hsa_handle pool, int info, void *value) {
  static const uint32_t flags[] = {0, 2, 3, 4, 0}; /* fine 2, fine | kernarg 3, coarse 4 */
  unsigned kind = pool.handle & 0xff;
  switch (info) {
  case 0: /* SEGMENT: 0 global, 3 group */
    *(uint32_t *)value = kind == GROUP ? 3 : 0;
    break;
  case 1: /* GLOBAL_FLAGS */
    *(uint32_t *)value = flags[kind];
    break;
  case 2: /* SIZE */
    *(size_t *)value = kind == GROUP ? 65536 : (size_t)8 << 30;
    break;
  case 5: /* RUNTIME_ALLOC_ALLOWED */
    *(bool *)value = kind != GROUP;
    break;
  case 6: /* RUNTIME_ALLOC_GRANULE */
  case 7: /* RUNTIME_ALLOC_ALIGNMENT */
    *(size_t *)value = 4096;
    break;
  case 15: /* ACCESSIBLE_BY_ALL */
    *(bool *)value = !is_gpu(pool.handle);
    break;
  case 16: /* ALLOC_MAX_SIZE */
    *(size_t *)value = (size_t)8 << 30;
    break;
  default:
    *(uint32_t *)value = 0;
  }
  return 0;
}

API hsa_status hsa_amd_agent_memory_pool_get_info(hsa_handle agent, hsa_handle pool, int info, void *value) {
  (void)agent, (void)pool;
  *(uint32_t *)value = info == 0; /* ACCESS: 1 allowed by default */
  return 0;
}

API hsa_status hsa_amd_memory_pool_allocate(hsa_handle pool, size_t bytes, uint32_t flags, void **out) {
  (void)flags;
  int code = injected_failure("hsa_amd_memory_pool_allocate");
  record_begin("hsa_amd_memory_pool_allocate");
  record_number("bytes", bytes);
  record_number("pool", pool.handle);
  *out = code ? NULL : aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return done(code);
}

API hsa_status hsa_amd_memory_pool_free(void *address) {
  record_begin("hsa_amd_memory_pool_free");
  free(address);
  return done(0);
}

API hsa_status hsa_amd_agents_allow_access(uint32_t count, const hsa_handle *agents, const uint32_t *flags,
                                           const void *address) {
  (void)count, (void)agents, (void)flags, (void)address;
  return 0;
}

API hsa_status hsa_amd_memory_lock(void *host, size_t bytes, hsa_handle *agents, int count, void **out) {
  (void)bytes, (void)agents, (void)count;
  *out = host;
  return 0;
}

API hsa_status hsa_amd_memory_unlock(void *host) {
  (void)host;
  return 0;
}

API hsa_status hsa_amd_memory_fill(void *address, uint32_t value, size_t count) {
  record_begin("hsa_amd_memory_fill");
  record_number("words", count);
  for (size_t i = 0; i < count; i++)
    ((uint32_t *)address)[i] = value;
  return done(0);
}

typedef struct {
  uint32_t size, type;
  void *agent_base, *host_base;
  size_t bytes;
  void *user;
  hsa_handle owner;
  uint32_t global_flags;
} hsa_pointer_info;

API hsa_status hsa_amd_pointer_info(const void *address, hsa_pointer_info *info, void *allocate, uint32_t *count,
                                    hsa_handle **accessible) {
  (void)address, (void)allocate, (void)count, (void)accessible;
  uint32_t size = info->size;
  memset(info, 0, size < sizeof *info ? size : sizeof *info); /* type 0: not known to the runtime */
  info->size = size;
  return 0;
}

API hsa_status hsa_memory_copy(void *destination, const void *source, size_t bytes) {
  int code = injected_failure("hsa_memory_copy");
  record_begin("hsa_memory_copy");
  record_number("bytes", bytes);
  if (!code)
    memcpy(destination, source, bytes);
  return done(code);
}

/* ------------------------------------------------------------------------------------- signals */
struct queue;
struct signal {
  int64_t value;
  struct queue *queue; /* of a doorbell */
  int condition;
  int64_t compare;
  bool (*handler)(int64_t, void *);
  void *data;
};

static pthread_mutex_t signals = PTHREAD_MUTEX_INITIALIZER;

static struct signal *signal_of(hsa_handle handle) { return (struct signal *)(uintptr_t)handle.handle; }

static bool holds(int condition, int64_t value, int64_t compare) {
  return condition == 0   ? value == compare
         : condition == 1 ? value != compare
         : condition == 2 ? value < compare
                          : value >= compare;
}

static int64_t signal_load(hsa_handle handle) { return __atomic_load_n(&signal_of(handle)->value, __ATOMIC_SEQ_CST); }

static void run_handler(struct signal *signal) {
  pthread_mutex_lock(&signals);
  bool (*handler)(int64_t, void *) = signal->handler;
  int64_t value = __atomic_load_n(&signal->value, __ATOMIC_SEQ_CST);
  if (handler && holds(signal->condition, value, signal->compare))
    signal->handler = NULL;
  else
    handler = NULL;
  pthread_mutex_unlock(&signals);
  if (handler && handler(value, signal->data)) { /* true: wait for the condition again */
    pthread_mutex_lock(&signals);
    signal->handler = handler;
    pthread_mutex_unlock(&signals);
  }
}

static void signal_add(hsa_handle handle, int64_t value) {
  __atomic_fetch_add(&signal_of(handle)->value, value, __ATOMIC_SEQ_CST);
  run_handler(signal_of(handle));
}

API hsa_status hsa_signal_create(int64_t value, uint32_t count, const hsa_handle *consumers, hsa_handle *out) {
  (void)count, (void)consumers;
  struct signal *signal = calloc(1, sizeof *signal);
  signal->value = value;
  out->handle = (uintptr_t)signal;
  return 0;
}

API hsa_status hsa_amd_signal_create(int64_t value, uint32_t count, const hsa_handle *consumers, uint64_t attributes,
                                     hsa_handle *out) {
  (void)attributes;
  return hsa_signal_create(value, count, consumers, out);
}

API hsa_status hsa_signal_destroy(hsa_handle signal) {
  free(signal_of(signal));
  return 0;
}

API int64_t hsa_signal_load_scacquire(hsa_handle signal) { return signal_load(signal); }
API int64_t hsa_signal_load_relaxed(hsa_handle signal) { return signal_load(signal); }
API void hsa_signal_subtract_screlease(hsa_handle signal, int64_t value) { signal_add(signal, -value); }

API int64_t hsa_signal_wait_scacquire(hsa_handle signal, int condition, int64_t compare, uint64_t timeout, int state) {
  (void)timeout, (void)state;
  while (!holds(condition, signal_load(signal), compare))
    sched_yield();
  return signal_load(signal);
}

/* Other threads bring them to 0: the plugin's, which run its host callbacks. */
static void wait_for(uint32_t count, const hsa_handle *dependencies) {
  for (uint32_t i = 0; i < count; i++)
    if (dependencies[i].handle)
      hsa_signal_wait_scacquire(dependencies[i], 0, 0, UINT64_MAX, 0);
}

API hsa_status hsa_amd_signal_async_handler(hsa_handle handle, int condition, int64_t compare,
                                            bool (*handler)(int64_t, void *), void *data) {
  struct signal *signal = signal_of(handle);
  pthread_mutex_lock(&signals);
  signal->condition = condition;
  signal->compare = compare;
  signal->data = data;
  signal->handler = handler;
  pthread_mutex_unlock(&signals);
  run_handler(signal);
  return 0;
}

API hsa_status hsa_amd_memory_async_copy(void *destination, hsa_handle to, const void *source, hsa_handle from,
                                         size_t bytes, uint32_t count, const hsa_handle *dependencies,
                                         hsa_handle completion) {
  (void)to, (void)from;
  int code = injected_failure("hsa_amd_memory_async_copy");
  wait_for(count, dependencies);
  record_begin("hsa_amd_memory_async_copy");
  record_number("bytes", bytes);
  if (!code) {
    memcpy(destination, source, bytes);
    signal_add(completion, -1);
  }
  return done(code);
}

/* -------------------------------------------------------------------------------- code objects */
struct code {
  const void *data;
  size_t size;
};

struct executable {
  uint64_t agent;
  unsigned char *memory; /* the loaded segments */
  size_t size;
  Elf64_Sym *symbols;
  size_t count;
  char *names;
  struct executable *next;
};

struct symbol {
  const struct executable *executable;
  const Elf64_Sym *entry;
};

static struct executable *loaded;

API hsa_status hsa_code_object_reader_create_from_memory(const void *data, size_t size, hsa_handle *out) {
  struct code *code = malloc(sizeof *code);
  *code = (struct code){data, size};
  out->handle = (uintptr_t)code;
  return 0;
}

API hsa_status hsa_code_object_reader_destroy(hsa_handle reader) {
  free((void *)(uintptr_t)reader.handle);
  return 0;
}

API hsa_status hsa_code_object_deserialize(void *data, size_t size, const char *options, hsa_handle *out) {
  (void)options;
  return hsa_code_object_reader_create_from_memory(data, size, out);
}

API hsa_status hsa_code_object_destroy(hsa_handle object) { return hsa_code_object_reader_destroy(object); }

API hsa_status hsa_executable_create_alt(int profile, int rounding, const char *options, hsa_handle *out) {
  (void)profile, (void)rounding, (void)options;
  struct executable *executable = calloc(1, sizeof *executable);
  executable->next = loaded;
  loaded = executable;
  out->handle = (uintptr_t)executable;
  return 0;
}

API hsa_status hsa_executable_create(int profile, int state, const char *options, hsa_handle *out) {
  (void)state;
  return hsa_executable_create_alt(profile, 0, options, out);
}

static void load_segments(struct executable *executable, const unsigned char *elf) {
  const Elf64_Ehdr *header = (const void *)elf;
  const Elf64_Phdr *segments = (const void *)(elf + header->e_phoff);
  for (unsigned i = 0; i < header->e_phnum; i++)
    if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr + segments[i].p_memsz > executable->size)
      executable->size = segments[i].p_vaddr + segments[i].p_memsz;
  executable->memory = aligned_alloc(4096, (executable->size + 8191) / 4096 * 4096);
  memset(executable->memory, 0, executable->size);
  for (unsigned i = 0; i < header->e_phnum; i++)
    if (segments[i].p_type == PT_LOAD)
      memcpy(executable->memory + segments[i].p_vaddr, elf + segments[i].p_offset, segments[i].p_filesz);
}

static void load_symbols(struct executable *executable, const unsigned char *elf) {
  const Elf64_Ehdr *header = (const void *)elf;
  const Elf64_Shdr *sections = (const void *)(elf + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_DYNSYM)
      continue;
    const Elf64_Shdr *names = &sections[sections[i].sh_link];
    executable->count = sections[i].sh_size / sizeof(Elf64_Sym);
    executable->symbols = malloc(sections[i].sh_size);
    executable->names = malloc(names->sh_size);
    memcpy(executable->symbols, elf + sections[i].sh_offset, sections[i].sh_size);
    memcpy(executable->names, elf + names->sh_offset, names->sh_size);
  }
}

static hsa_status load(struct executable *executable, const struct code *code, uint64_t agent) {
  const Elf64_Ehdr *header = code->data;
  record_begin("hsa_executable_load");
  record_number("agent", agent);
  if (code->size < sizeof *header || memcmp(header, ELFMAG, SELFMAG) || header->e_machine != 224 /* EM_AMDGPU */)
    return done(HSA_INVALID_CODE_OBJECT);
  executable->agent = agent;
  load_segments(executable, code->data);
  load_symbols(executable, code->data);
  record_number("elf_flags", header->e_flags);
  return done(injected_failure("hsa_executable_load"));
}

API hsa_status hsa_executable_load_agent_code_object(hsa_handle executable, hsa_handle agent, hsa_handle reader,
                                                     const char *options, hsa_handle *out) {
  (void)options, (void)out;
  return load((void *)(uintptr_t)executable.handle, (void *)(uintptr_t)reader.handle, agent.handle);
}

API hsa_status hsa_executable_load_code_object(hsa_handle executable, hsa_handle agent, hsa_handle object,
                                               const char *options) {
  (void)options;
  return load((void *)(uintptr_t)executable.handle, (void *)(uintptr_t)object.handle, agent.handle);
}

API hsa_status hsa_executable_freeze(hsa_handle executable, const char *options) {
  (void)executable, (void)options;
  return 0;
}

API hsa_status hsa_executable_validate(hsa_handle executable, uint32_t *result) {
  (void)executable;
  *result = 0;
  return 0;
}

API hsa_status hsa_executable_destroy(hsa_handle executable) {
  (void)executable;
  record_begin("hsa_executable_destroy");
  return done(0);
}

static hsa_handle make_symbol(const struct executable *executable, const Elf64_Sym *entry) {
  struct symbol *symbol = malloc(sizeof *symbol);
  *symbol = (struct symbol){executable, entry};
  return (hsa_handle){(uintptr_t)symbol};
}

API hsa_status hsa_executable_get_symbol_by_name(hsa_handle handle, const char *name, const hsa_handle *agent,
                                                 hsa_handle *out) {
  (void)agent;
  const struct executable *executable = (void *)(uintptr_t)handle.handle;
  int code = HSA_INVALID_SYMBOL;
  record_begin("hsa_executable_get_symbol_by_name");
  record_text("name", name);
  for (size_t i = 0; i < executable->count && code; i++)
    if (!strcmp(executable->names + executable->symbols[i].st_name, name)) {
      *out = make_symbol(executable, &executable->symbols[i]);
      code = 0;
    }
  return done(code);
}

API hsa_status hsa_executable_iterate_symbols(hsa_handle handle,
                                              hsa_status (*callback)(hsa_handle, hsa_handle, void *), void *data) {
  const struct executable *executable = (void *)(uintptr_t)handle.handle;
  hsa_status status = 0;
  for (size_t i = 1; i < executable->count && !status; i++)
    if (ELF64_ST_TYPE(executable->symbols[i].st_info) == STT_OBJECT)
      status = callback(handle, make_symbol(executable, &executable->symbols[i]), data);
  return status;
}

/* AMDGPU kernel descriptor: u32 group segment, u32 private segment, u32 kernarg size. */
API hsa_status hsa_executable_symbol_get_info(hsa_handle handle, int info, void *value) {
  const struct symbol *symbol = (void *)(uintptr_t)handle.handle;
  const char *name = symbol->executable->names + symbol->entry->st_name;
  const unsigned char *address = symbol->executable->memory + symbol->entry->st_value;
  size_t length = strlen(name);
  bool kernel = length > 3 && !strcmp(name + length - 3, ".kd");
  switch (info) {
  case 0: /* TYPE: 0 variable, 1 kernel */
    *(uint32_t *)value = kernel;
    break;
  case 1: /* NAME_LENGTH */
    *(uint32_t *)value = (uint32_t)length;
    break;
  case 2: /* NAME */
    memcpy(value, name, length);
    break;
  case 9: /* VARIABLE_SIZE */
    *(uint32_t *)value = (uint32_t)symbol->entry->st_size;
    break;
  case 11: /* KERNEL_KERNARG_SEGMENT_SIZE */
    memcpy(value, address + 8, 4);
    break;
  case 12: /* KERNEL_KERNARG_SEGMENT_ALIGNMENT */
    *(uint32_t *)value = 8;
    break;
  case 13: /* KERNEL_GROUP_SEGMENT_SIZE */
    memcpy(value, address, 4);
    break;
  case 14: /* KERNEL_PRIVATE_SEGMENT_SIZE */
    memcpy(value, address + 4, 4);
    break;
  case 15: /* KERNEL_DYNAMIC_CALLSTACK */
    *(bool *)value = false;
    break;
  case 21: /* VARIABLE_ADDRESS */
  case 22: /* KERNEL_OBJECT */
    *(uint64_t *)value = (uintptr_t)address;
    break;
  default:
    *(uint32_t *)value = 0;
  }
  return 0;
}

/* -------------------------------------------------------------------------------------- queues */
typedef struct {
  uint16_t header, setup, block[3], reserved;
  uint32_t threads[3], private_bytes, group_bytes;
  uint64_t kernel_object;
  void *kernarg;
  uint64_t reserved2;
  hsa_handle completion;
} dispatch_packet;
_Static_assert(sizeof(dispatch_packet) == 64, "an AQL packet");

typedef struct { /* AND and OR: at once all of them here */
  uint16_t header, reserved;
  uint32_t reserved1;
  hsa_handle dependencies[5];
  uint64_t reserved2;
  hsa_handle completion;
} barrier_packet;
_Static_assert(sizeof(barrier_packet) == 64, "an AQL packet");

struct queue { /* begins as hsa_queue_t does */
  uint32_t type, features;
  void *base_address;
  hsa_handle doorbell;
  uint32_t size, reserved;
  uint64_t id;
  uint64_t written, read;
  uint64_t agent;
  pthread_mutex_t lock;
};

API hsa_status hsa_queue_create(hsa_handle agent, uint32_t size, int type, void *callback, void *data,
                                uint32_t private_bytes, uint32_t group_bytes, struct queue **out) {
  (void)callback, (void)data, (void)private_bytes, (void)group_bytes;
  struct queue *queue = calloc(1, sizeof *queue);
  queue->type = (uint32_t)type;
  queue->features = 1;
  queue->size = size;
  queue->agent = agent.handle;
  queue->base_address = aligned_alloc(64, 64 * (size_t)size);
  memset(queue->base_address, 0, 64 * (size_t)size);
  pthread_mutex_init(&queue->lock, NULL);
  hsa_signal_create(0, 0, NULL, &queue->doorbell);
  signal_of(queue->doorbell)->queue = queue;
  *out = queue;
  record_begin("hsa_queue_create");
  record_number("agent", agent.handle);
  return done(0);
}

API hsa_status hsa_queue_destroy(struct queue *queue) {
  (void)queue;
  record_begin("hsa_queue_destroy");
  return done(0);
}

API uint64_t hsa_queue_add_write_index_relaxed(struct queue *queue, uint64_t value) {
  return __atomic_fetch_add(&queue->written, value, __ATOMIC_SEQ_CST);
}

API uint64_t hsa_queue_load_read_index_scacquire(const struct queue *queue) {
  return __atomic_load_n(&queue->read, __ATOMIC_SEQ_CST);
}

API uint64_t hsa_queue_load_write_index_scacquire(const struct queue *queue) {
  return __atomic_load_n(&queue->written, __ATOMIC_SEQ_CST);
}

static const char *kernel_name(uint64_t kernel_object) {
  for (const struct executable *e = loaded; e; e = e->next)
    for (size_t i = 0; i < e->count; i++)
      if ((uintptr_t)e->memory + e->symbols[i].st_value == kernel_object &&
          ELF64_ST_TYPE(e->symbols[i].st_info) == STT_OBJECT)
        return e->names + e->symbols[i].st_name;
  return "?";
}

static void record_dispatch(const struct queue *queue, const dispatch_packet *packet) {
  char text[64];
  uint32_t kernarg_size;
  memcpy(&kernarg_size, (const char *)(uintptr_t)packet->kernel_object + 8, 4);
  record_begin("dispatch");
  record_text("name", kernel_name(packet->kernel_object));
  record_number("agent", queue->agent);
  record_number("dimensions", packet->setup & 3);
  snprintf(text, sizeof text, "%u,%u,%u", packet->block[0], packet->block[1], packet->block[2]);
  record_text("block", text);
  snprintf(text, sizeof text, "%u,%u,%u", packet->threads[0], packet->threads[1], packet->threads[2]);
  record_text("threads", text);
  record_number("group_bytes", packet->group_bytes);
  record_number("kernarg_size", kernarg_size);
  record_bytes("kernarg", packet->kernarg, packet->kernarg ? kernarg_size : 0);
  record_end();
}

/* Packets are taken in order; one whose type is still 1 (invalid) is not written yet. */
static void drain(struct queue *queue) {
  pthread_mutex_lock(&queue->lock);
  while (queue->read < hsa_queue_load_write_index_scacquire(queue)) {
    dispatch_packet *packet = (dispatch_packet *)queue->base_address + queue->read % queue->size;
    unsigned type = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE) & 0xff;
    if (type < 2)
      break;
    if (type == 2)
      record_dispatch(queue, packet);
    else if (type == 3 || type == 5)
      wait_for(5, ((const barrier_packet *)packet)->dependencies);
    hsa_handle completion = packet->completion; /* at the same place in barrier packets */
    __atomic_store_n(&packet->header, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&queue->read, 1, __ATOMIC_SEQ_CST);
    if (completion.handle)
      signal_add(completion, -1);
  }
  pthread_mutex_unlock(&queue->lock);
}

API void hsa_signal_store_screlease(hsa_handle handle, int64_t value) {
  struct signal *signal = signal_of(handle);
  __atomic_store_n(&signal->value, value, __ATOMIC_SEQ_CST);
  if (signal->queue)
    drain(signal->queue);
  else
    run_handler(signal);
}

API void hsa_signal_store_relaxed(hsa_handle signal, int64_t value) { hsa_signal_store_screlease(signal, value); }
