// Copies to, from and between arrays, and of boxes of memory: rows, each of which is a copy of its own to the checker.
#include "capture.h"
#include "texture_arrays.h"

namespace opwright {
namespace emulation {
namespace {

constexpr const char *no_array = "this is no array, or it was freed before";

// Rows that begin `pitch` bytes apart, in slices that begin `slice` bytes apart.
struct Box {
  char *memory;
  size_t pitch, slice;
};

// Why a box of that size doesn't lie within a side, or "".
std::string beyond(const Side &side, size_t width, size_t height, size_t depth) {
  if (!side.array) {
    if (!side.memory) return "one side is neither an array nor memory: both are null";
    if (width > side.pitch) return "a row is wider than its pitch";
    return depth > 1 && height > side.rows ? "a slice has fewer rows (ysize) than are copied" : "";
  }
  if (!exists(side.array)) return no_array;
  const cudaArray &array = *side.array;
  const size_t begins[] = {side.x, side.y, side.z}, counts[] = {width, height, depth},
               ends[] = {array.row(), array.rows(), array.slices()};
  const char *names[] = {" bytes of a row", " rows", " slices"};
  for (int axis = 0; axis < 3; ++axis)
    if (begins[axis] > ends[axis] || counts[axis] > ends[axis] - begins[axis])
      return "it copies " + std::to_string(counts[axis]) + names[axis] + " from " + std::to_string(begins[axis]) +
             " on, of " + described(array) + ", which has " + std::to_string(ends[axis]);
  return "";
}

Box box(const Side &side) {
  char *memory = side.array ? side.array->memory : static_cast<char *>(const_cast<void *>(side.memory));
  const size_t pitch = side.array ? side.array->row() : side.pitch;
  const size_t slice = pitch * (side.array ? side.array->rows() : side.rows);
  return {memory + side.x + side.y * pitch + side.z * slice, pitch, slice};
}

// Where a run of bytes begins in an array, whose rows follow one another; null: it doesn't lie within it, which is noted.
char *run_in(cudaArray_const_t array, size_t x, size_t y, size_t bytes, const Called &called) {
  std::string why = no_array;
  if (exists(array)) {
    const size_t row = array->row(), whole = row * array->rows(), at = x + y * row;
    if (x <= row && at <= whole && bytes <= whole - at) return array->memory + at;
    why = "it copies " + std::to_string(bytes) + " bytes from byte " + std::to_string(x) + " of row " +
          std::to_string(y) + " on, of " + described(*array) + ", whose rows have " + std::to_string(row) + " bytes";
  }
  note(cudaErrorInvalidValue, called, why.c_str());
  return nullptr;
}

// What a copy of three dimensions asks for, in bytes.
struct Copied {
  Side to, from;
  size_t width, height, depth;
};

// Why a box can't be copied, or "".
std::string unfit(const Copied &copied) {
  if (!copied.width || !copied.height || !copied.depth) return "";
  for (const Side *side : {&copied.to, &copied.from}) {
    const std::string why = beyond(*side, copied.width, copied.height, copied.depth);
    if (!why.empty()) return why;
  }
  return "";
}

// The same of parameters; into *copied what they ask for.
std::string unfit(const cudaMemcpy3DParms *p, Copied *copied) {
  if (!p) return "the parameters are null";
  if (bool(p->srcArray) == bool(p->srcPtr.ptr) || bool(p->dstArray) == bool(p->dstPtr.ptr))
    return "a side is one of an array and a pointer: it has both, or none";
  for (cudaArray_const_t array : {p->srcArray, p->dstArray})
    if (array && !exists(array)) return no_array;
  if (p->srcArray && p->dstArray && p->srcArray->texel != p->dstArray->texel)
    return "the arrays' texels differ in size";
  // With an array, widths and columns are texels, a column of memory too, which the documentation counts in bytes: an
  // H200 under CUDA 13.0 was seen to count that of a target in texels.
  const size_t unit = p->srcArray ? p->srcArray->texel : p->dstArray ? p->dstArray->texel : 1;
  *copied = {
      {p->dstArray, p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.ysize, p->dstPos.x * unit, p->dstPos.y, p->dstPos.z},
      {p->srcArray, p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.ysize, p->srcPos.x * unit, p->srcPos.y, p->srcPos.z},
      p->extent.width * unit,
      p->extent.height,
      p->extent.depth};
  return unfit(*copied);
}

}  // namespace

cudaError_t copy_box(const Side &to, const Side &from, size_t width, size_t height, size_t depth, cudaMemcpyKind kind,
                     const Called &called) {
  if (!width || !height || !depth) return cudaSuccess;
  const std::string why = unfit({to, from, width, height, depth});
  if (!why.empty()) return note(cudaErrorInvalidValue, called, why.c_str());
  cudaError_t error;
  const auto again = [=](const Called &now) { return copy_box(to, from, width, height, depth, kind, now); };
  if (captures && called.async && captured(called, cudaGraphNodeTypeMemcpy, again, &error)) return error;
  const Box target = box(to), source = box(from);
  for (size_t z = 0; z < depth; ++z) {
    error = copy_rows(target.memory + z * target.slice, target.pitch, source.memory + z * source.slice, source.pitch,
                      width, height, kind, called);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t copy_run(cudaArray_const_t array, size_t x, size_t y, const void *memory, size_t bytes, bool to_array,
                     cudaMemcpyKind kind, const Called &called) {
  if (!memory) return note(cudaErrorInvalidValue, called, "the memory is a null pointer");
  char *inside = run_in(array, x, y, bytes, called), *outside = static_cast<char *>(const_cast<void *>(memory));
  if (!inside) return cudaErrorInvalidValue;
  return to_array ? copy(inside, outside, bytes, kind, called) : copy(outside, inside, bytes, kind, called);
}

cudaError_t copy_between(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x, size_t from_y,
                         size_t bytes, cudaMemcpyKind kind, const Called &called) {
  char *const target = run_in(to, to_x, to_y, bytes, called);
  const char *const source = target ? run_in(from, from_x, from_y, bytes, called) : nullptr;
  return source ? copy(target, source, bytes, kind, called) : cudaErrorInvalidValue;
}

cudaError_t copy_3d(const cudaMemcpy3DParms *how, const Called &called) {
  Copied c;
  const std::string why = unfit(how, &c);
  if (!why.empty()) return note(cudaErrorInvalidValue, called, why.c_str());
  return copy_box(c.to, c.from, c.width, c.height, c.depth, how->kind, called);
}

std::string unfit(const cudaMemcpy3DParms *how) {
  Copied copied;
  return unfit(how, &copied);
}

cudaError_t fill_3d(const cudaPitchedPtr &memory, int value, const cudaExtent &extent, const Called &called) {
  for (size_t z = 0; z < extent.depth; ++z) {
    char *slice = static_cast<char *>(memory.ptr) + z * memory.pitch * memory.ysize;
    const cudaError_t error = fill_rows(slice, memory.pitch, value, extent.width, extent.height, called);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace emulation
}  // namespace opwright
