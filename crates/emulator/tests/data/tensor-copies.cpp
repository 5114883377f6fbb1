// Runs random tensor copies on the GPU and writes, one line each, what was asked for and what came out: a hash of all shared memory
// after a load, of all 64 KiB of global memory after a store or reduction, and the bytes that changed. To make it and run it:
//   nvcc -std=c++17 -arch=sm_90a -cubin tensor-copies.cu -o kernel.cubin
//   nvcc -x c++ -std=c++17 tensor-copies.cpp -o host -ldl && ./host 700 1 > all.txt
//   ./host COUNT [SEED]          fixed cases, then random boxes
// Cases run in a child process. Where one ends it, the next child goes on behind that case; each has 10 s, all together 150 s.
#include <cuda.h>
#include <dlfcn.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define API(name) static decltype(&name) p_##name;
#define APIS(X) X(cuInit) X(cuDeviceGet) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuModuleLoad) X(cuModuleGetFunction) \
    X(cuFuncSetAttribute) X(cuLaunchKernel) X(cuCtxSynchronize) X(cuTensorMapEncodeTiled)
APIS(API)
static CUresult (*alloc_)(CUdeviceptr*, size_t);
static CUresult (*h2d)(CUdeviceptr, const void*, size_t);
static CUresult (*d2h)(void*, CUdeviceptr, size_t);

static void check(CUresult r, const char* what) {
    if (r) { printf("error %s %d\n", what, (int)r); fflush(stdout); exit(1); }
}

static uint32_t hash32(uint32_t x) {
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}

static uint64_t state = 1;
static uint32_t random32() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return hash32((uint32_t)(state >> 32));
}
static uint32_t pick(uint32_t n) { return random32() % n; }

static const int BYTES[13] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
static const char* NAMES[13] = {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz"};
static const char* MODES[10] = {"load", "store", "add", "min", "max", "inc", "dec", "and", "or", "xor"};

// Data: kind 0, any bits; 1, numbers near one; 2, special ones among them. Word i of a memory with a seed.
// Of kinds 1 and 2 the element type decides where exponents are: see `word`.
static uint32_t half_of(uint32_t h, int kind, bool brain) {
    const uint32_t sign = h & 0x8000;
    if (kind == 2) switch (h >> 16 & 15) {
        case 0: return sign;                                             // zero
        case 1: return sign | (brain ? 0x7f80 : 0x7c00);                 // infinity
        case 2: return sign | (brain ? 0x7fc1 : 0x7e01);                 // NaN
        case 3: return sign | (h & (brain ? 0x7f : 0x3ff));              // subnormal
        case 4: return sign | (brain ? 0x7f7f : 0x7bff);                 // the largest
        case 5: return sign | (brain ? 0x7f81 : 0x7c01);                 // signalling NaN
    }
    return brain ? sign | 0x3f00 | (h & 0xff) : sign | 0x3800 | (h & 0x7ff);
}
static uint32_t single_of(uint32_t h, int kind) {
    const uint32_t sign = h & 0x80000000u;
    if (kind == 2) switch (h >> 23 & 15) {
        case 0: return sign;
        case 1: return sign | 0x7f800000;
        case 2: return sign | 0x7fc00001;
        case 3: return sign | (h & 0x7fffff);
        case 4: return sign | 0x7f7fffff;
        case 5: return sign | 0x7f800001;
    }
    return sign | 0x3f000000 | (h & 0xffffff);
}
static uint32_t word(uint32_t seed, uint32_t i, int element, int kind) {
    const uint32_t h = hash32(seed + i);
    if (kind == 0) return h;
    switch (element) {
        case 6: case 9: return half_of(h, kind, element == 9) | half_of(hash32(h + 1), kind, element == 9) << 16;
        case 7: case 10: case 11: case 12: return single_of(h, kind);
        case 8: return i % 2 == 0 ? h : (h & 0x80000000u) | 0x3fe00000 | (h & 0x1fffff);
        default: return h;
    }
}

static uint64_t fnv(const uint8_t* p, size_t n) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < n; ++i) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

static const int MEMORY = 65536, SHARED = 16384;
static CUfunction function;
static CUdeviceptr memory, in, out;

struct Case {
    int mode, element, rank, swizzle, fill, place, kind;
    uint64_t offset, sizes[5], strides[4];
    uint32_t box[5], steps[5];
    int coords[5];
    uint32_t seed;
};

static int moved(const Case& c, int n) { return n ? (c.box[n] + c.steps[n] - 1) / c.steps[n] : c.box[0]; }

template <class T> static void list(const char* name, const T* p, int n) {
    printf(" %s ", name);
    for (int i = 0; i < n; ++i) printf("%s%lld", i ? "," : "", (long long)p[i]);
    if (n == 0) printf("-");
}

static void differences(const std::vector<uint8_t>& before, const std::vector<uint8_t>& after) {
    size_t shown = 0;
    for (size_t i = 0; i < before.size() && shown < 3000;) {
        if (before[i] == after[i]) { ++i; continue; }
        size_t end = i;
        for (size_t j = i; j < before.size() && j < end + 8; ++j) if (before[j] != after[j]) end = j + 1;
        printf(" %zu:", i);
        for (; i < end && shown < 3000; ++i, ++shown) printf("%02x", after[i]);
    }
}

static void run(int number, const Case& c) {
    CUtensorMap map;
    memset(&map, 0, sizeof map);
    CUresult r = p_cuTensorMapEncodeTiled(&map, (CUtensorMapDataType)c.element, c.rank, (void*)(memory + c.offset), (const cuuint64_t*)c.sizes,
                                          (const cuuint64_t*)c.strides, c.box, c.steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                          (CUtensorMapSwizzle)c.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)c.fill);
    int bytes = BYTES[c.element];
    for (int n = 0; n < c.rank; ++n) bytes *= moved(c, n);
    printf("case %d mode %s element %s rank %d offset %llu", number, MODES[c.mode], NAMES[c.element], c.rank, (unsigned long long)c.offset);
    list("sizes", c.sizes, c.rank);
    list("strides", c.strides, c.rank - 1);
    list("box", c.box, c.rank);
    list("steps", c.steps, c.rank);
    printf(" swizzle %d fill %d place %d", c.swizzle, c.fill, c.place);
    list("coords", c.coords, c.rank);
    printf(" bytes %d kind %d seed %u", bytes, c.kind, c.seed);
    if (r) { printf(" refused %d\n", (int)r); return; }
    std::vector<uint8_t> before(MEMORY), after(MEMORY), shared(SHARED), got(SHARED + 16);
    for (int i = 0; i < MEMORY / 4; ++i) ((uint32_t*)before.data())[i] = word(c.seed, i, c.element, c.kind);
    for (int i = 0; i < SHARED / 4; ++i) ((uint32_t*)shared.data())[i] = word(c.seed + 0x10000000, i, c.element, c.kind);
    check(h2d(memory, before.data(), MEMORY), "copy in");
    check(h2d(in, shared.data(), SHARED), "copy in");
    Case k = c;
    int shared_bytes = SHARED;
    void* args[] = {&map, &k.mode, &k.rank, &k.coords[0], &k.coords[1], &k.coords[2], &k.coords[3], &k.coords[4], &k.place, &bytes, &shared_bytes, &in, &out};
    fflush(stdout);
    check(p_cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, SHARED, nullptr, args, nullptr), "launch");
    CUresult end = p_cuCtxSynchronize();
    if (end) { printf(" failed %d\n", (int)end); fflush(stdout); exit(1); }
    check(d2h(after.data(), memory, MEMORY), "copy out");
    check(d2h(got.data(), out, SHARED + 16), "copy out");
    const uint32_t* tail = (const uint32_t*)(got.data() + SHARED);
    printf(" done %u", tail[0]);
    got.resize(SHARED);
    if (c.mode == 0) {
        printf(" hash %016llx", (unsigned long long)fnv(got.data(), SHARED));
        differences(shared, got);
    } else {
        printf(" hash %016llx", (unsigned long long)fnv(after.data(), MEMORY));
        differences(before, after);
    }
    printf("\n");
    fflush(stdout);
}

// Operations that the manual names for a type. Mode 0 and 1 are for all.
static bool takes(int mode, int element) {
    switch (mode) {
        case 0: case 1: return true;
        case 2: return element == 2 || element == 3 || element == 4 || element >= 6;
        case 3: case 4: return (element >= 2 && element <= 6) || element == 9;
        case 5: case 6: return element == 2;
        default: return element >= 2 && element <= 4;
    }
}

static bool make(Case& c, int mode, int element) {
    c = Case{};
    c.mode = mode; c.element = element;
    const int es = BYTES[element];
    c.rank = 1 + pick(5);
    c.swizzle = pick(4);
    const bool is_float = element >= 6;
    c.fill = mode == 0 && is_float ? pick(2) : 0;
    c.offset = 16 * pick(64);
    c.seed = random32() & 0xfffffff;
    c.kind = mode <= 1 ? (pick(3) ? 0 : 2) : 1 + pick(2);
    int most = c.swizzle == 0 ? 256 : 16 << c.swizzle;
    int row = 16 * (1 + pick(most / 16));
    // (Some others end by an error: the fixed cases show which.)
    if (c.swizzle && pick(8)) row = 16 << pick(c.swizzle + 1);
    if (row / es > 256) row = 256 * es / 16 * 16;
    c.box[0] = row / es;
    if (c.box[0] == 0) return false;
    c.sizes[0] = 1 + pick(2 * c.box[0] + 8);
    c.steps[0] = pick(4) ? 1 : 1 + pick(8);
    uint64_t stride = (c.sizes[0] * es + 15) / 16 * 16 + (pick(3) ? 0 : 16 * pick(3));
    for (int n = 1; n < c.rank; ++n) {
        c.strides[n - 1] = stride;
        c.sizes[n] = 1 + pick(c.rank <= 2 ? 24 : 6);
        c.box[n] = 1 + pick(c.rank <= 2 ? 32 : 6);
        c.steps[n] = pick(3) ? 1 : 1 + pick(8);
        stride = stride * c.sizes[n] + (pick(4) ? 0 : 16 * pick(4));
    }
    if (stride + c.offset > MEMORY) return false;
    int bytes = es;
    for (int n = 0; n < c.rank; ++n) {
        bytes *= moved(c, n);
        const int size = (int)c.sizes[n], box = (int)c.box[n];
        switch (pick(3)) {
            case 0: c.coords[n] = 0; break;
            case 1: c.coords[n] = (int)pick(size); break;
            default: c.coords[n] = (int)pick(size + 2 * box) - box - 1;
        }
    }
    c.place = 128 * pick(24);
    // Rows may lie as far apart as the swizzle is long.
    const int apart = c.swizzle ? 16 << c.swizzle : 0;
    const int length = apart > row ? bytes / row * apart : bytes;
    return c.place + (length + 127) / 128 * 128 <= SHARED;
}

// Every row of whole chunks that a swizzle takes, loaded and stored, of one dimension and of two; and doubtful types.
static std::vector<Case> fixed() {
    std::vector<Case> all;
    for (int mode = 0; mode < 2; ++mode)
        for (int rank = 1; rank <= 2; ++rank)
            for (int swizzle = 1; swizzle < 4; ++swizzle)
                for (int chunks = 1; chunks <= 1 << swizzle; ++chunks) {
                    Case c{};
                    c.mode = mode; c.element = 2; c.rank = rank; c.swizzle = swizzle; c.seed = 1000 + (uint32_t)all.size();
                    c.sizes[0] = 64; c.sizes[1] = 16; c.strides[0] = 256;
                    c.box[0] = 4 * chunks; c.box[1] = 9; c.steps[0] = c.steps[1] = 1;
                    c.place = 1024;
                    all.push_back(c);
                }
    for (int mode = 2; mode < 5; ++mode)
        for (int element : {5, 8, 10, 11}) {
            Case c{};
            c.mode = mode; c.element = element; c.rank = 1; c.seed = 5000 + (uint32_t)all.size(); c.kind = 1;
            c.sizes[0] = 64; c.box[0] = 16; c.steps[0] = 1;
            all.push_back(c);
        }
    return all;
}

static void begin() {
    void* lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) { printf("error: no libcuda.so.1\n"); exit(1); }
#define FIND(name) p_##name = (decltype(p_##name))dlsym(lib, #name);
    APIS(FIND)
    alloc_ = (decltype(alloc_))dlsym(lib, "cuMemAlloc_v2");
    h2d = (decltype(h2d))dlsym(lib, "cuMemcpyHtoD_v2");
    d2h = (decltype(d2h))dlsym(lib, "cuMemcpyDtoH_v2");
    CUdevice device; CUcontext context; CUmodule module;
    check(p_cuInit(0), "init");
    check(p_cuDeviceGet(&device, 0), "device");
    check(p_cuDevicePrimaryCtxRetain(&context, device), "context");
    check(p_cuCtxSetCurrent(context), "context");
    check(p_cuModuleLoad(&module, "kernel.cubin"), "kernel.cubin");
    check(p_cuModuleGetFunction(&function, module, "probe"), "probe");
    check(p_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED), "shared memory");
    check(alloc_(&memory, MEMORY), "memory");
    check(alloc_(&in, SHARED), "memory");
    check(alloc_(&out, SHARED + 16), "memory");
}

int main(int argc, char** argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 500;
    state = argc > 2 ? atoi(argv[2]) : 1;
    std::vector<Case> cases = fixed();
    for (int n = 0; n < count; ++n) {
        Case c;
        int mode, element;
        do {
            do { mode = pick(2) ? 0 : pick(10); element = pick(13); } while (!takes(mode, element));
        } while (!make(c, mode, element));
        cases.push_back(c);
    }
    volatile int* at = (volatile int*)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const time_t start = time(nullptr);
    int next = 0;
    fflush(stdout);
    while (next < (int)cases.size() && time(nullptr) - start < 150) {
        *at = -1;
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            begin();
            for (int n = next; n < (int)cases.size(); ++n) {
                *at = n;
                alarm(10);
                run(n, cases[n]);
            }
            *at = (int)cases.size();
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (*at < 0) { printf("error: no GPU answers\n"); return 1; }
        if (WIFSIGNALED(status)) printf(" killed %d\n", WTERMSIG(status));
        fflush(stdout);
        next = *at + 1;
    }
    if (next < (int)cases.size()) printf("# out of time\n");
    return 0;
}
