/*
 * The gnuplot templates of plots/NAME.gp, built into the program by the Makefile.
 */
#ifndef KVR_TEMPLATES_H
#define KVR_TEMPLATES_H

struct kvr_template {
    const char *name;         /* of the file, without ".gp" */
    const char *const *lines; /* without line ends; ends with NULL */
};

/* Ends with a NULL name. */
extern const struct kvr_template kvr_templates[];

#endif
