// Host functions called through ctypes: null, or the text of what went wrong.
#pragma once
#include <opwright/check.h>
#include <stdint.h>
#include <string.h>

template <class Body>
const char *guarded(const Body &body) {
  static thread_local opwright::Failure kept;
  try {
    body();
    return nullptr;
  } catch (const opwright::Failure &failure) {
    kept = failure;
    return kept.message.text();
  }
}
#define EXPORT extern "C" __attribute__((visibility("default"))) const char *
