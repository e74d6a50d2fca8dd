/*
 * Chunks without HDF5: undoing filters on bytes made here, and the cache that shares chunks.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/chunk_cache.h"
#include "formats/chunk_decode.h"
#include "formats/inflate.h"
#include "tests/suites.h"

/* Undoing filters. */

static unsigned char *copy_of(const void *bytes, size_t size)
{
    unsigned char *copy = malloc(size + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static void expect_decoded(const struct kvr_chunk_plan *plan, uint32_t mask, const void *stored,
                           size_t stored_size, const void *expected)
{
    struct kvr_error err = KVR_ERROR_NONE;
    unsigned char *copy = copy_of(stored, stored_size), *bytes = NULL;
    struct kvr_chunk_room half_way = {NULL, 0};
    enum kvr_status status =
        kvr_chunk_decode(plan, mask, copy, stored_size, &half_way, &bytes, &err);
    ck_assert_msg(status == KVR_OK, "%s", err.message);
    ck_assert_mem_eq(bytes, expected, plan->bytes);
    ck_assert_mem_eq(copy, stored, stored_size);
    free(bytes);
    free(copy);
    free(half_way.bytes);
}

static void expect_damage(const struct kvr_chunk_plan *plan, const void *stored, size_t stored_size,
                          const char *message)
{
    struct kvr_error err = KVR_ERROR_NONE;
    unsigned char *copy = copy_of(stored, stored_size), *bytes = NULL;
    struct kvr_chunk_room half_way = {NULL, 0};
    ck_assert_int_eq(kvr_chunk_decode(plan, 0, copy, stored_size, &half_way, &bytes, &err),
                     KVR_BAD_INPUT);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_ptr_null(bytes);
    free(copy);
    free(half_way.bytes);
}

/* Every size around the width of a vector, every element size, with bytes left over. */
START_TEST(unshuffling)
{
    unsigned char plain[200], planes[200];
    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = (unsigned char)(i * 37 + 11);
    for (size_t element = 1; element <= 9; element++) {
        for (size_t size = 1; size < sizeof plain; size++) {
            size_t count = size / element;
            memcpy(planes, plain, size);
            for (size_t i = 0; i < count; i++)
                for (size_t byte = 0; byte < element; byte++)
                    planes[byte * count + i] = plain[i * element + byte];
            struct kvr_chunk_plan plan = {.filter_count = 1,
                                          .filters = {KVR_FILTER_SHUFFLE},
                                          .shuffle_size = element,
                                          .bytes = size};
            expect_decoded(&plan, 0, planes, size, plain);
            expect_decoded(&plan, 1, plain, size, plain);
        }
    }
}
END_TEST

/* Planes that stay: nothing is joined, and a chunk without any gets them. */
START_TEST(keeping_planes)
{
    enum { COUNT = 300, SIZE = 2 * COUNT };
    unsigned char pairs[SIZE], planes[SIZE], packed[2 * SIZE];
    for (size_t i = 0; i < SIZE; i++)
        pairs[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t i = 0; i < COUNT; i++) {
        planes[i] = pairs[2 * i];
        planes[COUNT + i] = pairs[2 * i + 1];
    }
    struct kvr_chunk_plan plan = {.filter_count = 2,
                                  .filters = {KVR_FILTER_SHUFFLE, KVR_FILTER_DEFLATE},
                                  .shuffle_size = 2,
                                  .bytes = SIZE,
                                  .keeps_planes = true};
    uLongf size = sizeof packed;
    ck_assert_int_eq(compress(packed, &size, planes, SIZE), Z_OK);
    expect_decoded(&plan, 0, packed, size, planes);
    expect_decoded(&plan, 2, planes, SIZE, planes);
    expect_decoded(&plan, 3, pairs, SIZE, planes);
    packed[size - 1] ^= 1;
    expect_damage(&plan, packed, size, "does not inflate");
    packed[size - 1] ^= 1;
    plan.bytes = SIZE + 2;
    expect_damage(&plan, packed, size, "does not inflate");
    size = sizeof packed;
    ck_assert_int_eq(compress(packed, &size, pairs, SIZE), Z_OK);
    plan.bytes = SIZE;
    expect_decoded(&plan, 1, packed, size, planes);
}
END_TEST

/* A room is as large as was asked for last, or larger; a pool gives every user one of its own. */
START_TEST(places_to_decode_in)
{
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_chunk_pool pool;
    kvr_chunk_pool_open(&pool);
    struct kvr_chunk_scratch *one = kvr_chunk_pool_take(&pool, &err);
    struct kvr_chunk_scratch *two = kvr_chunk_pool_take(&pool, &err);
    ck_assert(one != NULL && two != NULL && one != two);
    unsigned char *bytes = kvr_chunk_room_take(&one->stored, 100, &err);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_ptr_eq(kvr_chunk_room_take(&one->stored, 10, &err), bytes);
    bytes = kvr_chunk_room_take(&one->stored, 5000, &err);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 1, 5000);
    kvr_chunk_pool_give(&pool, two);
    kvr_chunk_pool_give(&pool, one);
    ck_assert_ptr_eq(kvr_chunk_pool_take(&pool, &err), one); /* with what it has */
    ck_assert_ptr_eq(kvr_chunk_room_take(&one->stored, 5000, &err), bytes);
    ck_assert_ptr_nonnull(kvr_chunk_room_take(&one->stored, (size_t)64 << 20, &err));
    kvr_chunk_pool_give(&pool, one); /* but for what is too much to keep */
    ck_assert_ptr_null(one->stored.bytes);
    kvr_chunk_pool_close(&pool);
}
END_TEST

START_TEST(checksums)
{
    /* Fletcher's sums of 16-bit words 0x0102, 0x0304, 0x05(00): 0x0906 and 0x0e0e. */
    const unsigned char stored[] = {1, 2, 3, 4, 5, 0x06, 0x09, 0x0e, 0x0e};
    const unsigned char old[] = {1, 2, 3, 4, 5, 0x09, 0x06, 0x0e, 0x0e};
    struct kvr_chunk_plan plan = {
        .filter_count = 1, .filters = {KVR_FILTER_FLETCHER32}, .shuffle_size = 1, .bytes = 5};
    expect_decoded(&plan, 0, stored, sizeof stored, stored);
    expect_decoded(&plan, 0, old, sizeof old, old);
    for (size_t i = 0; i < sizeof stored; i++) {
        unsigned char wrong[sizeof stored];
        memcpy(wrong, stored, sizeof stored);
        wrong[i] ^= 0x40;
        expect_damage(&plan, wrong, sizeof wrong, "does not match its checksum");
    }
    expect_damage(&plan, stored, 3, "too few for a checksum");
}
END_TEST

START_TEST(inflating)
{
    unsigned char plain[5000], packed[6000];
    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = (unsigned char)(i / 100);
    uLongf size = sizeof packed;
    ck_assert_int_eq(compress(packed, &size, plain, sizeof plain), Z_OK);
    struct kvr_chunk_plan plan = {.filter_count = 1,
                                  .filters = {KVR_FILTER_DEFLATE},
                                  .shuffle_size = 1,
                                  .bytes = sizeof plain};
    expect_decoded(&plan, 0, packed, size, plain);
    expect_damage(&plan, packed, size - 3, "does not inflate");
    packed[size - 1] ^= 1; /* of the Adler checksum */
    expect_damage(&plan, packed, size, "does not inflate");
    packed[size - 1] ^= 1;
    plan.bytes = sizeof plain - 1;
    expect_damage(&plan, packed, size, "does not inflate");
    plan.bytes = sizeof plain + 1;
    expect_damage(&plan, packed, size, "does not inflate");
    /* Refused before memory is asked for. */
    plan.bytes = (size_t)1 << 40;
    expect_damage(&plan, packed, size, "cannot inflate");
}
END_TEST

START_TEST(a_chunk_of_another_size)
{
    const unsigned char stored[8] = {0};
    struct kvr_chunk_plan plan = {
        .filter_count = 1, .filters = {KVR_FILTER_SHUFFLE}, .shuffle_size = 2, .bytes = 10};
    expect_damage(&plan, stored, sizeof stored, "expected 10 bytes, found 8");
}
END_TEST

/* The cache. A chunk's bytes are its number, `size` of them. */

struct source {
    size_t size;
    useconds_t pause;
    atomic_uint loads;
    atomic_uint failures_left;
};

static enum kvr_status load(void *context, struct kvr_chunk_key key, unsigned char **bytes,
                            size_t *size, struct kvr_error *err)
{
    struct source *source = context;
    atomic_fetch_add(&source->loads, 1);
    if (source->pause > 0)
        usleep(source->pause);
    if (atomic_load(&source->failures_left) > 0) {
        atomic_fetch_sub(&source->failures_left, 1);
        return kvr_fail(err, KVR_IO, "chunk %u", (unsigned)key.chunk);
    }
    *bytes = malloc(source->size);
    if (*bytes == NULL)
        return kvr_fail(err, KVR_NO_MEMORY, "no memory");
    memset(*bytes, (int)(key.chunk + key.dataset), source->size);
    *size = source->size;
    return KVR_OK;
}

static void use(struct kvr_chunk_cache *cache, struct source *source, uint64_t chunk, bool finished)
{
    struct kvr_chunk *found;
    ck_assert_int_eq(
        kvr_chunk_cache_take(cache, (struct kvr_chunk_key){1, chunk}, load, source, &found, NULL),
        KVR_OK);
    ck_assert_uint_eq(kvr_chunk_bytes(found)[source->size - 1], chunk + 1);
    kvr_chunk_cache_release(cache, found, finished);
}

static struct kvr_chunk_cache *new_cache(size_t limit)
{
    struct kvr_chunk_cache *cache = NULL;
    ck_assert_int_eq(kvr_chunk_cache_new(limit, &cache, NULL), KVR_OK);
    return cache;
}

START_TEST(the_least_recently_used_goes_first)
{
    struct source source = {.size = 1000};
    struct kvr_chunk_cache *cache = new_cache(3500); /* three, with what the cache itself needs */
    for (uint64_t chunk = 0; chunk < 3; chunk++)
        use(cache, &source, chunk, false);
    use(cache, &source, 0, false);
    ck_assert_uint_eq(source.loads, 3);
    use(cache, &source, 3, false); /* 1 goes */
    use(cache, &source, 0, false);
    use(cache, &source, 2, false);
    ck_assert_uint_eq(source.loads, 4);
    use(cache, &source, 1, false); /* 3 goes */
    ck_assert_uint_eq(source.loads, 5);
    use(cache, &source, 2, true); /* finished: goes before 0, which is older */
    use(cache, &source, 3, false);
    use(cache, &source, 0, false);
    ck_assert_uint_eq(source.loads, 6);
    use(cache, &source, 2, false);
    ck_assert_uint_eq(source.loads, 7);
    kvr_chunk_cache_free(cache);
}
END_TEST

START_TEST(chunks_in_use_stay)
{
    struct source source = {.size = 1000};
    struct kvr_chunk_cache *cache = new_cache(1);
    struct kvr_chunk *chunks[5];
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_int_eq(kvr_chunk_cache_take(cache, (struct kvr_chunk_key){1, i}, load, &source,
                                              &chunks[i], NULL),
                         KVR_OK);
    use(cache, &source, 4, false);
    for (uint64_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(kvr_chunk_bytes(chunks[i])[999], i + 1);
        kvr_chunk_cache_release(cache, chunks[i], false);
    }
    ck_assert_uint_eq(source.loads, 5);
    use(cache, &source, 4, false); /* nothing was kept */
    ck_assert_uint_eq(source.loads, 6);
    kvr_chunk_cache_free(cache);
}
END_TEST

START_TEST(a_failure_is_not_remembered)
{
    struct source source = {.size = 10, .failures_left = 1};
    struct kvr_chunk_cache *cache = new_cache(100000);
    struct kvr_chunk *chunk = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    const struct kvr_chunk_key key = {1, 7};
    ck_assert_int_eq(kvr_chunk_cache_take(cache, key, load, &source, &chunk, &err), KVR_IO);
    ck_assert_str_eq(err.message, "chunk 7");
    ck_assert_ptr_null(chunk);
    use(cache, &source, 7, false);
    ck_assert_uint_eq(source.loads, 2);
    kvr_chunk_cache_free(cache);
}
END_TEST

struct user {
    struct kvr_chunk_cache *cache;
    struct source *source;
    unsigned failures, wrong;
};

static void *use_all(void *argument)
{
    struct user *user = argument;
    for (uint64_t i = 0; i < 8; i++) {
        struct kvr_chunk *chunk;
        const struct kvr_chunk_key key = {1, i};
        if (kvr_chunk_cache_take(user->cache, key, load, user->source, &chunk, NULL) != KVR_OK) {
            user->failures++;
            continue;
        }
        user->wrong += kvr_chunk_bytes(chunk)[0] != i + 1;
        kvr_chunk_cache_release(user->cache, chunk, false);
    }
    return NULL;
}

/* With one failure, the thread that met it is told; the others load for themselves. */
START_TEST(threads_load_a_chunk_once)
{
    enum { THREADS = 6 };
    struct source source = {.size = 100, .pause = 2000, .failures_left = (unsigned)_i};
    struct kvr_chunk_cache *cache = new_cache(1 << 20);
    struct user users[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        users[i] = (struct user){.cache = cache, .source = &source};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_all, &users[i]), 0);
    }
    unsigned failures = 0;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(users[i].wrong, 0);
        failures += users[i].failures;
    }
    ck_assert_uint_eq(failures, (unsigned)_i);
    /* A chunk that failed is loaded again only if somebody asks again. */
    ck_assert_uint_ge(source.loads, 8);
    ck_assert_uint_le(source.loads, 8 + (unsigned)_i);
    kvr_chunk_cache_free(cache);
}
END_TEST

Suite *kvr_suite_chunk(void)
{
    Suite *suite = suite_create("chunk");
    TCase *tcase = tcase_create("chunk");
    tcase_add_test(tcase, unshuffling);
    tcase_add_test(tcase, keeping_planes);
    tcase_add_test(tcase, places_to_decode_in);
    tcase_add_test(tcase, checksums);
    tcase_add_test(tcase, inflating);
    tcase_add_test(tcase, a_chunk_of_another_size);
    tcase_add_test(tcase, the_least_recently_used_goes_first);
    tcase_add_test(tcase, chunks_in_use_stay);
    tcase_add_test(tcase, a_failure_is_not_remembered);
    tcase_add_loop_test(tcase, threads_load_a_chunk_once, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
