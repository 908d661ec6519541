// The handles of CUDA's libraries that are alive. Never destroyed themselves: a program's destructors may still use theirs.
#include <opwright/emulation/cuda_api.h>
#include <opwright/emulation/forks.h>

#include <set>
#include <string>
#include <utility>

namespace opwright::emulation {
namespace {

struct Alive {
  Mutex<> mutex;
  std::set<std::pair<std::string, const void *>> handles;
};
Alive &alive() {
  static Lasting<Alive> only;
  return *only;
}

}  // namespace

void handle_created(const char *library, const void *handle) {
  const std::lock_guard lock(alive().mutex);
  alive().handles.emplace(library, handle);
}
void handle_destroyed(const char *library, const void *handle) {
  const std::lock_guard lock(alive().mutex);
  alive().handles.erase({library, handle});
}
bool handle_is_alive(const char *library, const void *handle) {
  const std::lock_guard lock(alive().mutex);
  return alive().handles.count({library, handle});
}

}  // namespace opwright::emulation
