/*
 * The CUDA form of the kernels through NVRTC, wherever that library is: it needs no device.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/gpu/cuda_compile.h"
#include "replay/gpu/kernels.h"
#include "tests/suites.h"

START_TEST(cuda_kernels)
{
    static const char *const kernels[] = {"row_sums",   "statistics",   "pool_sums", "page_sums",
                                          "select_top", "count_unions", "sort_step"};
    struct kvr_text program = {0};
    struct kvr_error err = KVR_ERROR_NONE;
    kvr_kernel_program("cuda", &program);
    ck_assert_int_eq(kvr_text_check(&program, NULL), KVR_OK);
    for (unsigned capability = 80; capability <= 90; capability += 10) {
        char *ptx = NULL;
        enum kvr_status status = cuda_compile(program.data, capability, 256, &ptx, &err);
        if (status == KVR_UNSUPPORTED) {
            printf("skipped: kernels for CUDA: %s\n", err.message);
            break;
        }
        ck_assert_msg(status == KVR_OK, "%s", err.message);
        char target[32];
        snprintf(target, sizeof target, ".target sm_%u", capability);
        ck_assert_msg(strstr(ptx, target) != NULL, "no %s", target);
        ck_assert_ptr_null(strstr(ptx, "fma.rn.f64")); /* contraction would change rounding */
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
            char entry[64];
            snprintf(entry, sizeof entry, ".entry %s(", kernels[i]);
            ck_assert_msg(strstr(ptx, entry) != NULL, "no %s", entry);
        }
        free(ptx);
        ck_assert_int_eq(cuda_compile("this is no kernel;", capability, 256, &ptx, &err), KVR_IO);
        ck_assert_msg(strstr(err.message, "error") != NULL, "%s", err.message);
    }
    kvr_text_free(&program);
}
END_TEST

Suite *kvr_suite_gpu_cuda(void)
{
    Suite *suite = suite_create("gpu_cuda");
    TCase *tests = tcase_create("compiler");
    tcase_add_test(tests, cuda_kernels);
    suite_add_tcase(suite, tests);
    return suite;
}
