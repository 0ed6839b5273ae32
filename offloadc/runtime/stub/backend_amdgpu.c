#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends.h"
#include "offload_api.h"

/* HSA Runtime Programmer's Reference 1.2; hsa_ext_amd.h for the UUID. */
typedef struct {
  uint64_t handle;
} hsa_agent, hsa_isa;

enum { AGENT_WAVEFRONT_SIZE = 6, AGENT_DEVICE = 17, AGENT_UUID = 0xa011, DEVICE_GPU = 1 };
enum { ISA_NAME_LENGTH = 0, ISA_NAME = 1, STOP_ITERATING = 1 };

struct runtime {
  int (*hsa_iterate_agents)(int (*)(hsa_agent, void *), void *);
  int (*hsa_agent_get_info)(hsa_agent, int, void *);
  int (*hsa_agent_iterate_isas)(hsa_agent, int (*)(hsa_isa, void *), void *);
  int (*hsa_isa_get_info_alt)(hsa_isa, int, void *);
};

static bool find(void *library, const char *name, void *place) {
  void *address = dlsym(library, name);
  memcpy(place, &address, sizeof address);
  return address != NULL;
}

static bool open_runtime(struct runtime *runtime) {
  void *library = dlopen(offloadc_amdgpu_backend.library, RTLD_NOW | RTLD_LOCAL);
  return library && find(library, "hsa_iterate_agents", &runtime->hsa_iterate_agents) &&
         find(library, "hsa_agent_get_info", &runtime->hsa_agent_get_info) &&
         find(library, "hsa_agent_iterate_isas", &runtime->hsa_agent_iterate_isas) &&
         find(library, "hsa_isa_get_info_alt", &runtime->hsa_isa_get_info_alt);
}

struct search {
  const struct runtime *runtime;
  unsigned index, seen;
  const char *uid;
  hsa_agent agent;
  bool found, by_index;
};

/* liboffload writes AMDGPU- and HSA's UUID. Devices without one are all GPU-XX, so an equal index goes first. */
static bool has_uid(const struct runtime *runtime, hsa_agent agent, const char *uid) {
  char uuid[64] = "", text[80];
  if (runtime->hsa_agent_get_info(agent, AGENT_UUID, uuid))
    return false;
  snprintf(text, sizeof text, "AMDGPU-%s", uuid);
  return !strcmp(text, uid);
}

static int visit_agent(hsa_agent agent, void *data) {
  struct search *search = data;
  uint32_t type = 0;
  if (search->runtime->hsa_agent_get_info(agent, AGENT_DEVICE, &type) || type != DEVICE_GPU)
    return 0;
  bool at_index = search->seen++ == search->index, named = has_uid(search->runtime, agent, search->uid);
  if (at_index ? named || !search->found : named && !search->found) {
    search->agent = agent;
    search->found = true;
    search->by_index = at_index && named;
  }
  return search->by_index ? STOP_ITERATING : 0;
}

struct isa_search {
  const struct runtime *runtime;
  struct gpu_traits *out;
};

/* amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-; generic processors that the agent also runs come later. */
static int visit_isa(hsa_isa isa, void *data) {
  const struct isa_search *search = data;
  uint32_t length = 0;
  char name[256] = "";
  if (search->runtime->hsa_isa_get_info_alt(isa, ISA_NAME_LENGTH, &length) || length >= sizeof name ||
      search->runtime->hsa_isa_get_info_alt(isa, ISA_NAME, name))
    return 0;
  const char *target_id = strstr(name, "--");
  if (!target_id || strstr(target_id, "generic"))
    return 0;
  snprintf(search->out->arch, sizeof search->out->arch, "%.63s", target_id + 2);
  return STOP_ITERATING;
}

static bool describe(unsigned index, const char *uid, struct gpu_traits *out) {
  struct runtime runtime;
  if (!open_runtime(&runtime))
    return false;
  struct search search = {.runtime = &runtime, .index = index, .uid = uid};
  runtime.hsa_iterate_agents(visit_agent, &search);
  if (!search.found || runtime.hsa_agent_get_info(search.agent, AGENT_WAVEFRONT_SIZE, &out->warp_size))
    return false;
  runtime.hsa_agent_iterate_isas(search.agent, visit_isa, &(struct isa_search){&runtime, out});
  return *out->arch != 0;
}

static const char *hidden_reason(void) { return NULL; }

const struct backend offloadc_amdgpu_backend = {
    .word = "amdgpu",
    .kind = OFFLOADC_DEVICE_AMDGPU,
    .api_number = API_BACKEND_AMDGPU,
    .library = "libhsa-runtime64.so",
    .versioned_library = "libhsa-runtime64.so.1",
    /* Dispatch packets hold the threads of a grid in 32 bits; HSA's own limit is not the hardware's. */
    .limits_grid_by_threads = true,
    /* The plugin takes the stream's next signal first; nobody sets it when the call then fails. */
    .failed_call_breaks_queue = true,
    .describe = describe,
    .hidden_reason = hidden_reason,
};
