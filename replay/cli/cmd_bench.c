/*
 * kvreplay bench: makes its traces, replays them as a user would, says how near the machine's
 * limits that comes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/base/parallel.h"
#include "formats/base/temporary.h"
#include "replay/cli/bench_peer.h"
#include "replay/cli/bench_report.h"
#include "replay/cli/command.h"

extern const struct kvr_command kvr_command_bench;

static const struct kvr_option options_of_bench[] = {
    {"--layers", "N", "layers of the traces (12)"},
    {"--query-heads", "N", "query heads of a layer (32)"},
    {"--kv-heads", "N", "KV heads of a layer (8)"},
    {"--tokens", "N", "tokens of a trace (32768)"},
    {"--rows", "N", "rows of a head, all of which are scored (16)"},
    {"--threads", "N", "threads of a replay (all processors)"},
    {"--rounds", "N", "runs of each, of which the best counts (3)"},
    {"--device", "NAME", "what replays, as in \"kvreplay replay\" (cpu)"},
    {"--folder", "DIR",
     "where a folder for traces and tables is made, and removed ($TMPDIR, or /tmp)"},
    {"--peers", "DIR",
     "compares with the Python scripts of this folder (tests/peer, if it is there)"},
    {"--python", "PROGRAM", "the Python that runs them (python3)"},
    {"--sweep", NULL, "how the cost grows with tokens, heads, rows, budgets and page sizes"},
    {"--json", "FILE", "writes the figures there, too"},
    {NULL, NULL, NULL},
};

struct bench {
    struct kvr_bench_report report;
    char scorer[32];
    const char *peers, *python, *json, *device;
    bool sweep;
    char program[4096];
    char *folder, *tables, *table; /* table: a peer's, "peer.csv" */
    bool folder_made;
    char *traces[KVR_BENCH_CASES];
};

static const struct kvr_bench_case all_cases[KVR_BENCH_CASES] = {
    {.name = "half, raw", .element = KVR_HALF, .storage = KVR_BENCH_RAW},
    {.name = "half, shuffle+deflate", .element = KVR_HALF, .storage = KVR_BENCH_DEFLATE},
    {.name = "float, raw", .element = KVR_FLOAT, .storage = KVR_BENCH_RAW},
    {.name = "float, shuffle+deflate", .element = KVR_FLOAT, .storage = KVR_BENCH_DEFLATE},
};

enum { RAW_HALF = 0, DEFLATED_HALF = 1, DEFLATED_FLOAT = 3 };

/* ------------------------------------------------------------------------------ command line */

static enum kvr_status read_options(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments, struct bench *bench,
                                    struct kvr_error *err)
{
    struct kvr_bench_shape *shape = &bench->report.shape;
    uint64_t threads = kvr_processor_count(), rounds = 3;
    *shape = (struct kvr_bench_shape){12, 32, 8, 32768, 16};
    const struct {
        const char *name;
        uint64_t least, most, *value;
    } numbers[] = {
        {"--layers", 1, 1000, &shape->layers},
        {"--query-heads", 1, 1024, &shape->query_heads},
        {"--kv-heads", 1, 1024, &shape->kv_heads},
        {"--tokens", 512, KVR_SYNTH_MOST_TOKENS, &shape->tokens},
        {"--rows", 1, 512, &shape->rows},
        {"--threads", 1, 1024, &threads},
        {"--rounds", 1, 100, &rounds},
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof numbers / sizeof *numbers; i++)
        status = kvr_argument_unsigned(numbers[i].name,
                                       kvr_argument(command, arguments, numbers[i].name),
                                       numbers[i].least, numbers[i].most, numbers[i].value, err);
    bench->report.threads = (unsigned)threads;
    bench->report.rounds = (unsigned)rounds;
    bench->peers = kvr_argument(command, arguments, "--peers");
    bench->python = kvr_argument(command, arguments, "--python");
    if (bench->python == NULL)
        bench->python = "python3";
    bench->json = kvr_argument(command, arguments, "--json");
    bench->device = kvr_argument(command, arguments, "--device");
    bench->sweep = kvr_argument(command, arguments, "--sweep") != NULL;
    bench->report.device = bench->device != NULL ? bench->device : "cpu";
    snprintf(bench->scorer, sizeof bench->scorer, "window:%llu", (unsigned long long)shape->rows);
    return status;
}

/* ------------------------------------------------------------------------------ files */

/* Everything lies in a folder of its own, so that nothing of the user's can be overwritten. */
static enum kvr_status make_folder(const char *parent, struct bench *bench, struct kvr_error *err)
{
    const char *scratch = getenv("TMPDIR");
    if (parent == NULL)
        parent = scratch != NULL && *scratch != '\0' ? scratch : "/tmp";
    enum kvr_status status = kvr_make_folder(parent, err);
    if (status != KVR_OK)
        return status;
    bench->folder = kvr_join_path(parent, "kvreplay-bench-XXXXXX", err);
    if (bench->folder == NULL)
        return KVR_NO_MEMORY;
    if (mkdtemp(bench->folder) == NULL)
        return kvr_fail(err, KVR_IO, "\"%s\": no folder can be made in it: %s", parent,
                        strerror(errno));
    bench->folder_made = true;
    return KVR_OK;
}

static enum kvr_status make_places(const char *parent, struct bench *bench, struct kvr_error *err)
{
    static const char *const names[] = {"half-raw.h5", "half-deflate.h5", "float-raw.h5",
                                        "float-deflate.h5"};
    ssize_t length = readlink("/proc/self/exe", bench->program, sizeof bench->program - 1);
    if (length <= 0)
        return kvr_fail(err, KVR_IO, "the path of this program is not known: %s", strerror(errno));
    bench->program[length] = '\0';
    enum kvr_status status = make_folder(parent, bench, err);
    if (status != KVR_OK)
        return status;
    bench->tables = kvr_join_path(bench->folder, "tables", err);
    bench->table = kvr_join_path(bench->folder, "peer.csv", err);
    if (bench->tables == NULL || bench->table == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < KVR_BENCH_CASES; i++) {
        if ((bench->traces[i] = kvr_join_path(bench->folder, names[i], err)) == NULL)
            return KVR_NO_MEMORY;
        kvr_temporary_note(bench->traces[i]); /* they are large: a signal removes them */
    }
    return KVR_OK;
}

static void remove_tables(const char *folder)
{
    static const char *const names[] = {"measures.csv", "bounds.csv",   "heads.csv",  "needles.csv",
                                        "premises.csv", "excluded.csv", "layers.csv", "run.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = kvr_join_path(folder, names[i], NULL);
        if (path != NULL)
            unlink(path);
        free(path);
    }
    rmdir(folder);
}

static void remove_places(struct bench *bench)
{
    for (size_t i = 0; i < KVR_BENCH_CASES; i++) {
        if (bench->traces[i] != NULL) {
            unlink(bench->traces[i]);
            kvr_temporary_forget(bench->traces[i]);
        }
        free(bench->traces[i]);
    }
    if (bench->table != NULL)
        unlink(bench->table);
    if (bench->tables != NULL)
        remove_tables(bench->tables);
    if (bench->folder_made)
        rmdir(bench->folder);
    free(bench->table);
    free(bench->tables);
    free(bench->folder);
}

/* ------------------------------------------------------------------------------ measuring */

static struct kvr_bench_replay replay_of(const struct bench *bench, const char *trace)
{
    return (struct kvr_bench_replay){
        .program = bench->program,
        .trace = trace,
        .folder = bench->tables,
        .scorer = bench->scorer,
        .device = bench->device,
        .threads = bench->report.threads,
    };
}

static enum kvr_status run_replay(unsigned rounds, const struct kvr_bench_replay *replay,
                                  struct kvr_bench_usage *usage, struct kvr_error *err)
{
    char digits[16];
    const char *words[KVR_BENCH_WORDS];
    kvr_bench_command_line(replay, digits, words);
    return kvr_bench_best(rounds, words, NULL, usage, err);
}

static enum kvr_status measure_start_up(struct bench *bench, struct kvr_error *err)
{
    const struct kvr_bench_shape tiny = {1, 8, 2, 512, 16};
    struct kvr_bench_replay replay = replay_of(bench, bench->traces[RAW_HALF]);
    struct kvr_bench_usage usage = {0};
    replay.scorer = "window:16";
    enum kvr_status status =
        kvr_bench_make_trace(replay.trace, &tiny, KVR_HALF, KVR_BENCH_RAW, err);
    if (status == KVR_OK)
        status = run_replay(bench->report.rounds, &replay, &usage, err);
    bench->report.start_up = usage.seconds;
    return status;
}

static enum kvr_status measure_cases(struct bench *bench, struct kvr_error *err)
{
    struct kvr_bench_report *report = &bench->report;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < KVR_BENCH_CASES; i++) {
        struct kvr_bench_case *one = &report->cases[i];
        *one = all_cases[i];
        one->row_bytes = kvr_bench_row_bytes(&report->shape, one->element);
        status =
            kvr_bench_make_trace(bench->traces[i], &report->shape, one->element, one->storage, err);
        struct stat facts;
        if (status == KVR_OK && stat(bench->traces[i], &facts) == 0)
            one->file_bytes = (uint64_t)facts.st_size;
        const struct kvr_bench_replay replay = replay_of(bench, bench->traces[i]);
        if (status == KVR_OK)
            status = run_replay(report->rounds, &replay, &one->usage, err);
        report->case_count += status == KVR_OK;
    }
    struct kvr_bench_replay single = replay_of(bench, bench->traces[RAW_HALF]);
    single.budgets = "0.1";
    return status == KVR_OK ? run_replay(report->rounds, &single, &report->one_budget, err)
                            : status;
}

/* Peers replay the raw half trace; our tables of it are there to be compared with. */
static enum kvr_status measure_peers(struct bench *bench, struct kvr_error *err)
{
    static const struct kvr_bench_peer all_peers[KVR_BENCH_PEERS] = {
        {.name = "NumPy, vectorised", .script = "numpy_replay.py"},
        {.name = "Python sets", .script = "set_replay.py"},
    };
    struct kvr_bench_report *report = &bench->report;
    const char *peers = bench->peers != NULL ? bench->peers : "tests/peer";
    const char *trace = bench->traces[RAW_HALF];
    if (bench->peers == NULL && access(peers, R_OK) != 0)
        report->no_peers = "the scripts of tests/peer are not here, see --peers";
    else if (!kvr_bench_peer_available(bench->python))
        report->no_peers = "no Python with numpy and h5py was found, see --python";
    if (report->no_peers != NULL)
        return KVR_OK;
    const struct kvr_bench_replay ours = replay_of(bench, trace);
    struct kvr_bench_usage usage;
    enum kvr_status status = run_replay(1, &ours, &usage, err); /* for its tables */
    for (size_t i = 0; status == KVR_OK && i < KVR_BENCH_PEERS; i++) {
        struct kvr_bench_peer *peer = &report->peers[i];
        *peer = all_peers[i];
        status = kvr_bench_peer_run(bench->python, peers, peer->script, trace, report->shape.rows,
                                    bench->table, &usage, err);
        if (status == KVR_OK)
            status = kvr_bench_peer_compare(bench->tables, bench->folder, "peer.csv",
                                            &report->peer_cells, err);
        peer->row_bytes = report->cases[RAW_HALF].row_bytes;
        peer->seconds = usage.seconds;
        peer->ran = status == KVR_OK;
    }
    if (status == KVR_OK)
        status =
            kvr_bench_peer_run(bench->python, peers, "read_trace.py", bench->traces[DEFLATED_HALF],
                               report->shape.rows, bench->table, &report->reading, err);
    return status;
}

static enum kvr_status measure_stages(struct bench *bench, struct kvr_error *err)
{
    static const char *const budgets[] = {"0.02", "0.05", "0.1", "0.2", "0.4"};
    static const char *const policies[] = {"independent", "mean", "max", "page-entrokv"};
    struct kvr_plan plan = kvr_plan_default();
    enum kvr_status status = kvr_plan_add_score(&plan, bench->scorer, err);
    for (size_t i = 0; status == KVR_OK && i < sizeof budgets / sizeof *budgets; i++)
        status = kvr_plan_add_budget(&plan, budgets[i], err);
    for (size_t i = 0; status == KVR_OK && i < sizeof policies / sizeof *policies; i++)
        status = kvr_plan_add_policy(&plan, policies[i], err);
    if (status == KVR_OK)
        status = kvr_plan_add_page_size(&plan, "1", err);
    if (status == KVR_OK)
        status = kvr_plan_add_page_size(&plan, "16", err);
    if (status == KVR_OK)
        status = kvr_bench_stages_measure(&plan, bench->traces[RAW_HALF], bench->tables,
                                          &bench->report.stages, err);
    kvr_plan_free(&plan);
    return status;
}

static enum kvr_status measure_sweeps(struct bench *bench, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < kvr_bench_sweep_count && i < KVR_BENCH_AXES; i++) {
        status = kvr_bench_sweep_measure(i, bench->program, bench->folder, bench->report.rounds,
                                         &bench->report.sweeps[i], err);
        bench->report.sweep_count += status == KVR_OK;
    }
    return status;
}

/* Processes first: the peak of a child counts what its parent held when it was started. */
static enum kvr_status measure(struct bench *bench, struct kvr_error *err)
{
    enum kvr_status status = measure_start_up(bench, err);
    if (status == KVR_OK)
        status = measure_cases(bench, err);
    if (status == KVR_OK)
        status = measure_peers(bench, err);
    if (status == KVR_OK && bench->sweep)
        status = measure_sweeps(bench, err);
    if (status == KVR_OK)
        status = measure_stages(bench, err);
    const struct kvr_bench_samples samples = {
        .raw = bench->traces[RAW_HALF],
        .half = bench->traces[DEFLATED_HALF],
        .real = bench->traces[DEFLATED_FLOAT],
    };
    if (status == KVR_OK)
        status = kvr_bench_limits_measure(&samples, bench->report.threads, bench->report.rounds,
                                          &bench->report.limits, err);

    return status;
}

static enum kvr_status write_json(const struct bench *bench, struct kvr_error *err)
{
    struct kvr_text text = {0};
    struct kvr_json json = {.text = &text};
    struct kvr_outfile *file = NULL;
    kvr_bench_json(&bench->report, &json);
    kvr_text_string(&text, "\n");
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        status = kvr_outfile_open(bench->json, &file, err);
    if (status == KVR_OK)
        status = kvr_outfile_write(file, text.data, text.length, err);
    kvr_text_free(&text);
    if (status == KVR_OK)
        return kvr_outfile_commit(file, err);
    kvr_outfile_abandon(file);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct bench bench = {0};
    enum kvr_status status = read_options(command, arguments, &bench, err);
    if (status == KVR_OK)
        status = make_places(kvr_argument(command, arguments, "--folder"), &bench, err);
    if (status == KVR_OK)
        status = measure(&bench, err);
    remove_places(&bench);
    if (status == KVR_OK && bench.json != NULL)
        status = write_json(&bench, err);
    if (status == KVR_OK)
        kvr_bench_print(&bench.report);
    return kvr_exit_status(status);
}

const struct kvr_command kvr_command_bench = {
    .name = "bench",
    .operands = "",
    .summary = "measures the speed of a replay against this machine's limits",
    .text = "Makes traces of one shape, raw and compressed, half and float, and replays each in a "
            "fresh process with its file in the page cache. GB/s count the rows as they are "
            "uncompressed. Where python3 has numpy and h5py, scripts replay the same trace; their "
            "tables must agree with ours before times are compared. Takes a minute or two, 3 GB "
            "of disk, and an otherwise idle machine.",
    .options = options_of_bench,
    .run = run,
};
