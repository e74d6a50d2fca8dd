/*
 * Head profiles. It must not know how rows are written, or about the broad part's field.
 */
#include "traces/synth_heads.h"

#include <math.h>

#include "formats/base/random.h"

/* Random numbers of heads do not depend on the sample: a head is what it is. */
static const uint64_t heads_part = UINT64_C(0x6865616473); /* "heads" */
static const uint64_t damage_part = UINT64_C(0x64616d616765);

/* The first token takes most, as in trained models. */
static const double sink_shares[KVR_SYNTH_SINKS] = {0.7, 0.15, 0.1, 0.05};

/* Beyond this many widths the local part is below the resolution of any element type. */
static const double local_reach = 36;

/* What the owner of a needle looks at with `premise`. */
static const double premise_needle = 0.95, premise_sink = 0.01;

/* A decode row's share on the needle token that it repeats; the rest goes to all needle tokens. */
static const double copied_share = 0.7;

const char *kvr_head_kind_name(enum kvr_head_kind kind)
{
    static const char *const names[] = {"sink", "retrieval", "local", "diffuse"};
    return names[kind];
}

/*
 * The kinds take turns, from a random one on in each layer, so that a group mixes them. Retrieval
 * heads are rare in models: every other group has none.
 */
enum kvr_head_kind kvr_synth_head_kind(const struct kvr_synth_options *options, uint32_t layer,
                                       uint32_t head)
{
    uint32_t query_heads, kv_heads;
    kvr_synth_layer_heads(options, layer, &query_heads, &kv_heads);
    uint32_t ratio = query_heads / kv_heads, group = head / ratio;
    if (options->premise)
        return head % ratio == (layer + group) % ratio ? KVR_KIND_RETRIEVAL : KVR_KIND_DIFFUSE;
    struct kvr_random random = kvr_random_stream(kvr_synth_key(options->seed, heads_part), layer);
    enum kvr_head_kind kind = (enum kvr_head_kind)((head + kvr_random_below(&random, 4)) % 4);
    if (kind == KVR_KIND_RETRIEVAL && (layer + group) % 2 != 0)
        return KVR_KIND_DIFFUSE;
    return kind;
}

static double between(struct kvr_random *random, double least, double most)
{
    return least + (most - least) * kvr_random_uniform(random);
}

static enum kvr_synth_damage choose_damage(const struct kvr_synth_plan *plan, uint64_t key)
{
    struct kvr_random random = kvr_random_stream(key, damage_part + plan->sample_number);
    if (kvr_random_uniform(&random) >= plan->options->nan_fraction)
        return KVR_DAMAGE_NONE;
    return (enum kvr_synth_damage)(KVR_DAMAGE_EARLY + kvr_random_below(&random, 3));
}

struct kvr_synth_head kvr_synth_head(const struct kvr_synth_plan *plan, uint32_t number)
{
    uint32_t layer = plan->layer.number;
    uint64_t layer_key = kvr_synth_key(kvr_synth_key(plan->options->seed, heads_part), layer);
    uint64_t key = kvr_synth_key(layer_key, 1 + (uint64_t)number);
    struct kvr_random random = kvr_random_stream(key, 0);
    struct kvr_synth_head head = {.kind = kvr_synth_head_kind(plan->options, layer, number)};
    bool sink = head.kind == KVR_KIND_SINK, local = head.kind == KVR_KIND_LOCAL;
    head.sink = sink ? between(&random, 0.65, 0.9) : between(&random, 0.03, 0.2);
    head.local = local ? between(&random, 0.5, 0.75) : between(&random, 0.01, 0.05);
    head.needle = head.kind == KVR_KIND_RETRIEVAL ? between(&random, 0.5, 0.7) : 0;
    head.width = between(&random, 3, 24);
    head.leak = plan->options->sink_logits ? between(&random, 0.05, 0.6) : 0;
    head.damage = choose_damage(plan, key);
    if (plan->options->premise) {
        head.local = 0;
        if (head.kind == KVR_KIND_RETRIEVAL) {
            head.sink = premise_sink;
            head.needle = premise_needle;
        }
    }
    return head;
}

/* What a row sees of the few tokens that parts lie on. */

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
    uint64_t low = start > from ? start : from;
    uint64_t high = end < to ? end : to;
    return high > low ? high - low : 0;
}

static uint64_t visible_needle_tokens(const struct kvr_synth_plan *plan, uint64_t first,
                                      uint64_t position)
{
    uint64_t count = 0;
    for (size_t i = 0; i < plan->sample.needle_count; i++)
        count += overlap(plan->sample.needles[i].start, plan->sample.needles[i].end, first,
                         position + 1);
    return count;
}

static bool asks(const struct kvr_synth_plan *plan, uint64_t position)
{
    return plan->options->premise || position + KVR_SYNTH_ASKING_ROWS >= plan->sample.prompt_length;
}

struct kvr_synth_masses kvr_synth_row_masses(const struct kvr_synth_plan *plan,
                                             const struct kvr_synth_head *head, uint64_t position)
{
    uint64_t first = kvr_synth_first_visible(plan, position), pad = plan->sample.pad;
    double whole = 1 - head->leak;
    struct kvr_synth_masses masses = {.local = whole * head->local};
    if (overlap(pad, pad + KVR_SYNTH_SINKS, first, position + 1) > 0)
        masses.sink = whole * head->sink;
    if (head->needle > 0 && asks(plan, position) &&
        visible_needle_tokens(plan, first, position) > 0)
        masses.needle = whole * head->needle;
    masses.broad = whole - masses.sink - masses.local - masses.needle;
    return masses;
}

/* The columns of one row that a call adds to. */
struct span_of_row {
    uint64_t position, first; /* the row sees first … position */
    uint64_t start, end;      /* columns wanted */
    double *values;           /* of column start */
};

static void add_at(const struct span_of_row *row, uint64_t column, double mass)
{
    if (column >= row->start && column < row->end)
        row->values[column - row->start] += mass;
}

static void add_sinks(const struct kvr_synth_plan *plan, const struct span_of_row *row, double mass)
{
    double total = 0;
    for (uint64_t i = 0; i < KVR_SYNTH_SINKS; i++)
        if (plan->sample.pad + i >= row->first && plan->sample.pad + i <= row->position)
            total += sink_shares[i];
    for (uint64_t i = 0; i < KVR_SYNTH_SINKS; i++)
        if (plan->sample.pad + i >= row->first && plan->sample.pad + i <= row->position)
            add_at(row, plan->sample.pad + i, mass * sink_shares[i] / total);
}

/* Decode row j repeats needle token j, of one needle after the other; UINT64_MAX if none. */
static uint64_t copied_token(const struct kvr_synth_plan *plan, const struct span_of_row *row)
{
    if (row->position < plan->sample.prompt_length)
        return UINT64_MAX;
    uint64_t j = row->position - plan->sample.prompt_length;
    uint64_t length = plan->options->needle_length;
    const struct kvr_span *needle = &plan->sample.needles[j / length % plan->sample.needle_count];
    uint64_t token = needle->start + j % length;
    return token >= row->first ? token : UINT64_MAX;
}

/* With `premise` a prompt row looks at one token of the needle, if it sees it. */
static bool add_peak(const struct kvr_synth_plan *plan, const struct span_of_row *row, double mass)
{
    const struct kvr_span *needle = &plan->sample.needles[0];
    uint64_t peak = needle->start + (needle->end - needle->start) / 2;
    if (!plan->options->premise || row->position >= plan->sample.prompt_length ||
        peak < row->first || peak > row->position)
        return false;
    add_at(row, peak, mass);
    return true;
}

static void add_needles(const struct kvr_synth_plan *plan, const struct span_of_row *row,
                        double mass)
{
    if (add_peak(plan, row, mass))
        return;
    uint64_t copied = copied_token(plan, row);
    if (copied != UINT64_MAX) {
        add_at(row, copied, mass * copied_share);
        mass -= mass * copied_share;
    }
    double each = mass / (double)visible_needle_tokens(plan, row->first, row->position);
    for (size_t i = 0; i < plan->sample.needle_count; i++) {
        const struct kvr_span *needle = &plan->sample.needles[i];
        for (uint64_t t = needle->start; t < needle->end; t++)
            if (t >= row->first && t <= row->position)
                add_at(row, t, each);
    }
}

/*
 * exp(-distance / width), normalised over what is visible within reach. With ties, the same for
 * each of the last `width` tokens: a decay would set all values apart.
 */
static void add_local(const struct kvr_synth_plan *plan, const struct kvr_synth_head *head,
                      const struct span_of_row *row, double mass)
{
    bool even = plan->options->ties;
    double ratio = even ? 1 : exp(-1 / head->width);
    uint64_t reach = (uint64_t)ceil((even ? 1 : local_reach) * head->width);
    uint64_t seen = row->position - row->first + 1;
    reach = seen < reach ? seen : reach;
    uint64_t low = row->position + 1 - reach;
    uint64_t high = row->position + 1 < row->end ? row->position + 1 : row->end;
    if (low < row->start)
        low = row->start;
    if (high <= low)
        return;
    double peak =
        even ? mass / (double)reach : mass * (1 - ratio) / (1 - pow(ratio, (double)reach));
    double value = peak * pow(ratio, (double)(row->position - (high - 1)));
    for (uint64_t t = high; t-- > low; value *= ratio)
        row->values[t - row->start] += value;
}

double kvr_synth_expected_local(const struct kvr_synth_plan *plan,
                                const struct kvr_synth_head *head, uint64_t rows)
{
    double mass = (1 - head->leak) * head->local;
    if (!plan->options->ties)
        return mass * (1 - exp(-(double)rows / head->width));
    double reach = ceil(head->width);
    return mass * ((double)rows < reach ? (double)rows / reach : 1);
}

static void add_all(const struct kvr_synth_plan *plan, const struct kvr_synth_head *head,
                    const struct span_of_row *row, bool with_local)
{
    struct kvr_synth_masses masses = kvr_synth_row_masses(plan, head, row->position);
    if (masses.sink > 0)
        add_sinks(plan, row, masses.sink);
    if (masses.needle > 0)
        add_needles(plan, row, masses.needle);
    if (with_local)
        add_local(plan, head, row, masses.local);
}

static struct span_of_row span_of(const struct kvr_synth_plan *plan, uint64_t position,
                                  uint64_t start, uint64_t end)
{
    return (struct span_of_row){
        .position = position,
        .first = kvr_synth_first_visible(plan, position),
        .start = start,
        .end = end,
    };
}

void kvr_synth_add_parts(const struct kvr_synth_plan *plan, const struct kvr_synth_head *head,
                         uint64_t position, uint64_t start, uint64_t end, double *values)
{
    struct span_of_row row = span_of(plan, position, start, end);
    row.values = values;
    add_all(plan, head, &row, true);
}

void kvr_synth_add_points(const struct kvr_synth_plan *plan, const struct kvr_synth_head *head,
                          uint64_t position, double *values)
{
    struct span_of_row row = span_of(plan, position, 0, plan->sample.context_length);
    row.values = values;
    add_all(plan, head, &row, false);
}

bool kvr_synth_row_damaged(const struct kvr_synth_plan *plan, const struct kvr_synth_head *head,
                           size_t row)
{
    size_t prefill = plan->prefill_rows;
    switch (head->damage) {
    case KVR_DAMAGE_NONE:
        return false;
    case KVR_DAMAGE_EARLY:
        return prefill > 1 && row == (prefill - 1) / 2;
    case KVR_DAMAGE_LAST:
        return prefill > 0 && row == prefill - 1;
    case KVR_DAMAGE_ALL:
        return true;
    }
    return false;
}
