/*
 * `kvreplay help policies`: every policy, every stage, what a trace must hold for them.
 */
#ifndef KVR_HELP_POLICIES_H
#define KVR_HELP_POLICIES_H

#include <stdio.h>

/* Prints the registries. */
void kvr_print_policies(FILE *stream);

#endif
