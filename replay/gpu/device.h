/*
 * A device that computes: what OpenCL and CUDA have in common, as small as the kernels need it.
 *
 * A host (one const struct) is a way to reach devices; its libraries are loaded when it is first
 * asked, so nothing of it is needed to build. Work goes through queues: everything on a queue runs
 * in order, two queues overlap, marks order them. It must not know what is computed.
 *
 * A device may be used from any number of threads; a queue, its kernels and its buffers belong to
 * one thread at a time. Errors of a device are KVR_IO, of its memory KVR_NO_MEMORY.
 */
#ifndef KVR_DEVICE_H
#define KVR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

enum { KVR_LEAST_GROUP = 64, KVR_MOST_GROUP = 256 };

struct kvr_device_limits {
    char name[128];
    char version[128];       /* of the driver and what it speaks */
    uint64_t memory;         /* bytes */
    uint64_t largest_buffer; /* bytes */
    size_t group_items;      /* the most items of a work group */
    size_t local_bytes;      /* memory that the items of a group share */
    unsigned units;          /* that run groups side by side */
    bool doubles;            /* computes in double precision, subnormals included */
    bool is_gpu;             /* not a processor, or a program that plays a device */
};

struct kvr_device {
    const struct kvr_device_host *host;
    unsigned number; /* among the devices of its host */
    struct kvr_device_limits limits;
    size_t group; /* items of a group in every launch: a power of two */
};

/* Memory of a device. `handle` is what a kernel takes as argument. */
struct kvr_buffer {
    uintptr_t handle; /* 0: none */
    size_t bytes;
};

/* Memory of the host that a device copies from without a detour. */
struct kvr_staging {
    void *bytes;
    size_t size;
    uintptr_t handle;
};

struct kvr_queue;  /* belongs to a host */
struct kvr_mark;   /* a place in a queue */
struct kvr_kernel; /* one function of the program */

/* An argument of a kernel as it is passed: a number of 4 or 8 bytes, or a buffer's handle. */
struct kvr_kernel_argument {
    size_t size;
    const void *value;
};
#define KVR_ARGUMENT(x)                                                                            \
    {                                                                                              \
        sizeof(x), &(x)                                                                            \
    }

struct kvr_device_host {
    const char *name; /* "opencl" */

    /* How many devices there are; an error says why there are none. */
    enum kvr_status (*count)(unsigned *count, struct kvr_error *err);

    /* Opens device `number` of them; its limits are known, no program is loaded. */
    enum kvr_status (*open)(unsigned number, struct kvr_device **out, struct kvr_error *err);
    void (*close)(struct kvr_device *device);

    /* Compiles the program for the device; once, before any queue is made. */
    enum kvr_status (*build)(struct kvr_device *device, const char *program, struct kvr_error *err);

    enum kvr_status (*open_queue)(struct kvr_device *device, struct kvr_queue **out,
                                  struct kvr_error *err);
    void (*close_queue)(struct kvr_queue *queue); /* waits for it; NULL is allowed */

    enum kvr_status (*find_kernel)(struct kvr_device *device, const char *name,
                                   struct kvr_kernel **out, struct kvr_error *err);
    void (*drop_kernel)(struct kvr_kernel *kernel); /* NULL is allowed */

    enum kvr_status (*allocate)(struct kvr_device *device, size_t bytes, struct kvr_buffer *out,
                                struct kvr_error *err);
    void (*release)(struct kvr_device *device, struct kvr_buffer *buffer);

    enum kvr_status (*stage)(struct kvr_queue *queue, size_t size, struct kvr_staging *out,
                             struct kvr_error *err);
    void (*unstage)(struct kvr_queue *queue, struct kvr_staging *staging);

    /* Copies are queued; the host's memory must stay as it is until the queue has passed them. */
    enum kvr_status (*upload)(struct kvr_queue *queue, struct kvr_buffer buffer, size_t offset,
                              const void *from, size_t bytes, struct kvr_error *err);
    enum kvr_status (*download)(struct kvr_queue *queue, struct kvr_buffer buffer, size_t offset,
                                void *to, size_t bytes, struct kvr_error *err);

    /* Queues `groups` work groups of device->group items each. */
    enum kvr_status (*launch)(struct kvr_queue *queue, struct kvr_kernel *kernel, size_t groups,
                              const struct kvr_kernel_argument *arguments, size_t argument_count,
                              struct kvr_error *err);

    /* A mark behind everything queued so far; *mark is replaced (NULL at first). */
    enum kvr_status (*mark)(struct kvr_queue *queue, struct kvr_mark **mark, struct kvr_error *err);
    void (*drop_mark)(struct kvr_mark *mark); /* NULL is allowed */
    /* What is queued from now on runs after the mark, which may be of another queue. */
    enum kvr_status (*follow)(struct kvr_queue *queue, struct kvr_mark *mark,
                              struct kvr_error *err);
    /* The calling thread waits until the mark has been passed. */
    enum kvr_status (*await)(struct kvr_mark *mark, struct kvr_error *err);
    /* Seconds on the device between two marks that have been passed. */
    enum kvr_status (*elapsed)(struct kvr_mark *from, struct kvr_mark *to, double *seconds,
                               struct kvr_error *err);

    /* The calling thread waits until the queue is empty. */
    enum kvr_status (*finish)(struct kvr_queue *queue, struct kvr_error *err);
};

/* Every way to reach devices, the preferred first. Ends with NULL. */
extern const struct kvr_device_host *const kvr_device_hosts[];

#endif
