/*
 * Judges what a recorder wrote, sharing nothing with the product but HDF5:
 *   recorded rows TRACE DIFFERENCE SUM   every attention row against softmax(scale q.k) of the
 *       recorded query and key, its sum against 1, and the column sums against the rows' where
 *       every row of the prompt is recorded
 *   recorded same TRACE TRACE LAYER DIFFERENCE   the datasets that both hold of a layer
 * Prints the largest deviations; exit status 1 if one is larger than allowed.
 */
#include <hdf5.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(2);
}

struct array {
    hsize_t shape[3];
    double *values; /* NULL: the dataset is not there */
};

static struct array read_array(hid_t place, const char *name)
{
    struct array array = {{1, 1, 1}, NULL};
    if (H5Lexists(place, name, H5P_DEFAULT) <= 0)
        return array;
    hid_t set = H5Dopen2(place, name, H5P_DEFAULT), space = H5Dget_space(set);
    if (H5Sget_simple_extent_ndims(space) > 3)
        die("%s: more than three dimensions", name);
    H5Sget_simple_extent_dims(space, array.shape, NULL);
    array.values = calloc(array.shape[0] * array.shape[1] * array.shape[2], sizeof(double));
    if (!array.values ||
        H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values) < 0)
        die("%s: cannot be read", name);
    H5Sclose(space);
    H5Dclose(set);
    return array;
}

static double attribute(hid_t place, const char *name, double otherwise)
{
    if (H5Aexists(place, name) <= 0)
        return otherwise;
    hid_t id = H5Aopen(place, name, H5P_DEFAULT);
    double value = 0;
    if (H5Aread(id, H5T_NATIVE_DOUBLE, &value) < 0)
        die("attribute %s: not a number", name);
    H5Aclose(id);
    return value;
}

struct worst {
    long layers, rows, columns;
    double difference, sum, column;
};

struct layer {
    struct array rows, sums, query, key, positions;
    long prompt_length, window;
    double scale, softcap;
    bool sinks;
};

static double *at(const struct array *array, hsize_t i, hsize_t j)
{
    return array->values + (i * array->shape[1] + j) * array->shape[2];
}

/* softmax over the positions from first to p; 0 elsewhere. */
static void recompute(const struct layer *layer, hsize_t head, hsize_t q, double *row)
{
    long p = (long)layer->positions.values[q], n = (long)layer->key.shape[1];
    long first = layer->window > 0 && p + 1 > layer->window ? p + 1 - layer->window : 0;
    hsize_t d = layer->key.shape[2], g = head / (layer->query.shape[0] / layer->key.shape[0]);
    double largest = -INFINITY, sum = 0;
    memset(row, 0, (size_t)n * sizeof *row);
    for (long t = first; t <= p; t++) {
        double dot = 0;
        for (hsize_t i = 0; i < d; i++)
            dot += at(&layer->query, head, q)[i] * at(&layer->key, g, (hsize_t)t)[i];
        dot *= layer->scale;
        row[t] = layer->softcap > 0 ? layer->softcap * tanh(dot / layer->softcap) : dot;
        largest = fmax(largest, row[t]);
    }
    for (long t = first; t <= p; t++)
        sum += row[t] = exp(row[t] - largest);
    for (long t = first; t <= p; t++)
        row[t] /= sum;
}

static void judge_row(const struct layer *layer, hsize_t head, hsize_t q, double *row,
                      struct worst *worst)
{
    const double *recorded = at(&layer->rows, head, q);
    double sum = 0;
    for (hsize_t t = 0; t < layer->rows.shape[2]; t++)
        sum += recorded[t];
    if (!layer->sinks)
        worst->sum = fmax(worst->sum, fabs(sum - 1));
    else if (!(sum > 0 && sum < 1.001))
        worst->sum = INFINITY;
    recompute(layer, head, q, row);
    /* A sink logit takes its share from all alike. */
    for (hsize_t t = 0; t < layer->rows.shape[2]; t++) {
        double difference = fabs(recorded[t] / (layer->sinks ? sum : 1) - row[t]);
        if (!(difference <= worst->difference))
            worst->difference = difference; /* a NaN, too */
    }
    worst->rows++;
}

/* Sums of rows in half are off by their rounding: the deviation is taken relative to the rows. */
static void judge_columns(const struct layer *layer, hsize_t head, struct worst *worst)
{
    hsize_t rows = 0;
    while (rows < layer->rows.shape[1] && layer->positions.values[rows] == (double)rows &&
           (long)rows < layer->prompt_length)
        rows++;
    if (!layer->sums.values || (long)rows < layer->prompt_length)
        return;
    for (hsize_t t = 0; t < layer->rows.shape[2]; t++) {
        double sum = 0, recorded = layer->sums.values[head * layer->sums.shape[1] + t];
        for (hsize_t q = 0; q < rows; q++)
            sum += at(&layer->rows, head, q)[t];
        worst->column = fmax(worst->column, fabs(sum - recorded) / (1 + recorded));
        worst->columns++;
    }
}

static void judge_layer(hid_t sample, hid_t place, struct worst *worst)
{
    struct layer layer = {
        .rows = read_array(place, "attention"),
        .sums = read_array(place, "accumulated"),
        .query = read_array(place, "query"),
        .key = read_array(place, "key"),
        .positions = read_array(sample, "query_positions"),
        .prompt_length = (long)attribute(sample, "prompt_length", -1),
        .window = (long)attribute(place, "sliding_window", 0),
        .softcap = attribute(place, "softcap", 0),
        .sinks = attribute(place, "sink_logits", 0) > 0,
    };
    if (!layer.rows.values || !layer.query.values || !layer.key.values)
        die("a layer without attention, query or key");
    layer.scale = attribute(place, "scale", 1 / sqrt((double)layer.key.shape[2]));
    double *row = calloc(layer.rows.shape[2], sizeof *row);
    if (!row)
        die("no memory");
    for (hsize_t head = 0; head < layer.rows.shape[0]; head++) {
        for (hsize_t q = 0; q < layer.rows.shape[1]; q++)
            judge_row(&layer, head, q, row, worst);
        judge_columns(&layer, head, worst);
    }
    worst->layers++;
    free(row);
    free(layer.rows.values);
    free(layer.sums.values);
    free(layer.query.values);
    free(layer.key.values);
    free(layer.positions.values);
}

static herr_t visit_layer(hid_t layers, const char *name, const H5L_info_t *info, void *worst)
{
    (void)info;
    char path[256]; /* of the layers; HDF5 knows no ".." */
    H5Iget_name(layers, path, sizeof path);
    *strrchr(path, '/') = '\0';
    hid_t place = H5Gopen2(layers, name, H5P_DEFAULT), sample = H5Gopen2(layers, path, H5P_DEFAULT);
    judge_layer(sample, place, worst);
    H5Gclose(sample);
    H5Gclose(place);
    return 0;
}

static herr_t visit_sample(hid_t samples, const char *name, const H5L_info_t *info, void *worst)
{
    (void)info;
    char path[256];
    snprintf(path, sizeof path, "%s/layers", name);
    hid_t layers = H5Gopen2(samples, path, H5P_DEFAULT);
    H5Literate(layers, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_layer, worst);
    H5Gclose(layers);
    return 0;
}

static hid_t open_trace(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        die("%s: cannot be opened", path);
    return file;
}

static int judge_rows(char **words)
{
    struct worst worst = {0};
    hid_t file = open_trace(words[0]), samples = H5Gopen2(file, "samples", H5P_DEFAULT);
    H5Literate(samples, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_sample, &worst);
    H5Gclose(samples);
    H5Fclose(file);
    printf("%ld layers, %ld rows: off by at most %.2e, sums by %.2e; %ld column sums by %.2e\n",
           worst.layers, worst.rows, worst.difference, worst.sum, worst.columns, worst.column);
    return worst.rows > 0 && worst.difference <= strtod(words[1], NULL) &&
                   worst.sum <= strtod(words[2], NULL) && worst.column <= strtod(words[2], NULL)
               ? 0
               : 1;
}

static int judge_same(char **words)
{
    static const char *const names[] = {"attention", "accumulated", "query", "key", "value"};
    char path[64];
    snprintf(path, sizeof path, "samples/0/layers/%s", words[2]);
    hid_t files[2] = {open_trace(words[0]), open_trace(words[1])};
    double difference = 0;
    int compared = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct array arrays[2];
        for (int j = 0; j < 2; j++) {
            hid_t place = H5Gopen2(files[j], path, H5P_DEFAULT);
            if (place < 0)
                die("no layer %s", words[2]);
            arrays[j] = read_array(place, names[i]);
            H5Gclose(place);
        }
        if (arrays[0].values && arrays[1].values) {
            if (memcmp(arrays[0].shape, arrays[1].shape, sizeof arrays[0].shape) != 0)
                die("%s: other shapes", names[i]);
            for (hsize_t k = 0; k < arrays[0].shape[0] * arrays[0].shape[1] * arrays[0].shape[2];
                 k++)
                difference = fmax(difference, fabs(arrays[0].values[k] - arrays[1].values[k]));
            compared++;
        }
        free(arrays[0].values);
        free(arrays[1].values);
    }
    H5Fclose(files[0]);
    H5Fclose(files[1]);
    printf("%d datasets: off by at most %.2e\n", compared, difference);
    return compared > 0 && difference <= strtod(words[3], NULL) ? 0 : 1;
}

int main(int argc, char **argv)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (argc == 5 && strcmp(argv[1], "rows") == 0)
        return judge_rows(argv + 2);
    if (argc == 6 && strcmp(argv[1], "same") == 0)
        return judge_same(argv + 2);
    die("usage: recorded rows TRACE DIFFERENCE SUM | recorded same TRACE TRACE LAYER DIFFERENCE");
}
