// What mapa, getctarank and isspacep say of addresses in the shared memory of a cluster.

extern "C" __global__ void __cluster_dims__(4, 1, 1) kernel(float* C) {
    __shared__ int value;
    unsigned rank = __clusterRelativeBlockRank();
    if (threadIdx.x != 0) return;
    unsigned own = (unsigned)__cvta_generic_to_shared(&value);
    int right = 0;
    for (unsigned r = 0; r < 4; ++r) {
        unsigned there, of, of_generic, back;
        unsigned long long generic;
        int in_own, in_cluster, global;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(r));
        asm("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(&value), "r"(r));
        asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(of) : "r"(there));
        asm("getctarank.u64 %0, %1;" : "=r"(of_generic) : "l"(generic));
        asm("{.reg .pred p; isspacep.shared::cta p, %1; selp.s32 %0, 1, 0, p;}" : "=r"(in_own) : "l"(generic));
        asm("{.reg .pred p; isspacep.shared::cluster p, %1; selp.s32 %0, 1, 0, p;}" : "=r"(in_cluster) : "l"(generic));
        asm("{.reg .pred p; isspacep.global p, %1; selp.s32 %0, 1, 0, p;}" : "=r"(global) : "l"(generic));
        asm("{.reg .u64 a; cvta.to.shared::cluster.u64 a, %1; cvt.u32.u64 %0, a;}" : "=r"(back) : "l"(generic));
        right += of == r && of_generic == r && in_own == (r == rank) && in_cluster && !global;
        right += back == there && (there == own) == (r == rank);
    }
    C[blockIdx.x] = right;
}
