// What the libraries have in common: which handles are alive, and the names of status codes.
#ifndef OPWRIGHT_EMULATION_LIBRARIES_HANDLES_H
#define OPWRIGHT_EMULATION_LIBRARIES_HANDLES_H

#include <mutex>
#include <unordered_set>

namespace opwright::emulation {

// The handles that were created and not destroyed. Never destroyed itself: a program's destructors may still use theirs.
template <class Handle> class Handles {
 public:
  static Handles &all() {
    static Handles *only = new Handles;
    return *only;
  }
  bool has(Handle handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return alive_.count(handle);
  }
  void add(Handle handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    alive_.insert(handle);
  }
  void remove(Handle handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    alive_.erase(handle);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<Handle> alive_;
};

template <class Status> struct Named {
  Status status;
  const char *name, *text;
};
template <class Status, int N> const char *name_of(const Named<Status> (&names)[N], Status status) {
  for (const Named<Status> &each : names)
    if (each.status == status) return each.name;
  return "unknown status";
}
template <class Status, int N> const char *text_of(const Named<Status> (&names)[N], Status status) {
  for (const Named<Status> &each : names)
    if (each.status == status) return each.text;
  return "unknown status";
}

}  // namespace opwright::emulation

#endif
