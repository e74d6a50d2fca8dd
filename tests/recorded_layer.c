/*
 * Writing and loading one layer. It must not know what is expected of it.
 */
#include "tests/recorded_layer.h"

#include <check.h>
#include <string.h>

#include "tests/scratch.h"

struct recorded_layer recorded;
struct kvr_plan recorded_plan;
struct kvr_room recorded_room;
struct kvr_trace *recorded_trace;
struct kvr_cell recorded_cell;

void recorded_start(void)
{
    static char name[] = "0";
    scratch_setup();
    memset(&recorded, 0, sizeof recorded);
    recorded.sample.name = name;
    recorded.sample.query_positions = recorded.positions;
    recorded_plan = kvr_plan_default();
    recorded_room = (struct kvr_room){0};
    recorded_trace = NULL;
}

void recorded_end(void)
{
    kvr_trace_close(recorded_trace);
    kvr_room_free(&recorded_room);
    kvr_plan_free(&recorded_plan);
    scratch_teardown();
}

void recorded_score(const char *text)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_plan_add_score(&recorded_plan, text, &err) == KVR_OK, "%s", err.message);
}

void recorded_policy_score(const char *text)
{
    char policy[64] = "own=";
    struct kvr_error err = KVR_ERROR_NONE;
    strncat(policy, text, sizeof policy - 16);
    strcat(policy, "/mean");
    struct kvr_plan *plan = &recorded_plan;
    ck_assert_msg(kvr_plan_add_policy(plan, policy, &err) == KVR_OK, "%s", err.message);
    ck_assert_msg(kvr_plan_settle(plan, NULL, 0, &err) == KVR_OK, "%s", err.message);
    ck_assert_str_eq(plan->scores[plan->score_count - 1].label, text);
    kvr_stages_free(&plan->policies[--plan->policy_count]); /* it has served */
    plan->use_count = 0;
}

void recorded_shape(uint32_t heads, uint32_t kv_heads, uint64_t tokens, uint64_t prompt,
                    size_t rows)
{
    struct kvr_sample *sample = &recorded.sample;
    ck_assert(heads <= REC_HEADS && tokens <= REC_TOKENS && rows <= REC_ROWS);
    sample->query_heads = heads;
    sample->kv_heads = kv_heads;
    sample->context_length = tokens;
    sample->prompt_length = prompt;
    sample->query_count = rows;
    for (size_t i = 0; i < rows; i++)
        recorded.positions[i] = tokens - rows + i;
    recorded.layer = made_layer(0, sample);
    recorded.attention = recorded.accumulated = recorded.gate = true;
}

/* The first `count` values of `pieces` pieces that lie `stride` apart. */
static const double *pack(const double *from, size_t pieces, size_t stride, size_t count)
{
    static double packed[REC_HEADS * REC_ROWS * REC_TOKENS];
    for (size_t i = 0; i < pieces; i++)
        memcpy(packed + i * count, from + i * stride, count * sizeof *packed);
    return packed;
}

static void write_rows(struct made_trace *made, enum kvr_element kind)
{
    static double packed[REC_HEADS * REC_ROWS * REC_TOKENS];
    size_t heads = recorded.sample.query_heads, rows = recorded.sample.query_count;
    size_t tokens = recorded.sample.context_length;
    for (size_t h = 0; h < heads; h++)
        memcpy(packed + h * rows * tokens, pack(recorded.rows[h][0], rows, REC_TOKENS, tokens),
               rows * tokens * sizeof *packed);
    made_trace_data(made, "attention", kind, heads, rows, tokens, packed);
}

/* [H_KV][N][width] */
static void write_vectors(struct made_trace *made, const char *name,
                          double vectors[REC_HEADS][REC_TOKENS][REC_WIDTH])
{
    static double packed[REC_HEADS * REC_TOKENS * REC_WIDTH];
    size_t heads = recorded.sample.kv_heads, tokens = recorded.sample.context_length;
    size_t size = tokens * recorded.width;
    for (size_t h = 0; h < heads; h++)
        memcpy(packed + h * size, pack(vectors[h][0], tokens, REC_WIDTH, recorded.width),
               size * sizeof *packed);
    made_trace_data(made, name, KVR_FLOAT, heads, tokens, recorded.width, packed);
}

void recorded_write(enum kvr_element kind)
{
    const struct kvr_sample *sample = &recorded.sample;
    size_t tokens = sample->context_length;
    struct made_trace made;
    kvr_trace_close(recorded_trace);
    made_trace_start(&made, "t.h5");
    made_trace_sample(&made, sample);
    made_trace_layer(&made, &recorded.layer);
    if (recorded.attention && sample->query_count > 0)
        write_rows(&made, kind);
    if (recorded.accumulated)
        made_trace_data(&made, "accumulated", KVR_DOUBLE, sample->query_heads, tokens, 0,
                        pack(recorded.sums[0], sample->query_heads, REC_TOKENS, tokens));
    if (recorded.gate)
        made_trace_data(&made, "scores/gate", KVR_DOUBLE, sample->kv_heads, tokens, 0,
                        pack(recorded.gates[0], sample->kv_heads, REC_TOKENS, tokens));
    if (recorded.width > 0) {
        write_vectors(&made, "key", recorded.keys);
        write_vectors(&made, "value", recorded.values);
    }
    recorded_trace = made_trace_finish(&made);
}

void recorded_load(uint32_t group)
{
    struct kvr_cell_key key = made_key(recorded_trace, 0, 0, group);
    kvr_room_reset(&recorded_room);
    made_load(&recorded_plan, recorded_trace, &key, &recorded_room, &recorded_cell);
}
