/*
 * Files in memory, and their way to and from a folder.
 */
#include "plots/drawing.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/base/text.h"

enum { CAPTION_WIDTH = 78 };

static enum kvr_status add_named(struct kvr_drawing *drawing, const char *name, const char *bytes,
                                 size_t length, struct kvr_error *err)
{
    if (drawing->file_count == KVR_DRAWING_MOST_FILES)
        return kvr_fail(err, KVR_INTERNAL, "%s: gnuplot left too many files",
                        drawing->figure->name);
    struct kvr_drawing_file file = {
        .name = kvr_copy_string(name, err),
        .bytes = kvr_copy_bytes(bytes, length, err),
        .length = length,
    };
    if (file.name == NULL || file.bytes == NULL) {
        free(file.name);
        free(file.bytes);
        return KVR_NO_MEMORY;
    }
    drawing->files[drawing->file_count++] = file;
    return KVR_OK;
}

enum kvr_status kvr_drawing_add(struct kvr_drawing *drawing, const char *suffix, const char *bytes,
                                size_t length, struct kvr_error *err)
{
    char name[100];
    snprintf(name, sizeof name, "%s%s", drawing->figure->name, suffix);
    return add_named(drawing, name, bytes, length, err);
}

/* ------------------------------------------------------------------------------ captions */

static void add_wrapped(struct kvr_text *out, const char *sentences)
{
    size_t column = 0;
    for (const char *word = sentences; *word != '\0';) {
        size_t length = strcspn(word, " ");
        if (column > 0 && column + 1 + length > CAPTION_WIDTH) {
            kvr_text_string(out, "\n");
            column = 0;
        }
        if (column > 0)
            kvr_text_string(out, " ");
        kvr_text_bytes(out, word, length);
        column += (column > 0) + length;
        word += length;
        word += strspn(word, " ");
    }
    kvr_text_string(out, "\n");
}

enum kvr_status kvr_drawing_add_caption(struct kvr_drawing *drawing, const char *sentences,
                                        struct kvr_error *err)
{
    struct kvr_text text = {0};
    kvr_text_add(&text, "%s\n\n", drawing->figure->title);
    size_t start = text.length;
    add_wrapped(&text, sentences != NULL ? sentences : "");
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        status = kvr_drawing_add(drawing, ".txt", text.data, text.length, err);
    if (status == KVR_OK) {
        drawing->caption = kvr_copy_string(text.data + start, err);
        status = drawing->caption == NULL ? KVR_NO_MEMORY : KVR_OK;
    }
    kvr_text_free(&text);
    return status;
}

/* ------------------------------------------------------------------------------ folders */

static bool holds(const struct kvr_drawing *drawing, const char *name)
{
    for (size_t i = 0; i < drawing->file_count; i++)
        if (strcmp(drawing->files[i].name, name) == 0)
            return true;
    return false;
}

static enum kvr_status read_file(const char *path, struct kvr_text *bytes, struct kvr_error *err)
{
    char block[1 << 14];
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", path, strerror(errno));
    for (size_t length; (length = fread(block, 1, sizeof block, stream)) > 0;)
        kvr_text_bytes(bytes, block, length);
    bool failed = ferror(stream) != 0;
    fclose(stream);
    return failed ? kvr_fail(err, KVR_IO, "\"%s\": cannot be read", path)
                  : kvr_text_check(bytes, err);
}

static enum kvr_status collect_file(struct kvr_drawing *drawing, const char *folder,
                                    const char *name, struct kvr_error *err)
{
    struct kvr_text bytes = {0};
    char *path = kvr_join_path(folder, name, err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = read_file(path, &bytes, err);
    if (status == KVR_OK)
        status = add_named(drawing, name, bytes.data != NULL ? bytes.data : "", bytes.length, err);
    kvr_text_free(&bytes);
    free(path);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct kvr_drawing_file *)a)->name,
                  ((const struct kvr_drawing_file *)b)->name);
}

enum kvr_status kvr_drawing_collect(struct kvr_drawing *drawing, const char *folder,
                                    struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return kvr_fail(err, KVR_IO, "\"%s\": cannot be read: %s", folder, strerror(errno));
    for (struct dirent *entry; status == KVR_OK && (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.' && !holds(drawing, entry->d_name))
            status = collect_file(drawing, folder, entry->d_name, err);
    closedir(entries);
    qsort(drawing->files, drawing->file_count, sizeof *drawing->files, by_name);
    return status;
}

enum kvr_status kvr_drawing_save(const struct kvr_drawing *drawing, const char *folder,
                                 struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < drawing->file_count; i++) {
        const struct kvr_drawing_file *file = &drawing->files[i];
        struct kvr_outfile *out = NULL;
        char *path = kvr_join_path(folder, file->name, err);
        status = path == NULL ? KVR_NO_MEMORY : kvr_outfile_open(path, &out, err);
        if (status == KVR_OK)
            status = kvr_outfile_write(out, file->bytes, file->length, err);
        if (status == KVR_OK)
            status = kvr_outfile_commit(out, err);
        else
            kvr_outfile_abandon(out);
        free(path);
    }
    return status;
}

const struct kvr_drawing_file *kvr_drawing_find(const struct kvr_drawing *drawing,
                                                const char *suffix)
{
    for (size_t i = 0; i < drawing->file_count; i++) {
        size_t length = strlen(drawing->files[i].name), tail = strlen(suffix);
        if (length >= tail && strcmp(drawing->files[i].name + length - tail, suffix) == 0)
            return &drawing->files[i];
    }
    return NULL;
}

void kvr_drawing_free(struct kvr_drawing *drawing)
{
    for (size_t i = 0; i < drawing->file_count; i++) {
        free(drawing->files[i].name);
        free(drawing->files[i].bytes);
    }
    free(drawing->reason);
    free(drawing->caption);
    free(drawing->remarks);
    *drawing = (struct kvr_drawing){0};
}
