// A register that only some threads set, and all of them add.
extern "C" __global__ void kernel(const float* A, float* C) {
    asm volatile(
        "{\n.reg .f32 x;\n.reg .pred p;\nsetp.lt.u32 p, %1, 16;\n"
        "@p mov.f32 x, 0f3f800000;\nadd.f32 x, x, %2;\nst.global.f32 [%0], x;\n}"
        ::"l"(C + threadIdx.x), "r"(threadIdx.x), "f"(A[threadIdx.x])
        : "memory");
}
