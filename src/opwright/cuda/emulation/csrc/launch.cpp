// From <<<>>> to the blocks: what a launch may ask for, who runs it, what went wrong.
#include <opwright/emulation/launch.h>

#include <algorithm>
#include <string>

#include "capture.h"
#include "guard.h"
#include "shared_memory.h"
#include "signals.h"
#include "work.h"

namespace opwright::emulation {
namespace {

thread_local std::string failure, failure_kind;

// What CUDA would refuse, too.
void check(const Launch &launch, Message &message) {
  const dim3 g = launch.configuration.grid, b = launch.configuration.block;
  const uint64_t threads = uint64_t(b.x) * b.y * b.z;
  const size_t dynamic = launch.configuration.shared / shared_times();
  if (!g.x || !g.y || !g.z || !threads)
    message << "nothing to run: the grid or the block is empty\n  likely fix: no launch where there are no elements";
  else if (b.x > most_threads || b.y > most_threads || b.z > 64 || threads > most_threads)
    message << "a block has at most 1024 threads (1024, 1024, 64 along x, y, z)";
  else if (g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
    message << "a grid has at most 2147483647, 65535, 65535 blocks along x, y, z";
  else if (dynamic > most_dynamic)
    message << "a block has at most " << most_dynamic << " bytes of dynamic shared memory, the launch asks for "
            << launch.configuration.shared;
  else if (dynamic > allowed_shared())
    message
        << "a block has at most " << allowed_shared()
        << " bytes of dynamic shared memory until its kernel is allowed more, "
        << "the launch asks for " << launch.configuration.shared
        << "\n  likely fix: cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before it";
  else return;
  message << "\n  got <<<(" << g.x << ", " << g.y << ", " << g.z << "), (" << b.x << ", " << b.y << ", " << b.z << "), "
          << launch.configuration.shared << ">>> for " << launch.kernel << " at " << launch.file << ":" << launch.line;
}

const char *failed(const char *kind, const std::string &text) {
  failure_kind = kind;
  failure = text;
  return failure.c_str();
}

void perform(Work &work) {
  const uint64_t threads = work.blocks * work.launch.configuration.block.x * work.launch.configuration.block.y *
                           work.launch.configuration.block.z;
  constexpr uint64_t worth_sharing = 8192;
  const unsigned workers = hooks() || launches_in_order() || threads < worth_sharing
                               ? 1
                               : unsigned(std::min<uint64_t>(worker_count(), work.blocks));
  work.chunk = workers > 1 ? std::max<uint64_t>(1, work.blocks / (workers * 8)) : work.blocks;
  if (work.launch.configuration.cooperative) run_cooperative(work);
  else if (workers < 2 || !work_together(work, workers)) run_blocks(work);
}

}  // namespace

void record(Work &work, const char *kind, const std::string &text) {
  const std::lock_guard<std::mutex> lock(work.mutex);
  if (work.failed.exchange(true)) return;
  work.kind = kind;
  work.text = text;
}

const char *run(const Launch &launch) {
  if (inside_kernel())
    return failed("launch", std::string("a kernel launches ") + launch.kernel + " at " + launch.file + ":" +
                                std::to_string(launch.line) + ": kernels that launch kernels aren't emulated");
  if (hooks() && !launch.checked)
    return failed("launch", std::string(launch.kernel) + " at " + launch.file + ":" + std::to_string(launch.line) +
                                " was compiled without checks, and this process checks every access\n"
                                "  likely fix: build its file again, with checks: opwright " +
                                (in_program() ? "nvcc" : "run --emulate") + " --check");
  Message refused;
  check(launch, refused);
  if (refused.length()) return failed("configuration", refused.text());
  if (captures && captured_launch(launch)) return nullptr;
  check_timeout(refused);
  if (refused.length()) return failed("launch", refused.text());
  Work work(launch);
  const dim3 g = launch.configuration.grid;
  work.schedule = schedule();
  work.blocks = uint64_t(g.x) * g.y * g.z;
  if (hooks() && hooks()->launch_begin) hooks()->launch_begin(launch);
  {
    const Handlers handlers;
    const Guarded guarded(work);
    perform(work);
  }
  if (hooks() && hooks()->launch_end) hooks()->launch_end(launch, work.failed);
  return work.failed ? failed(work.kind.c_str(), work.text) : nullptr;
}

const char *last_fault() { return failure_kind.c_str(); }

}  // namespace opwright::emulation
