/*
 * kvreplay quota: what each layer may hold of a total budget. The rule is in
 * replay/layer_quota.h; here it is asked for and laid out.
 */
#include <inttypes.h>

#include "formats/json.h"
#include "replay/cli/command.h"
#include "replay/cli/readable.h"
#include "replay/layer_quota.h"

static const struct kvr_option options[] = {
    {"--layers", "L", "layers that share the budget (required)"},
    {"--kv-heads", "H", "KV heads of a layer (required)"},
    {"--page", "B", "tokens of a page, 1 for tokens (required)"},
    {"--budget", "TOKENS", "tokens to hold, over all layers and KV heads (required)"},
    {"--json", NULL, "write one JSON object instead of a page"},
    {NULL, NULL, NULL},
};

struct request {
    uint64_t layers, kv_heads, page, budget;
};

static enum kvr_status read_request(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments, struct request *request,
                                    struct kvr_error *err)
{
    const struct {
        const char *name;
        uint64_t least, *value;
    } numbers[] = {
        {"--layers", 1, &request->layers},
        {"--kv-heads", 1, &request->kv_heads},
        {"--page", 1, &request->page},
        {"--budget", 0, &request->budget},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = kvr_argument(command, arguments, numbers[i].name);
        if (text == NULL) {
            kvr_fail(err, KVR_BAD_ARGUMENT, "%s is missing", numbers[i].name);
            return kvr_hint(err,
                            "kvreplay quota --layers 32 --kv-heads 8 --page 16 --budget 32768");
        }
        uint64_t most = i == 0 ? 1000000 : UINT64_MAX; /* every layer is listed in JSON */
        enum kvr_status status = kvr_argument_unsigned(numbers[i].name, text, numbers[i].least,
                                                       most, numbers[i].value, err);
        if (status != KVR_OK)
            return status;
    }
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ page */

static void add_count(struct kvr_text *text, uint64_t count, const char *noun)
{
    kvr_text_thousands(text, count);
    kvr_text_add(text, " %s%s", noun, count == 1 ? "" : "s");
}

/* "9 pages in layers 0-16" */
static void add_layers(struct kvr_text *page, uint64_t pages, uint64_t first, uint64_t end)
{
    add_count(page, pages, "page");
    if (end - first == 1)
        kvr_text_add(page, " in layer %" PRIu64, first);
    else
        kvr_text_add(page, " in layers %" PRIu64 "-%" PRIu64, first, end - 1);
}

static void add_quotas(struct kvr_text *page, const struct kvr_layer_quota *quota)
{
    kvr_text_string(page, "\n  floor quota        ");
    add_count(page, quota->floor_pages, "page");
    kvr_text_string(page, " in every layer, ");
    add_count(page, quota->floor_budget, "token");
    kvr_text_string(page, "\n  largest remainder  ");
    if (quota->larger > 0) {
        add_layers(page, quota->floor_pages + 1, 0, quota->larger);
        kvr_text_add(page, " (%" PRIu64 "), ", quota->larger);
    }
    add_layers(page, quota->floor_pages, quota->larger, quota->layers);
    kvr_text_add(page, " (%" PRIu64 ")", quota->layers - quota->larger);
}

static void add_conservation(struct kvr_text *page, const struct kvr_layer_quota *quota)
{
    kvr_text_string(page, "\n  conserved exactly  ");
    kvr_text_string(page, quota->conserved ? "yes: " : "no: ");
    kvr_text_thousands(page, quota->page_tokens);
    kvr_text_string(page, quota->conserved ? " divides " : " does not divide ");
    kvr_text_thousands(page, quota->budget);
    kvr_text_string(page, "\n");
}

static void add_page(struct kvr_text *page, const struct request *request,
                     const struct kvr_layer_quota *quota)
{
    add_count(page, request->budget, "token");
    kvr_text_string(page, " over ");
    add_count(page, request->layers, "layer");
    kvr_text_string(page, " of ");
    add_count(page, request->kv_heads, "KV head");
    kvr_text_string(page, ", pages of ");
    add_count(page, request->page, "token");
    kvr_text_string(page, "\n\n  smallest share     ");
    add_count(page, quota->page_tokens, "token");
    kvr_text_string(page, ": one page in every KV head of one layer");
    add_quotas(page, quota);
    kvr_text_string(page, "\n  aligned budget     ");
    add_count(page, quota->aligned, "token");
    kvr_text_string(page, ", ");
    add_count(page, quota->pages, "page");
    kvr_text_string(page, " of every KV head");
    kvr_text_string(page, "\n  residual           ");
    add_count(page, quota->residual, "token");
    if (quota->budget > 0)
        kvr_text_add(page, ", %.3g %% of the budget",
                     100 * (double)quota->residual / (double)quota->budget);
    add_conservation(page, quota);
}

/* ------------------------------------------------------------------------------ JSON */

static void add_json(struct kvr_text *text, const struct request *request,
                     const struct kvr_layer_quota *quota)
{
    struct kvr_json writer = {.text = text}, *json = &writer;
    kvr_json_object(json, NULL);
    kvr_json_unsigned(json, "layers", request->layers);
    kvr_json_unsigned(json, "kv_heads", request->kv_heads);
    kvr_json_unsigned(json, "page", request->page);
    kvr_json_unsigned(json, "budget", request->budget);
    kvr_json_unsigned(json, "page_tokens", quota->page_tokens);
    kvr_json_unsigned(json, "floor_pages", quota->floor_pages);
    kvr_json_unsigned(json, "floor_budget", quota->floor_budget);
    kvr_json_unsigned(json, "larger_layers", quota->larger);
    kvr_json_unsigned(json, "aligned", quota->aligned);
    kvr_json_unsigned(json, "residual", quota->residual);
    kvr_json_bool(json, "conserved", quota->conserved);
    kvr_json_list(json, "pages_by_layer");
    for (uint64_t l = 0; l < quota->layers; l++)
        kvr_json_unsigned(json, NULL, kvr_layer_quota_pages(quota, l));
    kvr_json_end(json);
    kvr_json_end(json);
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct request request = {0};
    struct kvr_layer_quota quota;
    struct kvr_text text = {0};
    enum kvr_status status = read_request(command, arguments, &request, err);
    if (status == KVR_OK)
        status = kvr_layer_quota_of(request.layers, request.kv_heads, request.page, request.budget,
                                    &quota, err);
    if (status == KVR_OK) {
        if (kvr_argument(command, arguments, "--json") != NULL)
            add_json(&text, &request, &quota);
        else
            add_page(&text, &request, &quota);
        status = kvr_text_check(&text, err);
    }
    if (status == KVR_OK)
        fwrite(text.data, 1, text.length, stdout);
    kvr_text_free(&text);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_quota;

const struct kvr_command kvr_command_quota = {
    .name = "quota",
    .operands = "",
    .summary = "shares a total budget out among layers, in whole pages",
    .text = "Every KV head of a layer holds as many pages, so that the smallest amount that can be "
            "given out is H * B tokens. The floor quota is the same in every layer; the largest "
            "remainder method gives what it leaves, page by page, to the first layers. The budget "
            "is conserved exactly if and only if H * B divides it; else the residual is lost "
            "(arXiv 2610.03135, eq. 15 and prop. 3).",
    .least_operands = 0,
    .most_operands = 0,
    .options = options,
    .run = run,
};
