/* A CUDA driver for tests: it answers like one, as old as FAKE_CUDA says (12040 is 12.4), for a card of FAKE_SM (75).
 * It takes PTX up to the version FAKE_ISA ("8.4") and, if FAKE_CUBIN is 1,
 * machine code. Its memory is the host's, and every kernel computes C = A * B in float. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int R;
enum { OK = 0, INVALID_VALUE = 1, NO_BINARY = 209, INVALID_PTX = 218, UNSUPPORTED_PTX = 222, INVALID_IMAGE = 200, NOT_FOUND = 500 };

static long of(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* The operand of the first line that begins with the directive. */
static const char *directive(const char *ptx, const char *name) {
    for (const char *line = ptx; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (!strncmp(line, name, strlen(name))) return line + strlen(name);
    return NULL;
}

static R judge(const char *image) {
    if (!memcmp(image, "\177ELF", 4)) return of("FAKE_CUBIN", 0) ? OK : NO_BINARY;
    const char *version = directive(image, ".version "), *target = directive(image, ".target sm_");
    if (!version || !target) return INVALID_IMAGE;
    const char *most = getenv("FAKE_ISA");
    int major = 0, minor = 0, most_major = 99, most_minor = 0;
    sscanf(version, "%d.%d", &major, &minor);
    if (most) sscanf(most, "%d.%d", &most_major, &most_minor);
    fprintf(stderr, "driver: asked for .version %d.%d .target sm_%ld\n", major, minor, strtol(target, NULL, 10));
    if (major > most_major || (major == most_major && minor > most_minor)) return UNSUPPORTED_PTX;
    return strtol(target, NULL, 10) > of("FAKE_SM", 75) ? INVALID_PTX : OK;
}

R cuInit(unsigned flags) { (void)flags; return OK; }
R cuDriverGetVersion(int *version) { *version = (int)of("FAKE_CUDA", 12040); return OK; }
/* NVRTC asks for it, and does without. */
R cuGetExportTable(const void **table, const void *id) { (void)id; *table = NULL; return NOT_FOUND; }
R cuDeviceGet(int *device, int ordinal) { *device = 0; return ordinal ? INVALID_VALUE : OK; }
R cuDeviceGetCount(int *count) { *count = 1; return OK; }
R cuDeviceGetName(char *name, int length, int device) { (void)device; snprintf(name, length, "Fake card"); return OK; }
R cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case 75: *value = (int)(of("FAKE_SM", 75) / 10); break;
    case 76: *value = (int)(of("FAKE_SM", 75) % 10); break;
    case 16: *value = 40; break;
    case 13: *value = 1590000; break;
    case 39: *value = 1024; break;
    default: *value = 0;
    }
    return OK;
}
R cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = (void *)1; return OK; }
R cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return OK; }
R cuCtxSetCurrent(void *context) { (void)context; return OK; }
R cuCtxGetCurrent(void **context) { *context = (void *)1; return OK; }
R cuCtxSynchronize(void) { return OK; }
R cuModuleLoadData(void **module, const void *image) { *module = (void *)2; return judge(image); }
R cuModuleUnload(void *module) { (void)module; return OK; }
R cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module; (void)name; *function = (void *)3; return OK;
}
R cuLinkCreate_v2(unsigned n, int *options, void **values, void **state) {
    (void)n; (void)options; (void)values; *state = (void *)4; return OK;
}
R cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name, unsigned n, int *o, void **v) {
    (void)state; (void)type; (void)size; (void)name; (void)n; (void)o; (void)v;
    return judge(data);
}
R cuLinkComplete(void *state, void **code, size_t *size) {
    (void)state; *code = (void *)".version 1.0\n.target sm_10\n"; *size = 28; return OK;
}
R cuLinkDestroy(void *state) { (void)state; return OK; }
R cuFuncGetAttribute(int *value, int attribute, void *function) {
    (void)function; *value = attribute == 4 ? 42 : 0; return OK;
}
R cuFuncSetAttribute(void *function, int attribute, int value) { (void)function; (void)attribute; (void)value; return OK; }
R cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, void *f, int threads, size_t shared, unsigned flags) {
    (void)f; (void)threads; (void)shared; (void)flags; *n = 2; return OK;
}
R cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared) {
    (void)f; (void)threads; (void)shared; *n = 2; return OK;
}
R cuMemAlloc_v2(uint64_t *p, size_t n) { *p = (uint64_t)(uintptr_t)calloc(n ? n : 1, 1); return OK; }
R cuMemAllocAsync(uint64_t *p, size_t n, void *stream) { (void)stream; return cuMemAlloc_v2(p, n); }
R cuMemFree_v2(uint64_t p) { free((void *)(uintptr_t)p); return OK; }
R cuMemFreeAsync(uint64_t p, void *stream) { (void)stream; return cuMemFree_v2(p); }
R cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *s) {
    (void)s; memcpy((void *)(uintptr_t)to, from, n); return OK;
}
R cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *s) {
    (void)s; memcpy(to, (void *)(uintptr_t)from, n); return OK;
}
R cuStreamSynchronize(void *stream) { (void)stream; return OK; }
R cuStreamWaitEvent(void *stream, void *event, unsigned flags) { (void)stream; (void)event; (void)flags; return OK; }
R cuStreamDestroy_v2(void *stream) { (void)stream; return OK; }
R cuEventCreate(void **event, unsigned flags) { (void)flags; *event = (void *)5; return OK; }
R cuEventDestroy_v2(void *event) { (void)event; return OK; }
R cuEventRecord(void *event, void *stream) { (void)event; (void)stream; return OK; }
R cuEventSynchronize(void *event) { (void)event; return OK; }
R cuEventElapsedTime(float *ms, void *from, void *to) { (void)from; (void)to; *ms = 1; return OK; }
R cuEventElapsedTime_v2(float *ms, void *from, void *to) { return cuEventElapsedTime(ms, from, to); }
R cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                 void *stream, void **arguments, void **extra) {
    (void)f; (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)stream; (void)extra;
    float **p = (float **)arguments[0], **q = (float **)arguments[1], **r = (float **)arguments[2];
    int m = *(int *)arguments[3], n = *(int *)arguments[4], k = *(int *)arguments[5];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) sum += (*p)[i * k + l] * (*q)[l * n + j];
            (*r)[i * n + j] = sum;
        }
    return OK;
}
