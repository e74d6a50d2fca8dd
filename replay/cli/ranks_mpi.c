/*
 * The ranks of an MPI job. Nothing else knows MPI, and this does not know what the ranks work on.
 *
 * MPI ends the job by itself when a call of it fails, so no call is checked.
 */
#include "replay/cli/ranks.h"

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>

static bool joined;
static bool agreed_to_fail;
static int own, count = 1;

void kvr_ranks_start(void)
{
    int level; /* the threads of a replay never enter MPI */
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    joined = true;
}

size_t kvr_ranks_own(void)
{
    return (size_t)own;
}

size_t kvr_ranks_count(void)
{
    return (size_t)count;
}

enum kvr_status kvr_ranks_agree(enum kvr_status status, struct kvr_error *err)
{
    if (!joined)
        return status;
    int failed = status == KVR_OK ? INT_MAX : own, lowest;
    MPI_Allreduce(&failed, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest == INT_MAX)
        return KVR_OK;
    agreed_to_fail = true;
    MPI_Bcast(err, sizeof *err, MPI_BYTE, lowest, MPI_COMM_WORLD);
    status = err->status;
    if (own != 0)
        *err = KVR_ERROR_NONE;
    return status;
}

void kvr_ranks_share(void *bytes, size_t length)
{
    if (joined)
        MPI_Bcast(bytes, (int)length, MPI_BYTE, 0, MPI_COMM_WORLD);
}

uint64_t kvr_ranks_sum(uint64_t value)
{
    uint64_t sum = value;
    if (joined)
        MPI_Allreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int kvr_ranks_end(int exit_status)
{
    if (!joined)
        return exit_status;
    if (exit_status != 0 && !agreed_to_fail && count > 1)
        MPI_Abort(MPI_COMM_WORLD, exit_status);
    MPI_Finalize();
    return exit_status;
}
