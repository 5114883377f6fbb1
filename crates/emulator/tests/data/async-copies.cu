// What async-copies.py measures: one warp's cp.async in each of its forms. Compile for compute_80 to async-copies.ptx.
struct Pattern { int offset[32]; short size[32]; unsigned active, ignore; };
#define TO(w) (unsigned)__cvta_generic_to_shared(tile + (w) * threadIdx.x)
#define PROBE(name, w, text, ...) \
extern "C" __global__ void name(const unsigned char *base, unsigned *out, const __grid_constant__ Pattern p) { \
    __shared__ __align__(16) unsigned char tile[512]; \
    unsigned t = threadIdx.x; const unsigned char *from = base + p.offset[t]; unsigned size = p.size[t]; unsigned ig = p.ignore >> t & 1; \
    if (p.active >> t & 1) asm volatile(text ::"r"(TO(w)), "l"(from), "r"(size), "r"(ig) : "memory"); \
    asm volatile("cp.async.wait_all;" ::: "memory"); __syncwarp(); \
    if (out) out[t] = *(unsigned *)(tile + w * t); }
PROBE(ca4, 4, "cp.async.ca.shared.global [%0], [%1], 4, %2;")
PROBE(ca8, 8, "cp.async.ca.shared.global [%0], [%1], 8, %2;")
PROBE(ca16, 16, "cp.async.ca.shared.global [%0], [%1], 16, %2;")
PROBE(cg16, 16, "cp.async.cg.shared.global [%0], [%1], 16, %2;")
PROBE(ca4n, 4, "cp.async.ca.shared.global [%0], [%1], 4;")
PROBE(ca8n, 8, "cp.async.ca.shared.global [%0], [%1], 8;")
PROBE(ca16n, 16, "cp.async.ca.shared.global [%0], [%1], 16;")
PROBE(cg16n, 16, "cp.async.cg.shared.global [%0], [%1], 16;")
PROBE(ca4i, 4, "{ .reg .pred q; setp.ne.u32 q, %3, 0; cp.async.ca.shared.global [%0], [%1], 4, q; }")
PROBE(ca16i, 16, "{ .reg .pred q; setp.ne.u32 q, %3, 0; cp.async.ca.shared.global [%0], [%1], 16, q; }")
PROBE(cg16i, 16, "{ .reg .pred q; setp.ne.u32 q, %3, 0; cp.async.cg.shared.global [%0], [%1], 16, q; }")
