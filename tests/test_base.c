#include "tests/suites.h"

#include "formats/base/number.h"

START_TEST(number_floor)
{
    struct kvr_decimal value;
    ck_assert(kvr_parse_decimal("0.29", &value));
    ck_assert_uint_eq(kvr_decimal_floor(value, 100, 1), 29);
}
END_TEST

Suite *kvr_suite_base(void)
{
    Suite *suite = suite_create("base");
    TCase *tcase = tcase_create("x");
    tcase_add_test(tcase, number_floor);
    suite_add_tcase(suite, tcase);
    return suite;
}
