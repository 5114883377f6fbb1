// Writes occupancy.csv: what NVIDIA's own calculator says of a grid of launches.
//
// cuda_occupancy.h comes with CUDA (PyPI: nvidia-cuda-runtime; occupancy.csv was made with 13.5.37, which still knows sm_37) and compiles alone:
//
//   g++ -I <folder of cuda_occupancy.h> occupancy.cpp -o occupancy && ./occupancy > occupancy.csv
//
// One row for each GPU, block size and register count; one column for each amount of shared memory. A cell holds
// the blocks per SM and the letters of what limits them: w(arps), r(egisters), s(hared memory), b(locks).
#include <climits>
#include <cstdio>
#include <initializer_list>

#include "cuda_occupancy.h"

struct Sm {
    int major, minor, threads, registers, shared_kib, shared_opt_in_kib, reserved;
};

static const Sm SMS[] = {
    {3, 7, 2048, 131072, 112, 48, 0},      {6, 0, 2048, 65536, 64, 48, 0},       {6, 1, 2048, 65536, 96, 48, 0},
    {7, 0, 2048, 65536, 96, 96, 0},        {7, 5, 1024, 65536, 64, 64, 0},       {8, 0, 2048, 65536, 164, 163, 1024},
    {8, 6, 1536, 65536, 100, 99, 1024},    {8, 9, 1536, 65536, 100, 99, 1024},   {9, 0, 2048, 65536, 228, 227, 1024},
    {10, 0, 2048, 65536, 228, 227, 1024},  {12, 0, 1536, 65536, 100, 99, 1024},
};
static const int THREADS[] = {1, 32, 33, 64, 96, 128, 224, 256, 257, 512, 1000, 1024, 1025};
static const int REGISTERS[] = {16, 17, 32, 40, 41, 64, 65, 96, 128, 168, 200, 255};
// Sizes on and beside the limits, and some that fit one time more before than after rounding up.
static const int SHARED[] = {0,     1,     1024,  2048,  3073,  8192,  12289, 13107,  13604,  16640,  17635,  22323, 22937,
                             33333, 49152, 49153, 65536, 65537, 98304, 98305,  101376, 101377, 166912, 166913, 232448, 232449};

static cudaOccDeviceProp device(const Sm& sm) {
    cudaOccDeviceProp d;
    d.computeMajor = sm.major;
    d.computeMinor = sm.minor;
    d.maxThreadsPerBlock = 1024;
    d.maxThreadsPerMultiprocessor = sm.threads;
    d.regsPerBlock = 65536;
    d.regsPerMultiprocessor = sm.registers;
    d.warpSize = 32;
    d.sharedMemPerBlock = 48 * 1024;
    d.sharedMemPerMultiprocessor = sm.shared_kib * 1024;
    d.numSms = 1;
    d.sharedMemPerBlockOptin = sm.shared_opt_in_kib * 1024;
    d.reservedSharedMemPerBlock = sm.reserved;
    return d;
}

static void cell(const cudaOccDeviceProp& d, int threads, int registers, int shared) {
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = INT_MAX;
    kernel.numRegs = registers;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = shared;
    cudaOccDeviceState state;
    cudaOccResult r;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &d, &kernel, &state, threads, shared) != CUDA_OCC_SUCCESS) {
        printf(",error");
        return;
    }
    printf(",%d", r.activeBlocksPerMultiprocessor);
    if (r.limitingFactors & OCC_LIMIT_WARPS) putchar('w');
    if (r.limitingFactors & OCC_LIMIT_REGISTERS) putchar('r');
    if (r.limitingFactors & OCC_LIMIT_SHARED_MEMORY) putchar('s');
    if (r.limitingFactors & OCC_LIMIT_BLOCKS) putchar('b');
}

int main() {
    printf("sm,threads,registers");
    for (int shared : SHARED) printf(",%d", shared);
    puts("");
    for (const Sm& sm : SMS) {
        const cudaOccDeviceProp d = device(sm);
        for (int threads : THREADS) {
            for (int registers : REGISTERS) {
                printf("%d,%d,%d", 10 * sm.major + sm.minor, threads, registers);
                for (int shared : SHARED) cell(d, threads, registers, shared);
                puts("");
            }
        }
    }
}
