/*
 * Loading and tokenising through llama.cpp. Its log is not shown: the first error in it becomes the
 * cause of ours; those after it are less and less particular.
 */
#include "traces/record-llama/model.h"

#include <errno.h>
#include <llama.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/memory.h"

static char complaint[256];

/* llama.cpp logs pieces of lines and whole lines, from the thread that called it. */
static void take_log(enum ggml_log_level level, const char *text, void *unused)
{
    (void)unused;
    if (level != GGML_LOG_LEVEL_ERROR || complaint[0] != '\0')
        return;
    snprintf(complaint, sizeof complaint, "%s", text);
    complaint[strcspn(complaint, "\n")] = '\0';
    kvr_make_printable(complaint);
}

const char *kvr_model_complaint(void)
{
    return complaint;
}

void kvr_model_forgive(void)
{
    complaint[0] = '\0';
}

const char *kvr_model_library(void)
{
    return llama_version();
}

/* llama.cpp would say no more than that it failed. */
static enum kvr_status check_file(const char *path, struct kvr_error *err)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected a GGUF file, found no regular file",
                        path);
    char magic[4] = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", path, strerror(errno));
    size_t length = fread(magic, 1, sizeof magic, file);
    fclose(file);
    if (length != sizeof magic || memcmp(magic, "GGUF", sizeof magic) != 0)
        return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": expected a GGUF file, found other content",
                        path);
    return KVR_OK;
}

/* The model's own name if the file holds one, else its architecture; then how it is quantised. */
static char *title_of(const struct llama_model *model, struct kvr_error *err)
{
    char name[256] = "", title[320];
    if (llama_model_meta_val_str(model, "general.name", name, sizeof name) <= 0 &&
        llama_model_meta_val_str(model, "general.architecture", name, sizeof name) <= 0)
        snprintf(name, sizeof name, "unnamed model");
    snprintf(title, sizeof title, "%s, %s", name, llama_ftype_name(llama_model_ftype(model)));
    kvr_make_printable(title);
    return kvr_copy_string(title, err);
}

/* Attention that a trace cannot say. */
static enum kvr_status check_kind(const struct kvr_model *model, struct kvr_error *err)
{
    char architecture[64] = "", key[128], value[32];
    llama_model_meta_val_str(model->handle, "general.architecture", architecture,
                             sizeof architecture);
    snprintf(key, sizeof key, "%s.attention.kv_lora_rank", architecture);
    const char *kind = NULL;
    if (!llama_model_has_decoder(model->handle) || llama_model_has_encoder(model->handle))
        kind = "an encoder";
    else if (strcmp(architecture, "llama4") == 0)
        kind = "Llama 4, whose rows see chunks instead of a window";
    else if (llama_model_meta_val_str(model->handle, key, value, sizeof value) > 0)
        kind = "latent attention, which has no KV heads";
    if (kind == NULL)
        return KVR_OK;
    return kvr_fail(err, KVR_UNSUPPORTED, "\"%s\": expected a decoder with KV heads, found %s",
                    model->path, kind);
}

static enum kvr_status read_facts(struct kvr_model *model, struct kvr_error *err)
{
    model->vocab = llama_model_get_vocab(model->handle);
    model->title = title_of(model->handle, err);
    if (model->title == NULL)
        return KVR_NO_MEMORY;
    int32_t context = llama_model_n_ctx_train(model->handle);
    int32_t window = llama_model_n_swa(model->handle);
    model->trained_context = context > 0 ? (uint64_t)context : 0;
    model->window = window > 0 ? (uint64_t)window : 0;
    return check_kind(model, err);
}

/* Whether the tokeniser puts a blank in front of a text. */
static enum kvr_status try_tokeniser(struct kvr_model *model, struct kvr_error *err)
{
    struct kvr_tokens tokens = {0};
    struct kvr_text text = {0};
    enum kvr_status status = kvr_model_tokenise(model, "a", 1, false, &tokens, err);
    if (status == KVR_OK && tokens.count > 0)
        status = kvr_model_piece(model, tokens.items[0], &text, err);
    model->puts_blank = text.length > 0 && text.data[0] == ' ';
    kvr_text_free(&text);
    free(tokens.items);
    return status;
}

enum kvr_status kvr_model_open(const char *path, uint32_t gpu_layers, struct kvr_model **out,
                               struct kvr_error *err)
{
    enum kvr_status status = check_file(path, err);
    if (status != KVR_OK)
        return status;
    struct kvr_model *model = kvr_alloc(1, sizeof *model, err);
    if (model == NULL)
        return KVR_NO_MEMORY;
    llama_log_set(take_log, NULL);
    llama_backend_init();
    struct llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = (int32_t)gpu_layers;
    kvr_model_forgive();
    model->path = kvr_copy_string(path, err);
    model->handle = model->path != NULL ? llama_model_load_from_file(path, params) : NULL;
    if (model->path == NULL)
        status = KVR_NO_MEMORY;
    else if (model->handle == NULL)
        status = kvr_fail(err, KVR_BAD_INPUT, "\"%s\": llama.cpp cannot load it%s%s", path,
                          complaint[0] != '\0' ? ": " : "", complaint);
    else
        status = read_facts(model, err);
    if (status == KVR_OK)
        status = try_tokeniser(model, err);
    if (status != KVR_OK) {
        kvr_model_close(model);
        return status;
    }
    *out = model;
    return KVR_OK;
}

void kvr_model_close(struct kvr_model *model)
{
    if (model == NULL)
        return;
    llama_model_free(model->handle);
    llama_backend_free();
    free(model->path);
    free(model->title);
    free(model);
}

static enum kvr_status reserve(struct kvr_tokens *tokens, size_t more, struct kvr_error *err)
{
    void *items = tokens->items;
    enum kvr_status status =
        kvr_reserve(&items, &tokens->capacity, tokens->count + more, sizeof *tokens->items, err);
    tokens->items = items;
    return status;
}

enum kvr_status kvr_tokens_add(struct kvr_tokens *tokens, int32_t token, struct kvr_error *err)
{
    enum kvr_status status = reserve(tokens, 1, err);
    if (status == KVR_OK)
        tokens->items[tokens->count++] = token;
    return status;
}

enum kvr_status kvr_model_tokenise(const struct kvr_model *model, const char *text, size_t length,
                                   bool markup, struct kvr_tokens *tokens, struct kvr_error *err)
{
    if (length > INT32_MAX)
        return kvr_fail(err, KVR_BAD_INPUT, "a text of %zu bytes is longer than any model reads",
                        length);
    if (length == 0)
        return KVR_OK;
    int32_t needed = llama_tokenize(model->vocab, text, (int32_t)length, NULL, 0, false, markup);
    if (needed == INT32_MIN)
        return kvr_fail(err, KVR_BAD_INPUT, "the text has more tokens than any model reads");
    size_t count = (size_t)(needed < 0 ? -needed : needed);
    enum kvr_status status = reserve(tokens, count, err);
    if (status != KVR_OK)
        return status;
    int32_t found = llama_tokenize(model->vocab, text, (int32_t)length,
                                   tokens->items + tokens->count, (int32_t)count, false, markup);
    if (found < 0)
        return kvr_fail(err, KVR_INTERNAL, "llama.cpp counts tokens differently each time");
    tokens->count += (size_t)found;
    return KVR_OK;
}

enum kvr_status kvr_model_begin(const struct kvr_model *model, struct kvr_tokens *tokens,
                                struct kvr_error *err)
{
    if (!llama_vocab_get_add_bos(model->vocab))
        return KVR_OK;
    return kvr_tokens_add(tokens, llama_vocab_bos(model->vocab), err);
}

enum kvr_status kvr_model_piece(const struct kvr_model *model, int32_t token, struct kvr_text *text,
                                struct kvr_error *err)
{
    char piece[512];
    int32_t length =
        llama_token_to_piece(model->vocab, token, piece, (int32_t)sizeof piece, 0, false);
    if (length < 0)
        return kvr_fail(err, KVR_UNSUPPORTED, "token %d reads as more than %zu bytes", token,
                        sizeof piece);
    kvr_text_bytes(text, piece, (size_t)length);
    return kvr_text_check(text, err);
}

bool kvr_model_ends(const struct kvr_model *model, int32_t token)
{
    return llama_vocab_is_eog(model->vocab, token);
}

enum kvr_status kvr_model_chat(const struct kvr_model *model, char **before, char **after,
                               struct kvr_error *err)
{
    static const char mark[] = "-user-text-";
    const char *template = llama_model_chat_template(model->handle, NULL);
    if (template == NULL)
        return kvr_fail(err, KVR_UNSUPPORTED, "\"%s\": it has no chat template", model->path);
    const struct llama_chat_message message = {.role = "user", .content = mark};
    char text[4096];
    int32_t length =
        llama_chat_apply_template(template, &message, 1, true, text, (int32_t)sizeof text - 1);
    if (length < 0 || length >= (int32_t)sizeof text)
        return kvr_fail(err, KVR_UNSUPPORTED, "\"%s\": llama.cpp does not know its chat template",
                        model->path);
    text[length] = '\0';
    const char *at = strstr(text, mark);
    if (at == NULL)
        return kvr_fail(err, KVR_UNSUPPORTED,
                        "\"%s\": its chat template changes the text of the user", model->path);
    *before = kvr_copy_bytes(text, (size_t)(at - text), err);
    *after = kvr_copy_string(at + sizeof mark - 1, err);
    if (*before != NULL && *after != NULL)
        return KVR_OK;
    free(*before);
    free(*after);
    *before = *after = NULL;
    return KVR_NO_MEMORY;
}
