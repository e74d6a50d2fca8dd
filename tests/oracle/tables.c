/*
 * tables REFERENCE OTHER: are two folders of tables the same?
 *
 * Every .csv of the first folder must be in the second with the same header and the same rows in
 * the same order. Names, whole numbers and emptiness must agree exactly, other numbers to 2e-6,
 * absolute below 1 and relative above. It prints the first few differences; exit status 0 or 1.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64, SHOWN_PER_TABLE = 5 };
static const double TOLERANCE = 2e-6;

/* Columns of names and whole numbers. */
static const char *const exact_columns[] = {
    "trace",     "sample", "layer",   "group", "head",     "scorer",   "policy",
    "page_size", "budget", "context", "ratio", "quota",    "selected", "kept_tokens",
    "class",     "needle", "start",   "end",   "rank",     "owner",    "peak",
    "holds",     "union",  "heads",   "open",  "allotted",
};

/* One line cut into cells. */
struct cells {
    long count;
    char *at[MOST_COLUMNS];
    char *line;
    size_t size;
};

struct table {
    const char *name;
    long differences;
};

/* Cuts a line in place; quotes are taken off. */
static void cut(struct cells *cells)
{
    char *read = cells->line, *write = cells->line;
    bool quoted = false, last = false;
    cells->count = 0;
    while (!last && cells->count < MOST_COLUMNS) {
        cells->at[cells->count++] = write;
        for (;; read++) {
            if (*read == '"' && quoted && read[1] == '"')
                *write++ = *read++;
            else if (*read == '"')
                quoted = !quoted;
            else if (*read == '\0' || *read == '\n' || (*read == ',' && !quoted))
                break;
            else
                *write++ = *read;
        }
        last = *read != ',';
        read++;
        *write++ = '\0';
    }
}

static bool next(FILE *file, struct cells *cells)
{
    if (getline(&cells->line, &cells->size, file) < 0) {
        cells->count = 0;
        return false;
    }
    cut(cells);
    return true;
}

static bool is_exact(const char *column)
{
    for (size_t i = 0; i < sizeof exact_columns / sizeof *exact_columns; i++)
        if (strcmp(column, exact_columns[i]) == 0)
            return true;
    return false;
}

static bool same(const char *column, const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return true;
    if (is_exact(column) || !*a || !*b)
        return false;
    char *end_a, *end_b;
    double x = strtod(a, &end_a), y = strtod(b, &end_b);
    if (*end_a || *end_b || !isfinite(x) || !isfinite(y))
        return false;
    return fabs(x - y) <= TOLERANCE * fmax(1, fmax(fabs(x), fabs(y)));
}

static bool shown(struct table *table)
{
    return ++table->differences <= SHOWN_PER_TABLE;
}

static void compare_lines(struct table *table, long number, const struct cells *header,
                          const struct cells *a, const struct cells *b)
{
    if (a->count != header->count || b->count != header->count) {
        if (shown(table))
            printf("%s line %ld: %ld and %ld cells under %ld columns\n", table->name, number,
                   a->count, b->count, header->count);
        return;
    }
    for (long i = 0; i < header->count; i++)
        if (!same(header->at[i], a->at[i], b->at[i]) && shown(table))
            printf("%s line %ld, %s: \"%s\" and \"%s\"\n", table->name, number, header->at[i],
                   a->at[i], b->at[i]);
}

static bool same_header(const struct cells *a, const struct cells *b)
{
    bool same_names = a->count == b->count;
    for (long i = 0; i < a->count && same_names; i++)
        same_names = strcmp(a->at[i], b->at[i]) == 0;
    return same_names;
}

static void compare_rows(struct table *table, FILE *file_a, FILE *file_b,
                         const struct cells *header)
{
    struct cells a = {0}, b = {0};
    bool more_a = true, more_b = true;
    for (long number = 2; more_a && more_b; number++) {
        more_a = next(file_a, &a);
        more_b = next(file_b, &b);
        if (more_a && more_b)
            compare_lines(table, number, header, &a, &b);
        else if (more_a != more_b && shown(table))
            printf("%s: the %s folder has no line %ld\n", table->name, more_a ? "second" : "first",
                   number);
    }
    free(a.line);
    free(b.line);
}

static void compare_files(struct table *table, FILE *a, FILE *b)
{
    struct cells header_a = {0}, header_b = {0};
    if (next(a, &header_a) && next(b, &header_b) && same_header(&header_a, &header_b))
        compare_rows(table, a, b, &header_a);
    else if (shown(table))
        printf("%s: the columns differ\n", table->name);
    free(header_a.line);
    free(header_b.line);
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return NULL;
    return fopen(path, "r");
}

/* Returns the number of differences. */
static long compare_table(const char *first, const char *second, const char *name)
{
    struct table table = {.name = name};
    FILE *a = open_in(first, name), *b = open_in(second, name);
    if (a && b)
        compare_files(&table, a, b);
    else if (shown(&table))
        printf("%s: cannot be read in %s\n", name, a ? second : first);
    if (a)
        fclose(a);
    if (b)
        fclose(b);
    if (table.differences > SHOWN_PER_TABLE)
        printf("%s: %ld differences in all\n", name, table.differences);
    return table.differences;
}

static bool is_table(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".csv") == 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: tables REFERENCE OTHER\n");
        return 2;
    }
    struct dirent **entries;
    int count = scandir(argv[1], &entries, NULL, alphasort);
    if (count < 0) {
        fprintf(stderr, "tables: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    long tables = 0, differences = 0;
    for (int i = 0; i < count; i++) {
        if (is_table(entries[i]->d_name)) {
            differences += compare_table(argv[1], argv[2], entries[i]->d_name);
            tables++;
        }
        free(entries[i]);
    }
    free(entries);
    if (tables == 0)
        printf("%s holds no table\n", argv[1]);
    return tables > 0 && differences == 0 ? 0 : 1;
}
