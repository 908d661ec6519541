// When regions may change: while no launch uses them.
#pragma once

namespace opwright {
namespace emulation {
namespace check {

/* While it lives, no launch runs that uses the regions; in a kernel the launch is one's own. */
class BetweenLaunches {
 public:
  explicit BetweenLaunches(bool waits = true);
  ~BetweenLaunches();
  BetweenLaunches(const BetweenLaunches &) = delete;
  explicit operator bool() const { return is_alone_; } /* false only where it doesn't wait */

 private:
  const bool locks_;
  bool is_alone_;
};

}  // namespace check
}  // namespace emulation
}  // namespace opwright
