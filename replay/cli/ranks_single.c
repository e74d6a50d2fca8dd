/*
 * One process: the ranks of a build without MPI.
 */
#include "replay/cli/ranks.h"

void kvr_ranks_start(void)
{
}

size_t kvr_ranks_own(void)
{
    return 0;
}

size_t kvr_ranks_count(void)
{
    return 1;
}

enum kvr_status kvr_ranks_agree(enum kvr_status status, struct kvr_error *err)
{
    (void)err;
    return status;
}

void kvr_ranks_share(void *bytes, size_t length)
{
    (void)bytes;
    (void)length;
}

uint64_t kvr_ranks_sum(uint64_t value)
{
    return value;
}

int kvr_ranks_end(int exit_status)
{
    return exit_status;
}
