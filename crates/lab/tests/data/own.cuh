#pragma once
#include <iostream>
using real = float;
inline void show(real x) { std::cout << x << "\n"; }
__device__ __forceinline__ real fused(real x, real y, real z) { return x * y + z; }
