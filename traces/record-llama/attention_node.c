/*
 * Recognising attention in a graph by operation and name, and reading operands through their
 * strides. Elements are half, bfloat16 or float; quantised caches are refused.
 */
#include "traces/record-llama/attention_node.h"

#include <ggml-backend.h>
#include <ggml.h>
#include <math.h>
#include <string.h>

#include "formats/base/number.h"
#include "formats/element.h"

enum {
    STAGED_BYTES = 4096,
    MOST_STEPS = 4, /* between a query as it was named and as attention takes it: scaling, casts */
};

/* "Qcur-7" or, copied to another device, "CUDA0#Qcur-7#0": the number of the layer. */
static bool layer_of_name(const char *name, uint32_t *layer)
{
    const char *dash = strrchr(name, '-');
    if (dash == NULL)
        return false;
    char digits[16];
    size_t length = strspn(dash + 1, "0123456789");
    if (length == 0 || length >= sizeof digits ||
        (dash[1 + length] != '\0' && dash[1 + length] != '#'))
        return false;
    memcpy(digits, dash + 1, length);
    digits[length] = '\0';
    uint64_t number;
    if (!kvr_parse_unsigned(digits, 0, UINT16_MAX, &number))
        return false;
    *layer = (uint32_t)number;
    return true;
}

static bool is_called(const struct ggml_tensor *node, const char *stem)
{
    size_t length = strlen(stem);
    return strncmp(node->name, stem, length) == 0 && node->name[length] == '-';
}

static const struct ggml_tensor *storage_of(const struct ggml_tensor *tensor)
{
    return tensor->view_src != NULL ? tensor->view_src : tensor;
}

/* The fused node has no name of its own; its query has one, or what that was computed from. */
static bool layer_of_query(const struct ggml_tensor *query, uint32_t *layer)
{
    for (int step = 0; step < MOST_STEPS && query != NULL; step++) {
        query = storage_of(query);
        if (layer_of_name(query->name, layer))
            return true;
        query = query->src[0];
    }
    return false;
}

enum kvr_node_kind kvr_node_kind(const struct ggml_tensor *node, uint32_t *layer)
{
    if (node->op == GGML_OP_FLASH_ATTN_EXT)
        return layer_of_query(node->src[0], layer) ? KVR_NODE_FUSED : KVR_NODE_OTHER;
    enum kvr_node_kind kind = KVR_NODE_OTHER;
    if (node->op == GGML_OP_MUL_MAT && is_called(node, "kq"))
        kind = KVR_NODE_LOGITS;
    else if (node->op == GGML_OP_SOFT_MAX && is_called(node, "kq_soft_max"))
        kind = KVR_NODE_SOFTMAX;
    else if (node->op == GGML_OP_MUL_MAT && is_called(node, "kqv"))
        kind = KVR_NODE_OUTPUT;
    return kind != KVR_NODE_OTHER && layer_of_name(node->name, layer) ? kind : KVR_NODE_OTHER;
}

static struct kvr_node_vectors vectors_of(const struct ggml_tensor *tensor, unsigned size_axis,
                                          unsigned token_axis)
{
    return (struct kvr_node_vectors){
        .tensor = tensor,
        .heads = (uint64_t)tensor->ne[2],
        .tokens = (uint64_t)tensor->ne[token_axis],
        .size = (uint64_t)tensor->ne[size_axis],
        .head_bytes = tensor->nb[2],
        .token_bytes = tensor->nb[token_axis],
        .element_bytes = tensor->nb[size_axis],
    };
}

struct kvr_node_vectors kvr_node_query(const struct ggml_tensor *node, enum kvr_node_kind kind)
{
    return vectors_of(node->src[kind == KVR_NODE_FUSED ? 0 : 1], 0, 1);
}

struct kvr_node_vectors kvr_node_key(const struct ggml_tensor *node, enum kvr_node_kind kind)
{
    return vectors_of(node->src[kind == KVR_NODE_FUSED ? 1 : 0], 0, 1);
}

/* As an operand of a matrix product the value stands transposed. */
struct kvr_node_vectors kvr_node_value(const struct ggml_tensor *node, enum kvr_node_kind kind)
{
    return kind == KVR_NODE_FUSED ? vectors_of(node->src[2], 0, 1) : vectors_of(node->src[0], 1, 0);
}

static bool element_type(const struct ggml_tensor *tensor, struct kvr_element_type *type)
{
    *type = (struct kvr_element_type){0};
    switch (tensor->type) {
    case GGML_TYPE_F32:
        type->kind = KVR_FLOAT;
        return true;
    case GGML_TYPE_F16:
        type->kind = KVR_HALF;
        return true;
    case GGML_TYPE_BF16:
        type->kind = KVR_BFLOAT16;
        return true;
    default:
        return false;
    }
}

enum kvr_status kvr_node_read(const struct ggml_tensor *tensor, size_t offset, uint64_t count,
                              double *values, struct kvr_error *err)
{
    struct kvr_element_type type;
    if (!element_type(tensor, &type))
        return kvr_fail(err, KVR_UNSUPPORTED,
                        "%s: expected elements of type f32, f16 or bf16, found %s", tensor->name,
                        ggml_type_name(tensor->type));
    const struct ggml_backend_buffer *buffer = storage_of(tensor)->buffer;
    size_t size = kvr_element_size(type.kind);
    if (buffer == NULL || ggml_backend_buffer_is_host((ggml_backend_buffer_t)buffer)) {
        kvr_element_decode(type, (const char *)tensor->data + offset, (size_t)count, values);
        return KVR_OK;
    }
    char staged[STAGED_BYTES];
    const uint64_t most = STAGED_BYTES / size;
    for (uint64_t done = 0; done < count; done += most) {
        size_t here = (size_t)(count - done < most ? count - done : most);
        ggml_backend_tensor_get(tensor, staged, offset + (size_t)done * size, here * size);
        kvr_element_decode(type, staged, here, values + done);
    }
    return KVR_OK;
}

/* The elements of a vector lie apart, those of neighbouring tokens together. */
static enum kvr_status read_transposed(const struct kvr_node_vectors *vectors, size_t offset,
                                       uint64_t count, double *values, struct kvr_error *err)
{
    double run[STAGED_BYTES / sizeof(double)];
    const uint64_t most = sizeof run / sizeof *run;
    for (uint64_t element = 0; element < vectors->size; element++) {
        for (uint64_t done = 0; done < count; done += most) {
            uint64_t here = count - done < most ? count - done : most;
            enum kvr_status status =
                kvr_node_read(vectors->tensor,
                              offset + (size_t)element * vectors->element_bytes +
                                  (size_t)done * vectors->token_bytes,
                              here, run, err);
            if (status != KVR_OK)
                return status;
            for (uint64_t i = 0; i < here; i++)
                values[(done + i) * vectors->size + element] = run[i];
        }
    }
    return KVR_OK;
}

enum kvr_status kvr_node_read_vectors(const struct kvr_node_vectors *vectors, uint64_t head,
                                      uint64_t token, uint64_t count, double *values,
                                      struct kvr_error *err)
{
    if (head >= vectors->heads || token > vectors->tokens || count > vectors->tokens - token)
        return kvr_fail(err, KVR_INTERNAL,
                        "%s: %llu tokens from %llu on of head %llu are not there",
                        vectors->tensor->name, (unsigned long long)count, (unsigned long long)token,
                        (unsigned long long)head);
    size_t offset = (size_t)head * vectors->head_bytes + (size_t)token * vectors->token_bytes;
    if (vectors->token_bytes < vectors->element_bytes)
        return read_transposed(vectors, offset, count, values, err);
    enum kvr_status status = KVR_OK;
    for (uint64_t i = 0; i < count && status == KVR_OK; i++)
        status = kvr_node_read(vectors->tensor, offset + (size_t)i * vectors->token_bytes,
                               vectors->size, values + i * vectors->size, err);
    return status;
}

static double float_parameter(const struct ggml_tensor *node, unsigned index)
{
    float value;
    memcpy(&value, &node->op_params[index], sizeof value);
    return (double)value;
}

/* Logits that were capped before the softmax: cap * tanh(inner * product), as three nodes. */
static void find_softcap(const struct ggml_tensor *logits, struct kvr_node_logits *found)
{
    if (logits->op != GGML_OP_SCALE || logits->src[0]->op != GGML_OP_UNARY ||
        ggml_get_unary_op(logits->src[0]) != GGML_UNARY_OP_TANH ||
        logits->src[0]->src[0]->op != GGML_OP_SCALE)
        return;
    double cap = float_parameter(logits, 0);
    found->softcap = cap * found->scale;
    found->scale *= cap * float_parameter(logits->src[0]->src[0], 0);
}

struct kvr_node_logits kvr_node_logits(const struct ggml_tensor *node, enum kvr_node_kind kind)
{
    bool fused = kind == KVR_NODE_FUSED;
    struct kvr_node_logits found = {
        .scale = float_parameter(node, 0),
        .softcap = NAN,
        .alibi = float_parameter(node, 1),
        .sinks = node->src[fused ? 4 : 2],
        .mask = node->src[fused ? 3 : 1],
    };
    if (!fused)
        find_softcap(node->src[0], &found);
    else if (float_parameter(node, 2) > 0)
        found.softcap = float_parameter(node, 2);
    return found;
}

uint64_t kvr_node_cache_cells(const struct ggml_tensor *node, enum kvr_node_kind kind)
{
    const struct ggml_tensor *key = node->src[kind == KVR_NODE_FUSED ? 1 : 0];
    return (uint64_t)storage_of(key)->ne[1];
}
