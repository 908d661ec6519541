#include "autograd/derivative.h"

#include <c10/util/Exception.h>

namespace opw {

Derivative *Derivative::decode(const Plan &plan, const int64_t *words, int64_t count) {
  const int64_t *at = words, *end = words + count;
  const auto next = [&] {
    TORCH_CHECK(at < end, "opwright: a derivative's plan ended early");
    return *at++;
  };
  auto d = std::make_unique<Derivative>();
  for (int64_t n = next(); n > 0; --n) {
    const auto source = static_cast<Source>(next());
    d->wires.push_back({source, next()});
    d->needs_axes |= source == Source::Axis || source == Source::Ellipsis;
  }
  for (int64_t n = next(); n > 0; --n) {
    const int64_t argument = next();
    d->edges.push_back({argument, next()});
  }
  for (int64_t n = next(); n > 0; --n) {
    const bool differentiable = next() != 0;
    d->written.push_back({differentiable, next()});
  }
  for (int64_t n = next(); n > 0; --n) d->forward_mode.inputs.push_back(next());
  for (int64_t n = next(); n > 0; --n) d->forward_mode.results.push_back(next());
  for (int64_t n = next(); n > 0; --n) {
    const int64_t written = next();
    d->forward_mode.old.push_back({written, next()});
  }
  TORCH_CHECK(at == end && d->written.size() == plan.outputs.size() + plan.mutated.size(),
              "opwright: a derivative's plan is another operator's");
  for (size_t i = 0; i < plan.outputs.size(); ++i) d->result_slots += d->written[i].slot >= 0;
  return d.release();
}

}  // namespace opw
