/* Choosing the device of this process. */
#include "device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "error.h"
#include "gpu.h"
#include "program.h"

/* ---- OFFLOADC_DEVICE ------------------------------------------------------------------------------ */
struct request {
  const char *text; /* as the user wrote it; NULL: automatic */
  bool cpu;
  const struct backend *backend; /* NULL: cpu or automatic */
  int index;                     /* -1: the first that an image fits */
};

static bool parse_index(const char *text, int *index) {
  char *end;
  *index = -1;
  if (!*text)
    return true;
  if (*text++ != ':' || *text < '0' || *text > '9')
    return false;
  unsigned long value = strtoul(text, &end, 10);
  *index = (int)(value < 100000 ? value : 100000);
  return *end == 0;
}

static bool parse_request(const char *text, struct request *request) {
  *request = (struct request){.text = text && *text ? text : NULL};
  if (!request->text)
    return true;
  request->cpu = !strcmp(text, "cpu");
  for (size_t i = 0; i < BACKEND_COUNT; i++) {
    const struct backend *backend = offloadc_backends[i];
    size_t n = strlen(backend->word);
    if (!strncmp(text, backend->word, n) && parse_index(text + n, &request->index))
      request->backend = backend;
  }
  return request->cpu || request->backend;
}

/* ---- what messages list ---------------------------------------------------------------------------- */
static void describe_devices(const struct gpus *gpus, struct text *text) {
  offloadc_text_add(text, "cpu");
  for (size_t i = 0; i < gpus->count; i++) {
    const struct device *d = &gpus->items[i].device;
    offloadc_text_add(text, ", %s (%s, %s)", d->label, d->info.name, d->info.arch);
  }
}

static const char *hidden_reason(const struct backend *only) {
  for (size_t i = 0; i < BACKEND_COUNT; i++) {
    const char *reason = !only || only == offloadc_backends[i] ? offloadc_backends[i]->hidden_reason() : NULL;
    if (reason)
      return reason;
  }
  return NULL;
}

/* ---- explicit ----------------------------------------------------------------------------------------- */
static int no_such_word(const char *text, int listed, const struct gpus *gpus) {
  struct text devices = {.length = 0};
  describe_devices(gpus, &devices);
  return offloadc_fail(OFFLOADC_ERROR_NO_DEVICE,
                       "OFFLOADC_DEVICE=%s is no device; write cpu, cuda:N or amdgpu:N; devices here: %s%s", text,
                       devices.data, listed ? " (GPUs were not looked for)" : "");
}

static int no_such_device(const struct request *request, const struct gpus *gpus) {
  struct text devices = {.length = 0};
  const char *reason = hidden_reason(request->backend);
  describe_devices(gpus, &devices);
  return offloadc_fail(OFFLOADC_ERROR_NO_DEVICE, "OFFLOADC_DEVICE=%s: there is no such device; devices here: %s%s%s",
                       request->text, devices.data, reason ? "; " : "", reason ? reason : "");
}

/* The arch as --offload-arch takes it. */
static int nothing_fits(const struct device *device, const struct images *images) {
  struct text list = {.length = 0};
  offloadc_images_describe(images, &list);
  return offloadc_fail(OFFLOADC_ERROR_NO_IMAGE,
                       "no device image in this program fits %s (%s, %s); images in the program: %s; rebuild with "
                       "--offload-arch=%.*s",
                       device->label, device->info.name, device->info.arch, list.data,
                       (int)strcspn(device->info.arch, ":"), device->info.arch);
}

static enum fit fit_of(const struct device *device, const struct images *images) {
  return offloadc_fit(images, device->info.kind, device->arch);
}

static int choose_requested(const struct request *request, const struct gpus *gpus, const struct images *images,
                            struct gpu **out) {
  struct gpu *unfit = NULL;
  for (size_t i = 0; i < gpus->count; i++) {
    struct gpu *gpu = &gpus->items[i];
    if (gpu->backend != request->backend || (request->index >= 0 && gpu->device.info.index != request->index))
      continue;
    if (fit_of(&gpu->device, images) != FITS_NONE) {
      *out = gpu;
      return OFFLOADC_SUCCESS;
    }
    unfit = unfit ? unfit : gpu;
  }
  return unfit ? nothing_fits(&unfit->device, images) : no_such_device(request, gpus);
}

/* ---- automatic ------------------------------------------------------------------------------------------ */
static struct gpu *first_fitting(const struct gpus *gpus, const struct images *images) {
  for (size_t i = 0; i < gpus->count; i++)
    if (fit_of(&gpus->items[i].device, images) == FITS_ALL)
      return &gpus->items[i];
  return NULL;
}

static void warn_unfit(const struct gpus *gpus, const struct images *images) {
  struct text devices = {.length = 0}, list = {.length = 0};
  bool some = false;
  for (size_t i = 0; i < gpus->count; i++) {
    const struct device *d = &gpus->items[i].device;
    offloadc_text_add(&devices, "%s%s (%s, %s)", i ? ", " : "", d->label, d->info.name, d->info.arch);
    some = some || fit_of(d, images) == FITS_SOME;
  }
  offloadc_images_describe(images, &list);
  offloadc_warn("not using %s: %s; images in the program: %s; running on the CPU device; rebuild with "
                "--offload-arch=native",
                devices.data, some ? "device images of only some of the program's files fit" : "no device image fits",
                list.data);
}

static int choose_cpu(const struct gpus *gpus, const struct images *images) {
  struct device *cpu = offloadc_cpu_device();
  enum fit fit = fit_of(cpu, images);
  if (fit == FITS_NONE)
    return nothing_fits(gpus->count ? &gpus->items[0].device : cpu, images);
  if (gpus->count)
    warn_unfit(gpus, images);
  else if (hidden_reason(NULL))
    offloadc_warn("%s; running on the CPU device", hidden_reason(NULL));
  return OFFLOADC_SUCCESS;
}

/* Without liboffload the CPU device is the answer; one that is there but of no use, the user should hear of.
 * One that the user named must work. */
static int without_gpus(int status) {
  const char *named = getenv("OFFLOADC_LIBOFFLOAD");
  if (named && *named)
    return status;
  if (status != OFFLOADC_ERROR_NO_DEVICE)
    offloadc_warn("%s; running on the CPU device", offloadc_last_error());
  return OFFLOADC_SUCCESS;
}

static int choose_automatically(const struct images *images, struct gpus *gpus, struct gpu **out) {
  struct device *cpu = offloadc_cpu_device();
  *out = NULL;
  if (fit_of(cpu, images) == NOTHING_TO_FIT)
    return OFFLOADC_SUCCESS;
  int status = offloadc_list_gpus(gpus);
  if (status)
    status = without_gpus(status);
  if (status)
    return status;
  *out = first_fitting(gpus, images);
  return *out ? OFFLOADC_SUCCESS : choose_cpu(gpus, images);
}

/* ---- the choice ------------------------------------------------------------------------------------------- */
static int choose_gpu(const struct request *request, const struct images *images, struct gpu **out) {
  struct gpus gpus = {0};
  *out = NULL;
  if (request->cpu)
    return OFFLOADC_SUCCESS;
  if (!request->backend)
    return choose_automatically(images, &gpus, out);
  int status = offloadc_list_gpus(&gpus);
  if (status)
    return offloadc_fail(status, "OFFLOADC_DEVICE=%s: %s", request->text, offloadc_last_error());
  return choose_requested(request, &gpus, images, out);
}

static int open_device(const struct images *images, struct gpu *gpu, struct device **out) {
  *out = gpu ? &gpu->device : offloadc_cpu_device();
  struct device *device = *out;
  int status = gpu ? offloadc_open_gpu(gpu) : device->operations->create_queue(device, &device->default_queue);
  return status ? status : offloadc_units_build(&device->units, images, device->info.kind, device->arch);
}

static int choose(struct device **out) {
  const struct program *program;
  struct request request;
  struct gpu *gpu;
  if (!parse_request(getenv("OFFLOADC_DEVICE"), &request)) {
    struct gpus gpus = {0};
    int status = offloadc_list_gpus(&gpus);
    return no_such_word(request.text, status, &gpus);
  }
  int status = offloadc_program(&program);
  if (!status)
    status = choose_gpu(&request, &program->images, &gpu);
  return status ? status : open_device(&program->images, gpu, out);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct device *chosen;
static int choice_status;
static char choice_error[2048];

static void choose_once(void) {
  choice_status = choose(&chosen);
  if (choice_status)
    snprintf(choice_error, sizeof choice_error, "%s", offloadc_last_error());
}

int offloadc_device(struct device **out) {
  pthread_once(&once, choose_once);
  *out = chosen;
  return choice_status ? offloadc_fail(choice_status, "%s", choice_error) : OFFLOADC_SUCCESS;
}
