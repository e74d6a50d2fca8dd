/*
 * kvreplay devices: where replay can compute, and which steps each device takes.
 */
#include <inttypes.h>
#include <string.h>

#include "formats/json.h"
#include "replay/cli/command.h"
#include "replay/cli/readable.h"
#include "replay/gpu/gpu_backend.h"

static const struct kvr_option options[] = {
    {"--json", NULL, "write one JSON object instead of a page"},
    {NULL, NULL, NULL},
};

static const struct {
    enum kvr_step step;
    const char *name;
} steps[] = {
    {KVR_STEP_COLUMNS, "columns"}, {KVR_STEP_ROWS, "rows"}, {KVR_STEP_STATISTICS, "statistics"},
    {KVR_STEP_SCORE, "scores"},    {KVR_STEP_KEEP, "sets"}, {KVR_STEP_ORDER, "orders"},
};

enum { STEPS = sizeof steps / sizeof *steps };

/* ------------------------------------------------------------------------------ page */

static void add_device(struct kvr_text *page, const struct kvr_device *device)
{
    const struct kvr_device_limits *limits = &device->limits;
    char name[32], separator[] = ": ";
    snprintf(name, sizeof name, "%s:%u", device->host->name, device->number);
    kvr_text_add(page, "%-10s %s\n%-10s %s\n%-10s ", name, limits->name, "", limits->version, "");
    kvr_text_size(page, limits->memory);
    kvr_text_string(page, ", buffers up to ");
    kvr_text_size(page, limits->largest_buffer);
    kvr_text_add(page, "; %u unit%s, groups of %zu that share ", limits->units,
                 limits->units == 1 ? "" : "s", kvr_gpu_group(limits));
    kvr_text_size(page, limits->local_bytes);
    kvr_text_add(page, "\n%-10s %s; takes", "", limits->doubles ? "doubles" : "no doubles");
    for (size_t i = 0; i < STEPS; i++)
        if (kvr_gpu_can(limits, steps[i].step)) {
            kvr_text_add(page, "%s%s", separator, steps[i].name);
            separator[0] = ',';
        }
    kvr_text_string(page, separator[0] == ':' ? " nothing\n" : "\n");
}

static void add_failure(struct kvr_text *page, const char *name, const struct kvr_error *failure)
{
    const char *reason = failure->message;
    size_t length = strlen(name);
    if (strncmp(reason, name, length) == 0 && strncmp(reason + length, ": ", 2) == 0)
        reason += length + 2;
    kvr_text_add(page, "%-10s none: %s\n", name, reason);
}

/* ------------------------------------------------------------------------------ JSON */

static void add_device_json(struct kvr_json *json, const struct kvr_device *device)
{
    const struct kvr_device_limits *limits = &device->limits;
    char name[32];
    snprintf(name, sizeof name, "%s:%u", device->host->name, device->number);
    kvr_json_object(json, NULL);
    kvr_json_string(json, "device", name);
    kvr_json_string(json, "name", limits->name);
    kvr_json_string(json, "version", limits->version);
    kvr_json_unsigned(json, "memory", limits->memory);
    kvr_json_unsigned(json, "largest_buffer", limits->largest_buffer);
    kvr_json_unsigned(json, "units", limits->units);
    kvr_json_unsigned(json, "group", kvr_gpu_group(limits));
    kvr_json_unsigned(json, "local_bytes", limits->local_bytes);
    kvr_json_bool(json, "doubles", limits->doubles);
    kvr_json_bool(json, "gpu", limits->is_gpu);
    kvr_json_list(json, "takes");
    for (size_t i = 0; i < STEPS; i++)
        if (kvr_gpu_can(limits, steps[i].step))
            kvr_json_string(json, NULL, steps[i].name);
    kvr_json_end(json);
    kvr_json_end(json);
}

static void add_failure_json(struct kvr_json *json, const char *name,
                             const struct kvr_error *failure)
{
    kvr_json_object(json, NULL);
    kvr_json_string(json, "device", name);
    kvr_json_string(json, "error", failure->message);
    kvr_json_end(json);
}

/* ------------------------------------------------------------------------------ command */

struct listing {
    struct kvr_text text;
    struct kvr_json json;
    bool as_json;
};

static void add(struct listing *listing, const char *name, const struct kvr_device *device,
                const struct kvr_error *failure)
{
    if (device != NULL && listing->as_json)
        add_device_json(&listing->json, device);
    else if (device != NULL)
        add_device(&listing->text, device);
    else if (listing->as_json)
        add_failure_json(&listing->json, name, failure);
    else
        add_failure(&listing->text, name, failure);
}

static void list_host(struct listing *listing, const struct kvr_device_host *host)
{
    struct kvr_error failure = KVR_ERROR_NONE;
    unsigned count = 0;
    if (host->count(&count, &failure) != KVR_OK) {
        add(listing, host->name, NULL, &failure);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        char name[32];
        struct kvr_device *device = NULL;
        snprintf(name, sizeof name, "%s:%u", host->name, i);
        failure = KVR_ERROR_NONE;
        host->open(i, &device, &failure);
        add(listing, name, device, &failure);
        if (device != NULL)
            host->close(device);
    }
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct listing listing = {.as_json = kvr_argument(command, arguments, "--json") != NULL};
    listing.json.text = &listing.text;
    if (listing.as_json) {
        kvr_json_object(&listing.json, NULL);
        kvr_json_array(&listing.json, "devices");
    } else {
        kvr_text_add(&listing.text, "%-10s always there; does what no device takes\n", "cpu");
    }
    for (size_t i = 0; kvr_device_hosts[i] != NULL; i++)
        list_host(&listing, kvr_device_hosts[i]);
    if (listing.as_json) {
        kvr_json_end(&listing.json);
        kvr_json_end(&listing.json);
    }
    enum kvr_status status = kvr_text_check(&listing.text, err);
    if (status == KVR_OK)
        fwrite(listing.text.data, 1, listing.text.length, stdout);
    kvr_text_free(&listing.text);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_devices;

const struct kvr_command kvr_command_devices = {
    .name = "devices",
    .operands = "",
    .summary = "lists the devices that replay can compute on",
    .text = "Devices are named as --device of replay takes them: opencl:N through the system's "
            "OpenCL loader (any GPU, or the processor by PoCL), cuda:N through NVIDIA's driver. "
            "Steps that a device does not take, the CPU does; results are the same to the last "
            "bit.",
    .least_operands = 0,
    .most_operands = 0,
    .options = options,
    .run = run,
};
