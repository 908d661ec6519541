// Kernels with one fault each: what is read of a struct's copy is what nobody has written of the struct.
#include <opwright.h>

struct Sample {
  double value;
  int kind, weight;
};
struct Track {
  double at[3];
  int first, last;
};

// fault: nothing_of_a_struct, uninitialised, a workspace[0]
__global__ void nothing_of_a_struct_kernel(const float *x, float *y, Sample *all) {
  const int t = threadIdx.x;
  Sample *const mine = all + t, *const other = all + 32 + t;
  other->value = x[t];
  // right: mine->value = x[t];
  *other = *mine;  // here
  y[t] = float(other->value);
}
OPWRIGHT("nothing_of_a_struct(x: f32[64]) -> (y: f32[32])")
void nothing_of_a_struct(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  Workspace<Sample> all(64, stream);
  nothing_of_a_struct_kernel<<<1, 32, 0, stream>>>(x.data(), y.data(), all.data());
}

// fault: nothing_of_a_large_struct, uninitialised, of all
OPWRIGHT("nothing_of_a_large_struct(x: f32[64]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void nothing_of_a_large_struct(const float *x, float *y) {
  __shared__ Track all[33];
  const int t = threadIdx.x;
  all[t].at[0] = x[t];
  // missing: all[32].at[0] = 0;
  __syncthreads();
  if (t == 5) all[t] = all[32];  // here
  y[t] = float(all[t].at[0]);
}

// fault: member_of_a_copy, uninitialised, of tile
__global__ void member_of_a_copy_kernel(const float *x, float *y, Sample *all) {
  __shared__ Sample tile[32];
  const int t = threadIdx.x;
  all[t].value = x[t];
  all[t].kind = t;
  // missing: all[t].weight = 2;
  tile[t] = all[t];
  __syncthreads();
  y[t] = float(tile[31 - t].value) + tile[31 - t].weight;  // here
}
OPWRIGHT("member_of_a_copy(x: f32[64]) -> (y: f32[32])")
void member_of_a_copy(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  Workspace<Sample> all(33, stream);
  member_of_a_copy_kernel<<<1, 32, 0, stream>>>(x.data(), y.data(), all.data());
}

// fault: member_of_a_copys_copy, uninitialised, a workspace[
__global__ void member_of_a_copys_copy_kernel(const float *x, float *y, Track *all) {
  __shared__ Track tile[32];
  const int t = threadIdx.x;
  Track *const mine = all + t, *const last = all + 32 + t;
  mine->at[0] = mine->at[1] = x[t];
  // missing: mine->at[2] = 1;
  mine->last = t;
  tile[t] = *mine;
  last->at[2] = 3;  // of no use: the copy takes its place
  *last = tile[t];
  y[t] = float(last->at[0]);
  if (t == 7) y[t] += float(last->at[2]);  // here
}
OPWRIGHT("member_of_a_copys_copy(x: f32[64]) -> (y: f32[32])")
void member_of_a_copys_copy(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  Workspace<Track> all(65, stream);
  member_of_a_copys_copy_kernel<<<1, 32, 0, stream>>>(x.data(), y.data(), all.data());
}

// fault: member_by_itself, uninitialised, of tile
OPWRIGHT("member_by_itself(x: f32[64]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void member_by_itself(const float *x, float *y) {
  __shared__ float4 tile[32];
  const int t = threadIdx.x;
  tile[t].x = x[t], tile[t].y = x[t + 32], tile[t].z = 1;
  // missing: tile[t].w = 2;
  __syncthreads();
  const float4 other = tile[31 - t];  // here
  y[t] = other.x + other.w;
}

// fault: half_of_an_atomic, uninitialised, of pair
OPWRIGHT("half_of_an_atomic(x: f32[64]) -> (y: f32[1]) launch over 64 threads 64")
__global__ void half_of_an_atomic(const float *x, float *y) {
  __shared__ unsigned long long pair;
  unsigned *const halves = reinterpret_cast<unsigned *>(&pair);
  if (threadIdx.x == 0) halves[0] = 0;
  // missing: if (threadIdx.x == 0) halves[1] = 0;
  __syncthreads();
  atomicAdd(&pair, x[threadIdx.x] > 0);  // here
  __syncthreads();
  if (threadIdx.x == 0) y[0] = float(halves[0]);
}

// fault: member_of_a_memcpy, uninitialised, of tile
OPWRIGHT("member_of_a_memcpy(x: f32[64]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void member_of_a_memcpy(const float *x, float *y) {
  __shared__ Track tile[32], copy[32];
  const int t = threadIdx.x;
  tile[t].at[0] = x[t], tile[t].first = t;
  // missing: tile[t].last = 0;
  memcpy(&copy[t], &tile[t], sizeof(Track));
  __syncthreads();
  y[t] = float(copy[31 - t].at[0]) + copy[31 - t].first;
  if (t == 9) y[t] += copy[31 - t].last;  // here
}

// fault: copied_past, bounds, shared array tile
OPWRIGHT("copied_past(x: f32[64]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void copied_past(const float *x, float *y) {
  __shared__ float tile[32];
  if (threadIdx.x == 0) memcpy(tile, x, sizeof(tile) + 4);  // here
  // right: if (threadIdx.x == 0) memcpy(tile, x, sizeof(tile));
  __syncthreads();
  y[threadIdx.x] = tile[31 - threadIdx.x];
}

// fault: moved_too_soon, race, of tile
OPWRIGHT("moved_too_soon(x: f32[64]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void moved_too_soon(const float *x, float *y) {
  __shared__ float tile[33];
  if (threadIdx.x == 0) memset(&tile[32], 0, 4);
  tile[threadIdx.x] = x[threadIdx.x];  // here
  // missing: __syncthreads();
  if (threadIdx.x == 0) memmove(tile, tile + 1, sizeof(tile) - 4);  // here
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];
}
