/*
 * The processes of one job, started by mpirun or srun: who this one is, and what all must agree on.
 *
 * ranks_mpi.c is built with `make MPI=1`, ranks_single.c else: there is one process then, and
 * everything here is trivially so. Call from the main thread only. What "collective" functions do
 * needs all ranks to call them in the same order.
 */
#ifndef KVR_RANKS_H
#define KVR_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/* Joins the job. Before it, and without it, there is one rank. */
void kvr_ranks_start(void);

size_t kvr_ranks_own(void); /* from 0 on */
size_t kvr_ranks_count(void);

/*
 * Collective: every rank brings how it fared. If one failed, all get the status of the lowest such
 * rank; rank 0 has its error in *err, to tell it once, the others KVR_ERROR_NONE.
 */
enum kvr_status kvr_ranks_agree(enum kvr_status status, struct kvr_error *err);

/* Collective: all get rank 0's bytes. */
void kvr_ranks_share(void *bytes, size_t length);

/* Collective: the sum over all ranks. */
uint64_t kvr_ranks_sum(uint64_t value);

/*
 * The last thing that a process does; returns its exit status. A failure that the ranks did not
 * agree on ends the whole job here, so it must have been told.
 */
int kvr_ranks_end(int exit_status);

#endif
