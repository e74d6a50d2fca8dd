/* The dialect of the kernels in OpenCL C 1.2. KVR_GROUP and KVR_DOUBLES come from the host. */
#if KVR_DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
/* Contraction would change rounding, and with it kept sets, between machines. */
#pragma OPENCL FP_CONTRACT OFF

typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;
#if KVR_DOUBLES
typedef double f64;
#endif

#define KERNEL __kernel void
#define FUNCTION static
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ROOM __local
#define ITEM ((u32)get_local_id(0))
#define GROUP_INDEX ((u64)get_group_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LOCAL_ADD(place, value) atomic_add(place, value)
#define POPCOUNT(word) ((u32)popcount(word))
#define FLOAT_OF_BITS(bits) as_float(bits)
#define BITS_OF_FLOAT(value) as_uint(value)
#define DOUBLE_OF_BITS(bits) as_double(bits)
#define BITS_OF_DOUBLE(value) as_ulong(value)
#define ROUND_EVEN(value) rint(value)
#define MAGNITUDE(value) fabs(value)
#define FUSED(a, b, c) fma(a, b, c)
