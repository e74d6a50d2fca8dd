/*
 * `kvreplay replay`: opens the traces, replays them cell by cell into the tables, prints a summary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "analysis/keep_file.h"
#include "analysis/result_tables.h"
#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/trace.h"
#include "replay/cli/print_summary.h"
#include "replay/cli/progress_bar.h"
#include "replay/cli/ranks.h"
#include "replay/cli/readable.h"
#include "replay/cli/replay_notes.h"
#include "replay/cli/replay_options.h"
#include "replay/cli/run_record.h"
#include "replay/cli/shared_replay.h"
#include "replay/engine.h"
#include "replay/gpu/gpu_backend.h"
#include "replay/memory_gate.h"

struct session {
    struct kvr_replay_request request;
    size_t trace_count;
    struct kvr_trace **traces;
    struct kvr_shared_replay shared;
    const char *keep_path;      /* --keep, or NULL */
    struct kvr_keep_file *keep; /* while the replay runs, where it is wanted */
    bool quiet;
    double started;
};

/* The allocator keeps what is freed for later, in places of each thread: not within a limit. */
static void keep_no_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_ARENA_MAX, 2);
#endif
}

static enum kvr_status open_traces(struct session *session, const struct kvr_arguments *arguments,
                                   struct kvr_error *err)
{
    session->trace_count = arguments->operand_count;
    const struct kvr_trace_options options = {
        .cache_bytes = kvr_memory_for_chunks(session->request.plan.memory),
    };
    if (session->request.plan.memory > 0)
        keep_no_freed_memory();
    session->traces = kvr_alloc(session->trace_count, sizeof *session->traces, err);
    if (session->traces == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < session->trace_count; i++) {
        enum kvr_status status =
            kvr_trace_open(arguments->operands[i], &options, &session->traces[i], err);
        if (status != KVR_OK)
            return status;
    }
    for (size_t i = 0; i < session->trace_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(session->traces[i]->name, session->traces[j]->name) == 0) {
                kvr_fail(err, KVR_BAD_ARGUMENT, "two traces are called \"%s\"",
                         session->traces[i]->name);
                return kvr_hint(err, "tables tell traces apart by name: rename one");
            }
    return KVR_OK;
}

/* The scorers, by default all that the traces can give, and what follows from them. */
static enum kvr_status settle_plan(struct session *session, struct kvr_error *err)
{
    struct kvr_plan *plan = &session->request.plan;
    struct kvr_trace *const *traces = session->traces;
    enum kvr_status status = kvr_replay_check_filters(plan, traces, session->trace_count, err);
    for (size_t i = 0;
         status == KVR_OK && session->request.default_scores && i < session->trace_count; i++)
        status = kvr_plan_add_available(plan, traces[i], err);
    if (status == KVR_OK)
        status = kvr_plan_settle(plan, traces, session->trace_count, err);
    if (status == KVR_OK)
        status = kvr_replay_check_scores(plan, traces, session->trace_count, err);
    if (status == KVR_OK && !session->quiet)
        kvr_replay_print_notes(plan, traces, session->trace_count);
    return status;
}

/* Where the plan computes; a device is opened only when everything else is in order. */
static enum kvr_status open_device(struct session *session, const char *name, struct kvr_error *err)
{
    char note[1280];
    if (name == NULL)
        return KVR_OK;
    enum kvr_status status =
        kvr_gpu_open(name, &session->request.plan.compute, note, sizeof note, err);
    if (status != KVR_OK)
        return kvr_at(err, "--device");
    if (note[0] != '\0' && !session->quiet)
        kvr_print_line(stderr, "note: %s", note);
    return KVR_OK;
}

/* Sets are told apart by sample only, and the file must not replace what it is made from. */
static enum kvr_status check_keep(const struct session *session, struct kvr_error *err)
{
    if (session->keep_path == NULL)
        return KVR_OK;
    if (kvr_shared_replay_needed(&session->shared))
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "--keep: the file is written by one process in one go, without --shard, "
                        "--resume and ranks");
    if (session->trace_count > 1) {
        kvr_fail(err, KVR_BAD_ARGUMENT, "--keep: the file holds the sets of one trace, found %zu",
                 session->trace_count);
        return kvr_hint(err, "replay each trace with a file of its own");
    }
    if (kvr_same_file(session->keep_path, session->traces[0]->path))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "--keep: \"%s\" is the trace itself",
                        session->keep_path);
    return KVR_OK;
}

static enum kvr_status open_keep(struct session *session, struct kvr_error *err)
{
    if (session->keep_path == NULL)
        return KVR_OK;
    return kvr_keep_file_open(session->keep_path, &session->request.plan, session->traces[0],
                              "kvreplay " KVREPLAY_VERSION, &session->keep, err);
}

static enum kvr_status replay_all(const struct session *session, const struct kvr_results *results,
                                  struct kvr_error *err)
{
    const struct kvr_plan *plan = &session->request.plan;
    struct kvr_observer observers[KVR_RESULT_TABLES + 1];
    size_t observer_count = results->count, cells = 0;
    memcpy(observers, results->observers, observer_count * sizeof *observers);
    if (session->keep != NULL)
        observers[observer_count++] = kvr_keep_file_observer(session->keep);
    for (size_t i = 0; i < session->trace_count; i++)
        cells += kvr_replay_cells(plan, session->traces[i]);
    struct kvr_progress_bar bar = kvr_progress_bar_start(cells, session->quiet);
    const struct kvr_progress progress = {kvr_progress_bar_update, &bar};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < session->trace_count; i++) {
        struct kvr_trace *trace = session->traces[i];
        status = kvr_replay_trace(plan, trace, observers, observer_count, &progress, err);
        kvr_progress_bar_part(&bar, kvr_replay_cells(plan, trace), kvr_trace_bytes_read(trace));
    }
    kvr_progress_bar_end(&bar);
    return status;
}

static uint64_t bytes_read(const struct session *session)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < session->trace_count; i++)
        bytes += kvr_trace_bytes_read(session->traces[i]);
    return bytes;
}

/* `bytes` are those that all ranks have read. */
static enum kvr_status write_run_record(const struct session *session,
                                        const struct kvr_arguments *arguments, uint64_t bytes,
                                        struct kvr_tables *tables, struct kvr_error *err)
{
    const struct kvr_shard_record shard = kvr_shared_replay_shard(&session->shared);
    const struct kvr_run_record record = {
        .name = "run.json",
        .arguments = arguments,
        .plan = &session->request.plan,
        .trace_count = session->trace_count,
        .traces = session->traces,
        .ranks = kvr_ranks_count(),
        .seconds = kvr_seconds() - session->started,
        .bytes_read = bytes,
        .shard = shard.count > 0 ? &shard : NULL,
    };
    return kvr_run_record_write(&record, tables, err);
}

/* Gives the file its name if all went well so far; the status of both. */
static enum kvr_status end_keep(struct session *session, enum kvr_status status,
                                struct kvr_error *err)
{
    if (status == KVR_OK && session->keep != NULL)
        status = kvr_keep_file_commit(session->keep, err);
    else
        kvr_keep_file_abandon(session->keep);
    session->keep = NULL;
    return status;
}

/* Tables and summary of all traces; the tables get their names only if everything went well. */
static enum kvr_status write_tables(struct session *session, const struct kvr_arguments *arguments,
                                    uint64_t bytes, struct kvr_summary *summary,
                                    struct kvr_error *err)
{
    const struct kvr_shared_replay *shared = &session->shared;
    bool by_parts = kvr_shared_replay_needed(shared);
    struct kvr_tables tables;
    struct kvr_results results;
    enum kvr_status status = kvr_tables_open(&tables, shared->folder, err);
    if (status != KVR_OK)
        return status;
    status = kvr_results_open(&results, &tables, summary, err);
    if (status == KVR_OK)
        status = open_keep(session, err);
    if (status == KVR_OK)
        status = by_parts ? kvr_shared_replay_gather(shared, &results, err)
                          : replay_all(session, &results, err);
    kvr_results_free(&results);
    if (status == KVR_OK)
        status = write_run_record(session, arguments, by_parts ? bytes : bytes_read(session),
                                  &tables, err);
    status = end_keep(session, status, err);
    if (status != KVR_OK) {
        kvr_tables_abandon(&tables);
        return status;
    }
    kvr_summary_finish(summary);
    status = kvr_tables_commit(&tables, err);
    if (status == KVR_OK && by_parts)
        kvr_shared_replay_clear(shared);
    return status;
}

static enum kvr_status write_and_print(struct session *session,
                                       const struct kvr_arguments *arguments, uint64_t bytes,
                                       struct kvr_error *err)
{
    struct kvr_summary summary;
    enum kvr_status status = kvr_summary_open(&session->request.plan, &summary, err);
    if (status == KVR_OK)
        status = write_tables(session, arguments, bytes, &summary, err);
    if (status == KVR_OK && !session->quiet)
        kvr_print_summary(&summary, session->traces, session->trace_count, session->shared.folder);
    kvr_summary_free(&summary);
    return status;
}

/* A shard has no tables: its folder holds its parts and a record that tells which they are. */
static enum kvr_status write_shard(const struct session *session,
                                   const struct kvr_arguments *arguments, struct kvr_error *err)
{
    const struct kvr_shared_replay *shared = &session->shared;
    struct kvr_tables tables;
    enum kvr_status status = kvr_tables_open(&tables, shared->folder, err);
    if (status != KVR_OK)
        return status;
    for (size_t t = 0; status == KVR_OK && t < KVR_RESULT_TABLES; t++)
        status = kvr_tables_drop(&tables, kvr_result_tables[t]->name, err);
    if (status == KVR_OK)
        status = write_run_record(session, arguments, bytes_read(session), &tables, err);
    if (status == KVR_OK)
        status = kvr_tables_commit(&tables, err);
    else
        kvr_tables_abandon(&tables);
    if (status == KVR_OK && !session->quiet)
        printf("Shard %zu of %zu is in %s; kvreplay merge puts all of them together\n",
               shared->shard, shared->shards, shared->folder);
    return status;
}

/* A rank that fails in its own units leaves at once, and takes the job along. */
static enum kvr_status replay(struct session *session, const struct kvr_arguments *arguments,
                              struct kvr_error *err)
{
    struct kvr_shared_replay *shared = &session->shared;
    enum kvr_status status = KVR_OK;
    uint64_t bytes = 0;
    if (kvr_shared_replay_needed(shared)) {
        status = kvr_shared_replay_prepare(shared, err);
        if (status == KVR_OK)
            status = kvr_shared_replay_run(shared, err);
        if (status != KVR_OK)
            return status;
        bytes = kvr_ranks_sum(bytes_read(session)); /* and so waits for all */
    }
    if (shared->shards > 0)
        return write_shard(session, arguments, err);
    if (kvr_ranks_own() == 0)
        status = write_and_print(session, arguments, bytes, err);
    return kvr_ranks_agree(status, err);
}

static enum kvr_status prepare(struct session *session, const struct kvr_command *command,
                               const struct kvr_arguments *arguments, struct kvr_error *err)
{
    struct kvr_shared_replay *shared = &session->shared;
    shared->folder = kvr_argument(command, arguments, "-o");
    if (shared->folder == NULL)
        return kvr_fail(err, KVR_BAD_ARGUMENT, "-o DIR is missing: where should the tables go?");
    enum kvr_status status =
        kvr_replay_request_parse(command, arguments, &kvr_replay_defaults, &session->request, err);
    if (status == KVR_OK)
        status = kvr_parse_shard(kvr_argument(command, arguments, "--shard"), &shared->shard,
                                 &shared->shards, err);
    shared->resume = kvr_argument(command, arguments, "--resume") != NULL;
    session->keep_path = kvr_argument(command, arguments, "--keep");
    if (status == KVR_OK)
        status = open_traces(session, arguments, err);
    if (status == KVR_OK)
        status = check_keep(session, err);
    if (status == KVR_OK)
        status = settle_plan(session, err);
    if (status == KVR_OK)
        status = open_device(session, kvr_argument(command, arguments, "--device"), err);
    shared->plan = &session->request.plan;
    shared->traces = session->traces;
    shared->trace_count = session->trace_count;
    shared->quiet = session->quiet;
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct session session = {.started = kvr_seconds()};
    kvr_ranks_start();
    session.quiet = kvr_argument(command, arguments, "--quiet") != NULL || kvr_ranks_own() > 0;
    enum kvr_status status = kvr_ranks_agree(prepare(&session, command, arguments, err), err);
    if (status == KVR_OK)
        status = replay(&session, arguments, err);
    kvr_shared_replay_free(&session.shared);
    for (size_t i = 0; session.traces != NULL && i < session.trace_count; i++)
        kvr_trace_close(session.traces[i]);
    free(session.traces);
    kvr_gpu_close(session.request.plan.compute);
    kvr_replay_request_free(&session.request);
    return kvr_exit_status(status);
}

const struct kvr_command kvr_command_replay = {
    .name = "replay",
    .operands = "TRACE...",
    .summary = "replays eviction on recorded traces and writes the tables",
    .text =
        "Each (sample, layer, group) is scored, every policy keeps its tokens or pages at every "
        "budget, and what that holds is measured. Tables appear in DIR together, or not at all.\n\n"
        "Long replays can be cut. With --resume each finished sample is kept in DIR/parts, and the "
        "same command goes on from there after an interruption. With --shard each of n commands "
        "replays a share into a folder of its own; \"kvreplay merge\" gives the tables. Built with "
        "MPI, \"mpirun -n N kvreplay replay ...\" shares one replay between N processes. The "
        "tables "
        "are the same to the byte.",
    .least_operands = 1,
    .most_operands = (size_t)-1,
    .options = kvr_replay_options,
    .run = run,
};
