/*
 * `kvreplay scaling`: the closed-form table of corollary 2, with mean pooling beside it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/scaling.h"
#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/table.h"
#include "replay/cli/command.h"

static const char default_contexts[] = "4096,8192,16384,32768,65536,131072,262144,524288,1048576";

static const struct kvr_option options[] = {
    {"--context", "LIST", "contexts T in tokens (4096 and its doubles up to 1048576)"},
    {"--ratio", "R", "query heads of a group, at least 2 (8)"},
    {"--tau", "X", "temperature (0.5)"},
    {"--mass", "X", "1 - eps: the owner's value at the needle's peak (0.95)"},
    {"--support", "X", "effective tokens of the owner, exp(eta) (2)"},
    {"--slack", "X", "c: nats that siblings lack to full entropy (0)"},
    {"--sinks", "S", "first tokens that are isolated (4)"},
    {"--csv", NULL, "writes CSV instead of a page"},
    {NULL, NULL, NULL},
};

struct request {
    struct kvr_scaling scaling;
    double support;
    size_t context_count;
    uint64_t *contexts;
    bool csv;
};

static enum kvr_status read_contexts(const char *text, struct request *request,
                                     struct kvr_error *err)
{
    char **items = NULL;
    size_t count = 0;
    enum kvr_status status =
        kvr_argument_list("--context", text != NULL ? text : default_contexts, &items, &count, err);
    if (status == KVR_OK) {
        request->contexts = kvr_alloc(count, sizeof *request->contexts, err);
        request->context_count = count;
        status = request->contexts == NULL ? KVR_NO_MEMORY : KVR_OK;
    }
    for (size_t i = 0; status == KVR_OK && i < count; i++)
        status = kvr_argument_unsigned("--context", items[i], request->scaling.sinks + 1,
                                       UINT64_C(1) << 50, &request->contexts[i], err);
    free(items);
    return status;
}

static enum kvr_status read_request(const struct kvr_command *command,
                                    const struct kvr_arguments *arguments, struct request *request,
                                    struct kvr_error *err)
{
    struct kvr_scaling *scaling = &request->scaling;
    *scaling = (struct kvr_scaling){.ratio = 8, .sinks = 4, .tau = 0.5, .owner_mass = 0.95};
    request->support = 2;
    request->csv = kvr_argument(command, arguments, "--csv") != NULL;
    const struct {
        const char *name;
        double least, most, *value;
    } numbers[] = {
        {"--tau", 1e-6, 1e6, &scaling->tau},
        {"--mass", 0, 1, &scaling->owner_mass},
        {"--support", 1, 1e12, &request->support},
        {"--slack", 0, 1e3, &scaling->slack},
    };
    enum kvr_status status = kvr_argument_unsigned(
        "--ratio", kvr_argument(command, arguments, "--ratio"), 2, 1024, &scaling->ratio, err);
    if (status == KVR_OK)
        status = kvr_argument_unsigned("--sinks", kvr_argument(command, arguments, "--sinks"), 0,
                                       UINT32_MAX, &scaling->sinks, err);
    for (size_t i = 0; status == KVR_OK && i < sizeof numbers / sizeof *numbers; i++)
        status =
            kvr_argument_double(numbers[i].name, kvr_argument(command, arguments, numbers[i].name),
                                numbers[i].least, numbers[i].most, numbers[i].value, err);
    scaling->owner_entropy = log(request->support);
    return status == KVR_OK
               ? read_contexts(kvr_argument(command, arguments, "--context"), request, err)
               : status;
}

static void print_page(const struct request *request)
{
    const struct kvr_scaling *scaling = &request->scaling;
    printf("Corollary 2: P(t*) >= 1-eps - Delta under entropy pooling\n"
           "  r = %" PRIu64 ", tau = %g, 1-eps = %g, eta = ln %g, c = %g, %" PRIu64 " sinks\n\n"
           "  %10s%12s%12s%16s%14s\n",
           scaling->ratio, scaling->tau, scaling->owner_mass, request->support, scaling->slack,
           scaling->sinks, "T", "D", "Delta", "bound", "mean pooling");
    for (size_t i = 0; i < request->context_count; i++) {
        struct kvr_scaling_row row = kvr_scaling_at(scaling, request->contexts[i]);
        printf("  %10" PRIu64 "%12.2e%12.2e%16.12f%14.5f\n", request->contexts[i], row.siblings,
               row.delta, row.bound, row.mean);
    }
    printf("\nMean pooling's value is that of siblings with nothing on the needle.\n");
}

static enum kvr_status print_csv(const struct request *request, struct kvr_error *err)
{
    struct kvr_text text = {0};
    kvr_text_string(&text, "context,ratio,tau,owner_mass,owner_entropy,slack,siblings,delta,bound,"
                           "mean\n");
    for (size_t i = 0; i < request->context_count; i++) {
        const struct kvr_scaling *scaling = &request->scaling;
        struct kvr_scaling_row row = kvr_scaling_at(scaling, request->contexts[i]);
        const double figures[] = {scaling->tau,
                                  scaling->owner_mass,
                                  scaling->owner_entropy,
                                  scaling->slack,
                                  row.siblings,
                                  row.delta,
                                  row.bound,
                                  row.mean};
        kvr_text_unsigned(&text, request->contexts[i]);
        kvr_csv_unsigned(&text, scaling->ratio);
        for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
            kvr_csv_exact(&text, figures[f]);
        kvr_csv_end(&text);
    }
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        fwrite(text.data, 1, text.length, stdout);
    kvr_text_free(&text);
    return status;
}

static int run(const struct kvr_command *command, const struct kvr_arguments *arguments,
               struct kvr_error *err)
{
    struct request request = {0};
    enum kvr_status status = read_request(command, arguments, &request, err);
    if (status == KVR_OK && request.csv)
        status = print_csv(&request, err);
    else if (status == KVR_OK)
        print_page(&request);
    free(request.contexts);
    return kvr_exit_status(status);
}

extern const struct kvr_command kvr_command_scaling;

const struct kvr_command kvr_command_scaling = {
    .name = "scaling",
    .operands = "",
    .summary = "what entropy pooling promises a needle as the context grows (corollary 2)",
    .text =
        "One head of a group owns a needle: its largest value there is 1 - eps, its entropy eta. "
        "The siblings' entropies fall short of ln(T - S) by c. Then the entropy-pooled value is "
        "at least 1 - eps - Delta, with Delta = (1 - eps) D / (C + D), C = exp(-eta/tau) and "
        "D = (r - 1) exp(c/tau) (T - S)^(-1/tau). \"kvreplay ablate\" shows how often recorded "
        "heads are like that.",
    .options = options,
    .run = run,
};
