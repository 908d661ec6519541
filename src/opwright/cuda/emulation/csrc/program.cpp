// Whole programs: how a fault ends one. A GPU would stop the kernel and give its error to whichever call comes next.
#include <opwright/emulation/cuda_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "work.h"

namespace opwright::emulation {
namespace {

constexpr int faulty = 70;  // the exit status: sysexits.h calls it an error of the software itself
bool begun = false;
std::terminate_handler before = nullptr;

[[noreturn]] void end(const char *text) {
  std::fflush(nullptr);
  std::fprintf(stderr, "opwright: error: %s\n", text);
  std::fflush(stderr);
  _exit(faulty);
}

void terminated() {
  if (std::current_exception()) {
    try {
      throw;
    } catch (const Failure &failure) {
      end(failure.message.text());
    } catch (...) {
    }
  }
  before();
}

}  // namespace

bool in_program() { return begun; }

void end_program(const char *text) { end(text); }

const char *how_to_check() { return begun ? "--check says where" : "emulate(check=True) says where"; }

OPWRIGHT_EMULATION_API bool begin_program();
bool begin_program() {
  if (begun) return true;
  before = std::set_terminate(terminated);
  std::atexit(warn_of_overruns);
  return begun = true;
}

void launch_failed(const char *failure) {
  if (std::strcmp(last_fault(), "configuration") != 0) end(failure);
  std::fflush(stdout);
  std::fprintf(stderr, "opwright: warning: the launch fails, cudaErrorInvalidConfiguration: %s\n", failure);
  note(cudaErrorInvalidConfiguration);
}

}  // namespace opwright::emulation
