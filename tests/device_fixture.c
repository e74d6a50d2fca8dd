/*
 * Finding the device of a test. It must not know what is tested.
 */
#include "tests/device_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kvr_device_host *device_host(const char *what, unsigned *number)
{
    const char *name = getenv("DEVICE");
    struct kvr_error err = KVR_ERROR_NONE;
    unsigned count = 0;
    bool asked = name != NULL && name[0] != '\0';
    name = asked ? name : "opencl";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (!asked) {
        printf("skipped: %s: a sanitizer sees what a driver does as well\n", what);
        return NULL;
    }
#endif
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    *number = colon != NULL ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    for (size_t i = 0; kvr_device_hosts[i] != NULL; i++) {
        const struct kvr_device_host *host = kvr_device_hosts[i];
        if (strlen(host->name) != length || strncmp(host->name, name, length) != 0)
            continue;
        if (host->count(&count, &err) == KVR_OK && *number < count)
            return host;
        printf("skipped: %s: %s\n", what, err.message[0] != '\0' ? err.message : "no such device");
        return NULL;
    }
    ck_abort_msg("DEVICE=%s is no device", name);
    return NULL;
}

struct kvr_compute *device_open(const char *what, uint64_t memory)
{
    unsigned number;
    struct kvr_compute *compute = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    const struct kvr_device_host *host = device_host(what, &number);
    if (host == NULL)
        return NULL;
    enum kvr_status status = kvr_gpu_open_device(host, number, memory, &compute, &err);
    ck_assert_msg(status == KVR_OK, "%s", err.message);
    return compute;
}
