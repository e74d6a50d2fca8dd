/*
 * The HDF5 file driver that lets HDF5 write to a sink (formats/sink.h).
 *
 * The files that it makes are those of HDF5's default driver, byte for byte.
 */
#ifndef KVR_SINK_DRIVER_H
#define KVR_SINK_DRIVER_H

#include <hdf5.h>

#include "formats/sink.h"

/*
 * Creates an HDF5 file on the sink with these property lists; negative on failure. The sink must
 * live until the file was closed. To be called between kvr_h5_enter and kvr_h5_leave.
 */
hid_t kvr_sink_create_file(struct kvr_sink *sink, hid_t creation, hid_t access);

#endif
