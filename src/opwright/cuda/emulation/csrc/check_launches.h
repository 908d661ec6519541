// When regions may change: while no launch uses them.
#pragma once

namespace opwright {
namespace emulation {
namespace check {

/* While it lives, no launch runs that uses the regions; in a kernel the launch is one's own. */
class BetweenLaunches {
 public:
  BetweenLaunches();
  ~BetweenLaunches();
  BetweenLaunches(const BetweenLaunches &) = delete;

 private:
  const bool locks_;
};

}  // namespace check
}  // namespace emulation
}  // namespace opwright
