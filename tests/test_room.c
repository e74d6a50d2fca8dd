/*
 * Rooms: pieces stay valid, marks give back, and after the first round nothing is allocated.
 */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "formats/base/room.h"
#include "tests/suites.h"

static struct kvr_room room;

static void start(void)
{
    room = (struct kvr_room){0};
}

static void end(void)
{
    kvr_room_free(&room);
    ck_assert_ptr_null(room.blocks);
    ck_assert_uint_eq(room.total, 0);
}

static unsigned char *take(size_t count, size_t size)
{
    unsigned char *piece = kvr_room_take(&room, count, size, NULL);
    ck_assert_ptr_nonnull(piece);
    ck_assert_uint_eq((uintptr_t)piece % 64, 0);
    return piece;
}

static bool holds(const unsigned char *piece, size_t size, int value)
{
    for (size_t i = 0; i < size; i++)
        if (piece[i] != (unsigned char)value)
            return false;
    return true;
}

/* Pieces of any size, over many blocks: none overlaps another. */
START_TEST(test_pieces_do_not_overlap)
{
    enum { PIECES = 400 };
    static unsigned char *pieces[PIECES];
    static size_t sizes[PIECES];
    struct kvr_random random = kvr_random_stream(71, 0);
    for (int i = 0; i < PIECES; i++) {
        sizes[i] = kvr_random_below(&random, i % 50 == 0 ? 300000 : 3000);
        pieces[i] = take(sizes[i], 1);
        memset(pieces[i], i, sizes[i]);
    }
    for (int i = 0; i < PIECES; i++)
        ck_assert_msg(holds(pieces[i], sizes[i], i), "piece %d", i);
    ck_assert_uint_ge(room.total, room.used);
    ck_assert_uint_eq(room.peak, room.total);
}
END_TEST

START_TEST(test_zeroed_pieces)
{
    for (int round = 0; round < 3; round++) {
        memset(take(5000, 1), 0xff, 5000);
        kvr_room_reset(&room);
        unsigned char *piece = kvr_room_take_zeroed(&room, 1250, 4, NULL);
        ck_assert(holds(piece, 5000, 0));
        kvr_room_reset(&room);
    }
}
END_TEST

START_TEST(test_pieces_of_nothing)
{
    unsigned char *a = take(0, 8), *b = take(8, 0);
    ck_assert_ptr_ne(a, b);
}
END_TEST

START_TEST(test_impossible_sizes_are_refused)
{
    static const size_t cases[][2] = {
        {SIZE_MAX, 2}, {SIZE_MAX, 1}, {SIZE_MAX - 64, 1}, {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX / 4, 1}};
    unsigned char *piece = take(100, 1);
    memset(piece, 7, 100);
    size_t total = room.total;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_ptr_null(kvr_room_take(&room, cases[i][0], cases[i][1], &err));
        ck_assert_int_eq(err.status, KVR_NO_MEMORY);
        ck_assert_ptr_null(kvr_room_take_zeroed(&room, cases[i][0], cases[i][1], &err));
    }
    ck_assert_uint_eq(room.total, total); /* and the room is as it was */
    ck_assert(holds(piece, 100, 7));
    ck_assert_ptr_eq(take(1, 1), piece + 128);
}
END_TEST

START_TEST(test_marks_in_one_block)
{
    unsigned char *kept = take(100, 1);
    memset(kept, 1, 100);
    struct kvr_room_mark outer = kvr_room_mark(&room);
    unsigned char *first = take(1000, 1);
    struct kvr_room_mark inner = kvr_room_mark(&room);
    unsigned char *second = take(2000, 1);
    memset(second, 2, 2000);
    kvr_room_return(&room, inner);
    ck_assert_ptr_eq(take(10, 1), second); /* its place is free again */
    kvr_room_return(&room, outer);
    ck_assert_ptr_eq(take(10, 1), first);
    kvr_room_return(&room, outer);
    ck_assert(holds(kept, 100, 1));
}
END_TEST

START_TEST(test_marks_across_blocks)
{
    unsigned char *kept = take(1000, 1);
    memset(kept, 1, 1000);
    size_t total = room.total;
    struct kvr_room_mark mark = kvr_room_mark(&room);
    unsigned char *next = take(10, 1);
    for (int i = 0; i < 5; i++)
        memset(take(100000, 1), 3, 100000);
    ck_assert_uint_gt(room.total, total);
    kvr_room_return(&room, mark);
    ck_assert_uint_eq(room.total, total);
    ck_assert_ptr_eq(take(10, 1), next);
    ck_assert(holds(kept, 1000, 1));
    ck_assert_uint_ge(room.peak, total + 500000); /* remembered for the next reset */
}
END_TEST

/* A mark of the empty room gives everything back, but keeps memory for the next time. */
START_TEST(test_mark_of_an_empty_room)
{
    struct kvr_room_mark mark = kvr_room_mark(&room);
    unsigned char *piece = take(100, 1);
    take(200000, 1);
    kvr_room_return(&room, mark);
    ck_assert_uint_gt(room.total, 0);
    ck_assert_uint_eq(room.used, 0);
    ck_assert_ptr_eq(take(100, 1), piece);
}
END_TEST

/* What once needed several blocks fits one from the first reset on, and stays there. */
START_TEST(test_reset_makes_one_block)
{
    unsigned char *first = NULL;
    size_t total = 0;
    for (int round = 0; round < 5; round++) {
        unsigned char *pieces[20];
        for (int i = 0; i < 20; i++) {
            pieces[i] = take(30000, 1);
            memset(pieces[i], i, 30000);
        }
        for (int i = 0; i < 20; i++)
            ck_assert(holds(pieces[i], 30000, i));
        if (round == 1) {
            first = pieces[0];
            total = room.total;
            ck_assert_uint_ge(total, 600000);
        } else if (round > 1) {
            ck_assert_ptr_eq(pieces[0], first);
            ck_assert_uint_eq(room.total, total);
        }
        kvr_room_reset(&room);
        ck_assert_uint_eq(room.used, 0);
    }
}
END_TEST

/* The pattern of a replay: what a score takes is given back, what the cell takes stays. */
START_TEST(test_growth_between_marks)
{
    size_t total = 0;
    for (int cell = 0; cell < 6; cell++) {
        kvr_room_reset(&room);
        unsigned char *vectors = take(50000, 1);
        memset(vectors, 9, 50000);
        for (size_t score = 0; score < 4; score++) {
            struct kvr_room_mark mark = kvr_room_mark(&room);
            memset(take(40000 * (score + 1), 1), 1, 40000);
            kvr_room_return(&room, mark);
        }
        ck_assert(holds(vectors, 50000, 9));
        if (cell == 1)
            total = room.total;
        if (cell > 1)
            ck_assert_uint_eq(room.total, total);
    }
    ck_assert_uint_lt(total, 2 * (50000 + 160000 + 65536));
}
END_TEST

START_TEST(test_freed_room_can_be_used_again)
{
    take(100000, 1);
    kvr_room_free(&room);
    kvr_room_free(&room);
    kvr_room_reset(&room); /* of the empty room: nothing */
    ck_assert_uint_eq(room.total, 0);
    take(10, 1);
}
END_TEST

Suite *kvr_suite_room(void)
{
    Suite *suite = suite_create("room");
    TCase *all = tcase_create("room");
    tcase_add_checked_fixture(all, start, end);
    tcase_add_test(all, test_pieces_do_not_overlap);
    tcase_add_test(all, test_zeroed_pieces);
    tcase_add_test(all, test_pieces_of_nothing);
    tcase_add_test(all, test_impossible_sizes_are_refused);
    tcase_add_test(all, test_marks_in_one_block);
    tcase_add_test(all, test_marks_across_blocks);
    tcase_add_test(all, test_mark_of_an_empty_room);
    tcase_add_test(all, test_reset_makes_one_block);
    tcase_add_test(all, test_growth_between_marks);
    tcase_add_test(all, test_freed_room_can_be_used_again);
    suite_add_tcase(suite, all);
    return suite;
}
