/*
 * A hash table of chunks and a list of those that nobody uses. It must not know what a chunk holds.
 */
#include "formats/chunk_cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "formats/base/memory.h"

enum {
    LEAST_BUCKETS = 64,
    MOST_BUCKETS = 1 << 16,
    FINISHED_SHARE = 4,   /* finished chunks have this part of the limit */
    TYPICAL_CHUNK = 4096, /* bytes; one bucket for each that the limit has room for */
};

struct kvr_chunk {
    struct kvr_chunk_key key;
    unsigned char *bytes;
    size_t size;
    size_t users;
    bool loading;
    bool finished;                   /* while unused: no read is expected */
    struct kvr_chunk *next;          /* in its bucket */
    struct kvr_chunk *newer, *older; /* among the unused, NULL while in use */
};

struct kvr_chunk_cache {
    pthread_mutex_t lock;
    pthread_cond_t loaded; /* some load has ended, well or badly */
    size_t limit;
    size_t held;         /* bytes of all chunks, in use or not */
    size_t bucket_count; /* a power of two */
    struct kvr_chunk **buckets;
    struct kvr_chunk
        unused; /* head of the ring: unused.older is the newest, unused.newer the oldest */
};

enum kvr_status kvr_chunk_cache_new(size_t limit, struct kvr_chunk_cache **out,
                                    struct kvr_error *err)
{
    struct kvr_chunk_cache *cache = kvr_alloc(1, sizeof *cache, err);
    if (cache == NULL)
        return KVR_NO_MEMORY;
    cache->limit = limit;
    cache->bucket_count = LEAST_BUCKETS;
    while (cache->bucket_count < MOST_BUCKETS && cache->bucket_count < limit / TYPICAL_CHUNK)
        cache->bucket_count *= 2;
    cache->buckets = kvr_alloc(cache->bucket_count, sizeof(struct kvr_chunk *), err);
    if (cache->buckets == NULL) {
        free(cache);
        return KVR_NO_MEMORY;
    }
    cache->unused.newer = cache->unused.older = &cache->unused;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->loaded, NULL);
    *out = cache;
    return KVR_OK;
}

static void free_chunk(struct kvr_chunk *chunk)
{
    free(chunk->bytes);
    free(chunk);
}

void kvr_chunk_cache_free(struct kvr_chunk_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < cache->bucket_count; i++) {
        for (struct kvr_chunk *chunk = cache->buckets[i], *next; chunk != NULL; chunk = next) {
            next = chunk->next;
            free_chunk(chunk);
        }
    }
    pthread_cond_destroy(&cache->loaded);
    pthread_mutex_destroy(&cache->lock);
    free(cache->buckets);
    free(cache);
}

static struct kvr_chunk **bucket_of(struct kvr_chunk_cache *cache, struct kvr_chunk_key key)
{
    uint64_t hash =
        (key.dataset * UINT64_C(0x9e3779b97f4a7c15) + key.chunk) * UINT64_C(0xbf58476d1ce4e5b9);
    return &cache->buckets[(hash >> 32) & (cache->bucket_count - 1)];
}

static struct kvr_chunk *find(struct kvr_chunk_cache *cache, struct kvr_chunk_key key)
{
    struct kvr_chunk *chunk = *bucket_of(cache, key);
    while (chunk != NULL && (chunk->key.dataset != key.dataset || chunk->key.chunk != key.chunk))
        chunk = chunk->next;
    return chunk;
}

static void drop(struct kvr_chunk_cache *cache, struct kvr_chunk *chunk)
{
    struct kvr_chunk **link = bucket_of(cache, chunk->key);
    while (*link != chunk)
        link = &(*link)->next;
    *link = chunk->next;
    cache->held -= chunk->size + sizeof *chunk;
    free_chunk(chunk);
}

/* Joins the ring of unused chunks next to its head, as the newest or as the oldest. */
static void set_unused(struct kvr_chunk_cache *cache, struct kvr_chunk *chunk, bool as_oldest)
{
    chunk->finished = as_oldest;
    struct kvr_chunk *head = &cache->unused;
    chunk->newer = as_oldest ? head->newer : head;
    chunk->older = as_oldest ? head : head->older;
    chunk->newer->older = chunk;
    chunk->older->newer = chunk;
}

static void set_used(struct kvr_chunk *chunk)
{
    chunk->newer->older = chunk->older;
    chunk->older->newer = chunk->newer;
    chunk->newer = chunk->older = NULL;
}

/* Chunks that are finished make place earlier than others: memory that was used a moment ago is
   still in the processor's cache. */
static void shrink(struct kvr_chunk_cache *cache)
{
    struct kvr_chunk *head = &cache->unused;
    while (head->newer != head) {
        struct kvr_chunk *oldest = head->newer;
        size_t limit = oldest->finished ? cache->limit / FINISHED_SHARE : cache->limit;
        if (cache->held <= limit)
            break;
        head->newer = oldest->newer;
        head->newer->older = head;
        drop(cache, oldest);
    }
}

/* Puts an empty chunk in place that this thread is going to load. Called with the lock held. */
static struct kvr_chunk *begin_load(struct kvr_chunk_cache *cache, struct kvr_chunk_key key,
                                    struct kvr_error *err)
{
    struct kvr_chunk *chunk = kvr_alloc(1, sizeof *chunk, err);
    if (chunk == NULL)
        return NULL;
    struct kvr_chunk **bucket = bucket_of(cache, key);
    *chunk = (struct kvr_chunk){.key = key, .users = 1, .loading = true, .next = *bucket};
    *bucket = chunk;
    cache->held += sizeof *chunk;
    return chunk;
}

/* Called with the lock held, which is open while `load` runs. */
static enum kvr_status load_chunk(struct kvr_chunk_cache *cache, struct kvr_chunk *chunk,
                                  kvr_chunk_load *load, void *context, struct kvr_error *err)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    pthread_mutex_unlock(&cache->lock);
    enum kvr_status status = load(context, chunk->key, &bytes, &size, err);
    pthread_mutex_lock(&cache->lock);
    chunk->loading = false;
    if (status == KVR_OK) {
        chunk->bytes = bytes;
        chunk->size = size;
        cache->held += size;
        shrink(cache);
    } else {
        drop(cache, chunk); /* waiting threads look it up again and load it themselves */
    }
    pthread_cond_broadcast(&cache->loaded);
    return status;
}

enum kvr_status kvr_chunk_cache_take(struct kvr_chunk_cache *cache, struct kvr_chunk_key key,
                                     kvr_chunk_load *load, void *context, struct kvr_chunk **out,
                                     struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    pthread_mutex_lock(&cache->lock);
    struct kvr_chunk *chunk = find(cache, key);
    while (chunk != NULL && chunk->loading) {
        pthread_cond_wait(&cache->loaded, &cache->lock);
        chunk = find(cache, key);
    }
    if (chunk != NULL) {
        if (chunk->users++ == 0)
            set_used(chunk);
    } else {
        chunk = begin_load(cache, key, err);
        status = chunk != NULL ? load_chunk(cache, chunk, load, context, err) : KVR_NO_MEMORY;
    }
    pthread_mutex_unlock(&cache->lock);
    if (status == KVR_OK)
        *out = chunk;
    return status;
}

const unsigned char *kvr_chunk_bytes(const struct kvr_chunk *chunk)
{
    return chunk->bytes;
}

void kvr_chunk_cache_release(struct kvr_chunk_cache *cache, struct kvr_chunk *chunk, bool finished)
{
    pthread_mutex_lock(&cache->lock);
    if (--chunk->users == 0)
        set_unused(cache, chunk, finished);
    shrink(cache);
    pthread_mutex_unlock(&cache->lock);
}
