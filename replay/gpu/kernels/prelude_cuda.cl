/* The dialect of the kernels in CUDA C++. KVR_GROUP and KVR_DOUBLES come from the host, which
   also forbids contraction (--fmad=false). */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#define KERNEL extern "C" __global__ void __launch_bounds__(KVR_GROUP)
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define LOCAL_ROOM __shared__
#define ITEM ((u32)threadIdx.x)
#define GROUP_INDEX ((u64)blockIdx.x)
#define BARRIER() __syncthreads()
#define LOCAL_ADD(place, value) atomicAdd(place, value)
#define POPCOUNT(word) ((u32)__popcll(word))
#define FLOAT_OF_BITS(bits) __uint_as_float(bits)
#define BITS_OF_FLOAT(value) __float_as_uint(value)
#define DOUBLE_OF_BITS(bits) __longlong_as_double((long long)(bits))
#define BITS_OF_DOUBLE(value) ((u64)__double_as_longlong(value))
#define ROUND_EVEN(value) rint(value)
#define MAGNITUDE(value) fabs(value)
#define FUSED(a, b, c) __fmaf_rn(a, b, c)
