/*
 * What all writers of HDF5 files share: attributes, groups, files, and telling a failure. Every
 * function is called between kvr_h5_enter and kvr_h5_leave; what they make is stamped with no time,
 * so that the same calls give the same bytes. Those that return herr_t or hid_t return a negative
 * number on failure, as HDF5 does.
 */
#ifndef KVR_H5_WRITE_H
#define KVR_H5_WRITE_H

#include <hdf5.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/sink.h"

/* A property list of this class that keeps times out of the file; the caller's to close. */
hid_t kvr_h5_untimed(hid_t class_id);

/* An integer attribute of 64 bits. */
herr_t kvr_h5_put_integer(hid_t object, const char *name, uint64_t value);

/* A 64-bit float attribute. Nothing is written for NaN, which means "not recorded". */
herr_t kvr_h5_put_double(hid_t object, const char *name, double value);

/* A string attribute as h5py writes it: UTF-8 of variable length. Nothing is written for NULL. */
herr_t kvr_h5_put_string(hid_t object, const char *name, const char *value);

/* A new group; the caller's to close. */
hid_t kvr_h5_make_group(hid_t parent, const char *name);

/* A new file in the sink, for readers from HDF5 1.10 on; closing it closes what is open in it.
   Objects have the oldest form that `least` allows. */
hid_t kvr_h5_make_file(struct kvr_sink *sink, H5F_libver_t least);

/* KVR_IO with what HDF5 said about the call that has just failed at this place of the file. */
enum kvr_status kvr_h5_write_failed(const char *path, const char *place, struct kvr_error *err);

#endif
