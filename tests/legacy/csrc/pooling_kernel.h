#ifndef POOLING_KERNEL
#define POOLING_KERNEL

#ifdef __cplusplus
extern "C" {
#endif

int pooling_launch(const float *features, float scale, int count, int channels, int height, int width, int rows,
                   int columns, const float *boxes, float *output, int *places, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
