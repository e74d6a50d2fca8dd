/*
 * Run records side by side. It must not know what is compared.
 */
#include "analysis/run_facts.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/outfile.h"
#include "formats/json_reader.h"

enum { LARGEST_RECORD = 64 << 20 };

/* Options that change what a policy keeps or what a measure says. */
static const char *const agreeing[] = {
    "page_reduce", "tau", "alpha", "sinks", "entropy_window", "match", "nan",
};
enum { AGREEING = sizeof agreeing / sizeof *agreeing };

/* Where in which record. */
struct place {
    const char *path;
    const char *pointer;
    size_t input;
};

static enum kvr_status expected(const struct place *place, const char *member, const char *what,
                                struct kvr_error *err)
{
    kvr_fail(err, KVR_BAD_INPUT, "\"%s\": %s%zu/%s: expected %s", place->path, place->pointer,
             place->input, member, what);
    return kvr_hint(err, "replay the trace again: the record is not one of this version");
}

static const char *as_written(const struct kvr_json_value *value)
{
    if (value == NULL)
        return "";
    return value->kind == KVR_JSON_NULL ? "null" : value->text != NULL ? value->text : "";
}

static enum kvr_status keep_options(struct kvr_run_facts *facts,
                                    const struct kvr_json_value *options, struct kvr_error *err)
{
    facts->options = kvr_alloc(AGREEING, sizeof *facts->options, err);
    enum kvr_status status = facts->options != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < AGREEING; i++) {
        facts->options[i] = kvr_copy_string(as_written(kvr_json_member(options, agreeing[i])), err);
        status = facts->options[i] != NULL ? KVR_OK : KVR_NO_MEMORY;
    }
    return status;
}

static enum kvr_status check_options(const struct kvr_run_facts *facts, const char *path,
                                     const struct kvr_json_value *options, struct kvr_error *err)
{
    for (size_t i = 0; i < AGREEING; i++) {
        const char *found = as_written(kvr_json_member(options, agreeing[i]));
        if (strcmp(found, facts->options[i]) == 0)
            continue;
        kvr_fail(err, KVR_BAD_INPUT, "\"%s\": /options/%s: expected %s as in \"%s\", found %s",
                 path, agreeing[i], facts->options[i], facts->first, found);
        return kvr_hint(err, "policies are compared under the same options");
    }
    return KVR_OK;
}

/* A whole number, or null, which becomes 0, where that is allowed. */
static enum kvr_status read_whole(const struct place *place, const struct kvr_json_value *object,
                                  const char *member, bool or_null, uint64_t *number,
                                  struct kvr_error *err)
{
    const struct kvr_json_value *value = kvr_json_member(object, member);
    *number = 0;
    if (or_null && value != NULL && value->kind == KVR_JSON_NULL)
        return KVR_OK;
    if (value != NULL && value->kind == KVR_JSON_NUMBER &&
        kvr_parse_unsigned(value->text, 1, UINT64_MAX, number))
        return KVR_OK;
    return expected(place, member, "a whole number above 0", err);
}

/* The place of a sample's facts; cleared where it is new. */
static struct kvr_sample_facts *facts_of(struct kvr_run_facts *facts, const char *trace,
                                         const char *sample, struct kvr_error *err)
{
    size_t before = facts->samples.count, index = 0;
    if (kvr_names_pair(&facts->samples, trace, sample, &index, err) != KVR_OK)
        return NULL;
    void *grown = facts->facts;
    if (kvr_reserve(&grown, &facts->capacity, index + 1, sizeof *facts->facts, err) != KVR_OK)
        return NULL;
    facts->facts = grown;
    if (index == before)
        facts->facts[index] = (struct kvr_sample_facts){0};
    return &facts->facts[index];
}

static enum kvr_status add_sample(struct kvr_run_facts *facts, const struct place *place,
                                  const char *trace, const struct kvr_json_value *sample,
                                  struct kvr_error *err)
{
    struct kvr_sample_facts read;
    const char *name = kvr_json_member_string(sample, "name");
    if (name == NULL)
        return expected(place, "name", "the name of a sample", err);
    enum kvr_status status =
        read_whole(place, sample, "prompt_length", false, &read.prompt_length, err);
    if (status == KVR_OK)
        status = read_whole(place, sample, "head_dim", true, &read.head_dim, err);
    struct kvr_sample_facts *own = status == KVR_OK ? facts_of(facts, trace, name, err) : NULL;
    if (own == NULL)
        return status == KVR_OK ? KVR_NO_MEMORY : status;
    *own = read;
    return KVR_OK;
}

/* The same name must stand for the same file: one pair of name and checksum a name. */
static enum kvr_status add_trace(struct kvr_run_facts *facts, const struct place *place,
                                 const char *name, const struct kvr_json_value *input,
                                 struct kvr_error *err)
{
    const char *checksum = kvr_json_member_string(input, "fnv1a");
    if (checksum == NULL)
        checksum = kvr_json_member_string(input, "fnv1a_sampled");
    if (checksum == NULL)
        return expected(place, "fnv1a", "the checksum of a trace", err);
    size_t names = facts->traces.count, pairs = facts->inputs.count, index;
    enum kvr_status status = kvr_names_index(&facts->traces, name, &index, err);
    if (status == KVR_OK)
        status = kvr_names_pair(&facts->inputs, name, checksum, &index, err);
    if (status == KVR_OK && facts->traces.count == names && facts->inputs.count > pairs)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "\"%s\": %s%zu: \"%s\" is another file than the trace of that name in an "
                        "earlier folder",
                        place->path, place->pointer, place->input, name);
    return status;
}

static enum kvr_status add_input(struct kvr_run_facts *facts, struct place place,
                                 const struct kvr_json_value *input, struct kvr_error *err)
{
    const char *name = kvr_json_member_string(input, "name");
    if (name == NULL)
        return expected(&place, "name", "the name of a trace", err);
    enum kvr_status status = add_trace(facts, &place, name, input, err);
    const struct kvr_json_value *samples = kvr_json_member(input, "samples");
    if (status == KVR_OK && (samples == NULL || samples->kind != KVR_JSON_ARRAY))
        status = expected(&place, "samples", "a list of samples", err);
    for (const struct kvr_json_value *sample = status == KVR_OK ? samples->first : NULL;
         status == KVR_OK && sample != NULL; sample = sample->next)
        status = add_sample(facts, &place, name, sample, err);
    return status;
}

static enum kvr_status add_record(struct kvr_run_facts *facts, const char *path,
                                  const struct kvr_json_value *root, struct kvr_error *err)
{
    const struct kvr_json_value *options = kvr_json_member(root, "options");
    const struct kvr_json_value *inputs = kvr_json_member(root, "inputs");
    if (options == NULL || inputs == NULL || inputs->kind != KVR_JSON_ARRAY) {
        kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected options and inputs of a replay", path);
        return kvr_hint(err, "name the folder that kvreplay replay -o wrote");
    }
    enum kvr_status status = KVR_OK;
    if (facts->first == NULL) {
        facts->first = kvr_copy_string(path, err);
        status = facts->first != NULL ? keep_options(facts, options, err) : KVR_NO_MEMORY;
    } else {
        status = check_options(facts, path, options, err);
    }
    struct place place = {path, "/inputs/", 0};
    for (const struct kvr_json_value *input = inputs->first; status == KVR_OK && input != NULL;
         input = input->next, place.input++)
        status = add_input(facts, place, input, err);
    return status;
}

enum kvr_status kvr_run_facts_add(struct kvr_run_facts *facts, const char *folder,
                                  struct kvr_error *err)
{
    struct kvr_json_document document;
    char *path = kvr_join_path(folder, "run.json", err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_json_read(path, LARGEST_RECORD, &document, err);
    if (status == KVR_OK) {
        status = add_record(facts, path, document.root, err);
        kvr_json_free(&document);
    }
    free(path);
    return status;
}

const struct kvr_sample_facts *kvr_run_facts_sample(struct kvr_run_facts *facts, const char *trace,
                                                    const char *sample, struct kvr_error *err)
{
    const struct kvr_sample_facts *found = facts_of(facts, trace, sample, err);
    return found != NULL && found->prompt_length > 0 ? found : NULL;
}

void kvr_run_facts_free(struct kvr_run_facts *facts)
{
    kvr_names_free(&facts->samples);
    kvr_names_free(&facts->inputs);
    kvr_names_free(&facts->traces);
    for (size_t i = 0; facts->options != NULL && i < AGREEING; i++)
        free(facts->options[i]);
    free(facts->options);
    free(facts->facts);
    free(facts->first);
    *facts = (struct kvr_run_facts){0};
}
