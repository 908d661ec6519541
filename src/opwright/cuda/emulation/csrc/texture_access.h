// What fetches and surfaces share: the object of a number, faults at the author's line, accesses that the checker is told of.
#pragma once

#include <opwright/emulation/fault.h>
#include <opwright/emulation/hooks.h>

#include <string>

#include "texture_objects.h"

namespace opwright::emulation {

// Ends the launch.
[[noreturn]] inline void wrong(const Fetch &at, const std::string &what) {
  static thread_local std::string text;  // a fault runs no destructors
  text = std::string(at.file) + ":" + std::to_string(at.line) + ": " + at.name + "() " + what;
  fault("texture", text.c_str());
}

inline const Object &object_of(unsigned long long number, bool surface, const Fetch &at) {
  if (!inside_kernel()) only_in_kernel(at.name, at.file, at.line);
  const Object *object = find_object(number, surface);
  if (!object)
    wrong(at, std::string("gets ") + (number ? "a number" : "0") + ", which is no " +
                  (surface ? "surface" : "texture") +
                  ", or one that was destroyed\n  likely fix: check the result of " +
                  (surface ? "cudaCreateSurfaceObject" : "cudaCreateTextureObject (of cudaBindTexture...)") +
                  ", and destroy it after the last launch");
  return *object;
}

// The memory is about to be read or written for the running thread.
inline void touch(const char *memory, size_t bytes, bool writes, const void *code) {
  if (hooks() && hooks()->touched) hooks()->touched(memory, bytes, writes, reinterpret_cast<uintptr_t>(code));
}

// The function that reads or writes objects of a shape: "tex2DLayered", "surf3D".
inline std::string function_of(Shape shape, bool surface) {
  if (shape == Shape::linear) return "tex1Dfetch";
  const char *names[] = {"1D", "2D", "3D", "1DLayered", "2DLayered"};
  return std::string(surface ? "surf" : "tex") + names[int(shape) - int(Shape::one)];
}

// Of an array with one row one may speak as if it had one axis.
inline void expect_shape(const Object &object, Shape shape, const Fetch &at) {
  if (object.shape == shape || (shape == Shape::one && object.shape == Shape::two && object.size[1] == 1)) return;
  wrong(at, "doesn't read " + object.name + "\n  likely fix: " + function_of(object.shape, object.surface));
}

}  // namespace opwright::emulation
