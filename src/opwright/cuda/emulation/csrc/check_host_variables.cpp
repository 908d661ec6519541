/* The host's variables, by their symbols: opwright/emulation/host_variables.h. */
#include "check_regions.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <opwright/emulation/forks.h>
#include <opwright/emulation/host_variables.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "check_source.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

struct Library {
  std::map<std::pair<std::string, std::string>, std::string>
      variables; /* by function and name: where they are declared */
};
struct Tables {
  std::map<uintptr_t, Library> libraries;                       /* by where they are loaded */
  std::map<std::string, std::vector<std::pair<int, int>>> code; /* by file: first and last lines */
};
Mutex<> mutex;
Lasting<Tables> tables;

uintptr_t base_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? reinterpret_cast<uintptr_t>(info.dli_fbase) : 0;
}

std::string demangled(const std::string &symbol) {
  int status = 0;
  char *text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string result = status == 0 && text ? text : symbol;
  free(text);
  return result;
}

/* "f" of "space::f(int, float)", of which a static variable is; "" where it is another kind of scope, as a namespace. */
std::string function_of(std::string scope) {
  if (scope == "main") return scope;
  const size_t parameters = scope.find('(');
  if (scope.empty() || scope.back() != ')' || !parameters || parameters == std::string::npos) return "";
  scope.resize(parameters);
  const size_t last = scope.rfind("::");
  return last == std::string::npos ? scope : scope.substr(last + 2);
}

}  // namespace

std::string host_variable(const std::string &symbol, uintptr_t base) {
  const std::lock_guard lock(mutex);
  const auto library = tables->libraries.find(base);
  if (symbol.empty() || library == tables->libraries.end()) return "";
  std::string name = demangled(symbol), function;
  const size_t last = name.rfind("::");
  if (last != std::string::npos) {
    function = function_of(name.substr(0, last));
    if (!function.empty()) name = name.substr(last + 2);
  }
  const auto found = library->second.variables.find({function, name});
  if (found == library->second.variables.end() || found->second.empty()) return "";
  return name + ", a variable of the host at " + found->second;
}

bool in_device_code(uintptr_t code) {
  const std::vector<Place> all = places(code);
  if (all.empty()) return false;
  const std::lock_guard lock(mutex);
  const auto file = tables->code.find(all.front().file);
  if (file == tables->code.end()) return false;
  return std::any_of(file->second.begin(), file->second.end(), [&](const std::pair<int, int> &lines) {
    return lines.first <= all.front().line && all.front().line <= lines.second;
  });
}

}  // namespace check

bool know_host_variables(const HostVariable *variables, const DeviceCode *code) {
  const std::lock_guard lock(check::mutex);
  auto &known = check::tables->libraries[check::base_of(variables)].variables;
  for (; variables->name; ++variables)
    known[{variables->function, variables->name}] =
        std::string(variables->file) + ":" + std::to_string(variables->line);
  for (; code->file; ++code) check::tables->code[code->file].push_back({code->first, code->last});
  return true;
}

}  // namespace emulation
}  // namespace opwright
