/*
 * Writes a small model of random weights in GGUF format, to try the recorder where no model is at
 * hand: tiny_model KIND FILE. "gemma2" has layers with a sliding window and capped logits,
 * "gpt-oss" has windows, sink logits and experts, "llama" nothing special. A token is a byte.
 */
#include <ggml.h>
#include <gguf.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAYERS = 4,
    WIDTH = 64,
    QUERY_HEADS = 4,
    KV_HEADS = 2,
    HEAD_DIM = 32,
    INNER = 96,
    EXPERTS = 2,
    SPECIAL = 3, /* <unk>, <s>, </s> */
    BLANK = SPECIAL + 256,
    WORDS
};

struct tiny {
    const char *kind;
    struct gguf_context *file;
    struct ggml_context *tensors;
    uint64_t state;
};

/* Uniform in (0, 1). */
static double uniform(struct tiny *tiny)
{
    tiny->state = tiny->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(tiny->state >> 33) + 0.5) / 0x1p31;
}

static float normal(struct tiny *tiny)
{
    double a = uniform(tiny), b = uniform(tiny);
    return (float)(sqrt(-2 * log(a)) * cos(6.283185307179586 * b));
}

/* A tensor of normal values around `mean`; ne1 and ne2 are 0 where it has fewer dimensions. */
static void add(struct tiny *tiny, const char *name, int64_t ne0, int64_t ne1, int64_t ne2,
                float mean, float spread)
{
    const int64_t ne[3] = {ne0, ne1 > 0 ? ne1 : 1, ne2 > 0 ? ne2 : 1};
    int dimensions = ne2 > 0 ? 3 : ne1 > 0 ? 2 : 1;
    struct ggml_tensor *tensor = ggml_new_tensor(tiny->tensors, GGML_TYPE_F32, dimensions, ne);
    float *values = tensor->data;
    for (int64_t i = 0; i < ne[0] * ne[1] * ne[2]; i++)
        values[i] = mean + spread * normal(tiny);
    ggml_set_name(tensor, name);
    gguf_add_tensor(tiny->file, tensor);
}

static void add_to_layer(struct tiny *tiny, int layer, const char *part, int64_t ne0, int64_t ne1,
                         int64_t ne2, float mean, float spread)
{
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s", layer, part);
    add(tiny, name, ne0, ne1, ne2, mean, spread);
}

static void add_norm(struct tiny *tiny, int layer, const char *part)
{
    add_to_layer(tiny, layer, part, WIDTH, 0, 0, 1, 0);
}

/* Where query, key and value are one matrix, llama.cpp wants heads that fill the width. */
static uint32_t head_dim(const struct tiny *tiny)
{
    return strcmp(tiny->kind, "mpt") == 0 ? WIDTH / QUERY_HEADS : HEAD_DIM;
}

static void set_number(struct tiny *tiny, const char *key, uint32_t value)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", tiny->kind, key);
    gguf_set_val_u32(tiny->file, name, value);
}

static void set_float(struct tiny *tiny, const char *key, float value)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", tiny->kind, key);
    gguf_set_val_f32(tiny->file, name, value);
}

static void write_words(struct tiny *tiny)
{
    static char text[WORDS][8];
    static const char *words[WORDS];
    static float scores[WORDS];
    static int32_t types[WORDS];
    enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };
    static const char *const special[SPECIAL] = {"<unk>", "<s>", "</s>"};
    for (int i = 0; i < WORDS; i++) {
        if (i < SPECIAL)
            snprintf(text[i], sizeof text[i], "%s", special[i]);
        else if (i == BLANK)
            snprintf(text[i], sizeof text[i], "\xe2\x96\x81");
        else
            snprintf(text[i], sizeof text[i], "<0x%02X>", (unsigned)(i - SPECIAL) & 255U);
        types[i] = i == 0 ? UNKNOWN : i < SPECIAL ? CONTROL : i == BLANK ? NORMAL : BYTE;
        words[i] = text[i];
    }
    gguf_set_val_str(tiny->file, "tokenizer.ggml.model", "llama");
    gguf_set_arr_str(tiny->file, "tokenizer.ggml.tokens", words, WORDS);
    gguf_set_arr_data(tiny->file, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores, WORDS);
    gguf_set_arr_data(tiny->file, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types, WORDS);
    gguf_set_val_u32(tiny->file, "tokenizer.ggml.unknown_token_id", 0);
    gguf_set_val_u32(tiny->file, "tokenizer.ggml.bos_token_id", 1);
    gguf_set_val_u32(tiny->file, "tokenizer.ggml.eos_token_id", 2);
}

static void write_facts(struct tiny *tiny)
{
    gguf_set_val_str(tiny->file, "general.architecture", tiny->kind);
    gguf_set_val_str(tiny->file, "general.name", "Tiny");
    gguf_set_val_u32(tiny->file, "general.file_type", 0);
    set_number(tiny, "block_count", LAYERS);
    set_number(tiny, "context_length", 2048);
    set_number(tiny, "embedding_length", WIDTH);
    set_number(tiny, "feed_forward_length", INNER);
    set_number(tiny, "attention.head_count", QUERY_HEADS);
    set_number(tiny, "attention.head_count_kv", KV_HEADS);
    set_number(tiny, "attention.key_length", head_dim(tiny));
    set_number(tiny, "attention.value_length", head_dim(tiny));
    set_number(tiny, "rope.dimension_count", head_dim(tiny));
    set_float(tiny, "attention.layer_norm_rms_epsilon", 1e-6F);
    set_float(tiny, "rope.freq_base", 10000);
    if (strcmp(tiny->kind, "gemma2") == 0) {
        set_number(tiny, "attention.sliding_window", 48);
        set_float(tiny, "attn_logit_softcapping", 20);
        set_float(tiny, "final_logit_softcapping", 30);
    } else if (strcmp(tiny->kind, "mpt") == 0) {
        set_float(tiny, "attention.layer_norm_epsilon", 1e-5F);
        set_float(tiny, "attention.max_alibi_bias", 8);
    } else if (strcmp(tiny->kind, "gpt-oss") == 0) {
        set_number(tiny, "attention.sliding_window", 40);
        set_number(tiny, "expert_count", EXPERTS);
        set_number(tiny, "expert_used_count", 1);
        set_number(tiny, "expert_feed_forward_length", INNER);
    }
}

static void add_attention(struct tiny *tiny, int layer)
{
    const int64_t query = QUERY_HEADS * head_dim(tiny), key = KV_HEADS * head_dim(tiny);
    add_norm(tiny, layer, "attn_norm.weight");
    if (strcmp(tiny->kind, "mpt") == 0) {
        add_to_layer(tiny, layer, "attn_qkv.weight", WIDTH, query + 2 * key, 0, 0, 0.25F);
        add_to_layer(tiny, layer, "attn_output.weight", query, WIDTH, 0, 0, 0.1F);
        return;
    }
    add_to_layer(tiny, layer, "attn_q.weight", WIDTH, query, 0, 0, 0.25F);
    add_to_layer(tiny, layer, "attn_k.weight", WIDTH, key, 0, 0, 0.25F);
    add_to_layer(tiny, layer, "attn_v.weight", WIDTH, key, 0, 0, 0.2F);
    add_to_layer(tiny, layer, "attn_output.weight", query, WIDTH, 0, 0, 0.1F);
}

static void add_experts(struct tiny *tiny, int layer)
{
    const int64_t query = QUERY_HEADS * head_dim(tiny), key = KV_HEADS * head_dim(tiny);
    add_to_layer(tiny, layer, "attn_q.bias", query, 0, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "attn_k.bias", key, 0, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "attn_v.bias", key, 0, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "attn_output.bias", WIDTH, 0, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "attn_sinks.weight", QUERY_HEADS, 0, 0, 2, 1);
    add_norm(tiny, layer, "post_attention_norm.weight");
    add_to_layer(tiny, layer, "ffn_gate_inp.weight", WIDTH, EXPERTS, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_gate_inp.bias", EXPERTS, 0, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_gate_exps.weight", WIDTH, INNER, EXPERTS, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_gate_exps.bias", INNER, EXPERTS, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_up_exps.weight", WIDTH, INNER, EXPERTS, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_up_exps.bias", INNER, EXPERTS, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_down_exps.weight", INNER, WIDTH, EXPERTS, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_down_exps.bias", WIDTH, EXPERTS, 0, 0, 0.1F);
}

static void add_layer(struct tiny *tiny, int layer)
{
    add_attention(tiny, layer);
    if (strcmp(tiny->kind, "gpt-oss") == 0) {
        add_experts(tiny, layer);
        return;
    }
    add_norm(tiny, layer, "ffn_norm.weight");
    if (strcmp(tiny->kind, "gemma2") == 0) {
        add_norm(tiny, layer, "post_attention_norm.weight");
        add_norm(tiny, layer, "post_ffw_norm.weight");
    }
    if (strcmp(tiny->kind, "mpt") != 0)
        add_to_layer(tiny, layer, "ffn_gate.weight", WIDTH, INNER, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_up.weight", WIDTH, INNER, 0, 0, 0.1F);
    add_to_layer(tiny, layer, "ffn_down.weight", INNER, WIDTH, 0, 0, 0.1F);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: tiny_model llama|gemma2|gpt-oss|mpt FILE\n", stderr);
        return 2;
    }
    const struct ggml_init_params room = {.mem_size = (size_t)16 << 20};
    struct tiny tiny = {
        .kind = argv[1],
        .file = gguf_init_empty(),
        .tensors = ggml_init(room),
        .state = 1,
    };
    write_facts(&tiny);
    write_words(&tiny);
    add(&tiny, "token_embd.weight", WIDTH, WORDS, 0, 0, 1);
    add(&tiny, "output_norm.weight", WIDTH, 0, 0, 1, 0);
    if (strcmp(tiny.kind, "gemma2") != 0)
        add(&tiny, "output.weight", WIDTH, WORDS, 0, 0, 0.1F);
    for (int layer = 0; layer < LAYERS; layer++)
        add_layer(&tiny, layer);
    bool written = gguf_write_to_file(tiny.file, argv[2], false);
    ggml_free(tiny.tensors);
    gguf_free(tiny.file);
    return written ? 0 : 1;
}
