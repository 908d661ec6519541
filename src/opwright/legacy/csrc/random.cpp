// Random numbers from PyTorch's generators.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/ops/full.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/normal.h>
#include <ATen/ops/poisson.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "operands.h"

struct THGenerator { at::Generator generator; };

namespace opw::th {

// Null: PyTorch's default one, that of the device where the numbers are wanted.
std::optional<at::Generator> generator_of(const THGenerator *self) {
  return self ? std::optional(self->generator) : std::nullopt;
}

namespace {

// A generator while nobody else may use it.
struct Held {
  explicit Held(const THGenerator *self)
      : kept(generator_of(self).value_or(at::globalContext().defaultGenerator(at::kCPU))),
        impl(kept.get<at::CPUGeneratorImpl>()),
        lock(impl->mutex_) {}
  at::Generator kept;
  at::CPUGeneratorImpl *impl;
  std::lock_guard<std::mutex> lock;
};

template <class Distribution>
double drawn(const THGenerator *generator, Distribution distribution) {
  const Held held(generator);
  return static_cast<double>(distribution(held.impl));
}

void check_probability(double p, int argument) { CHECK_ARG(p >= 0 && p <= 1, argument, "must be >= 0 and <= 1"); }

void check_going_on(double p, int argument) { CHECK_ARG(p > 0 && p < 1, argument, "must be > 0 and < 1"); }

void bernoulli_each(Tensor *self, THGenerator *generator, Tensor *p) {
  at::Tensor x = view(self);
  x.bernoulli_(apart_from(x, in_shape_of(x, view(p), 3)), generator_of(generator));
}

void bernoulli(Tensor *self, THGenerator *generator, double p) {
  check_probability(p, 3);
  view(self).bernoulli_(p, generator_of(generator));
}

void geometric(Tensor *self, THGenerator *generator, double p) {
  check_going_on(p, 3);
  view(self).geometric_(1 - p, generator_of(generator));
}

void between(Tensor *self, THGenerator *generator, int64_t low, int64_t high) {
  CHECK_ARG(low < high, 3, "the upper limit must be above the lower one: %lld to %lld", static_cast<long long>(low),
            static_cast<long long>(high));
  view(self).random_(low, high, generator_of(generator));
}

void with_means(Tensor *r, THGenerator *generator, Tensor *means, double stdv) {
  assign(r, at::normal(view(means), stdv, generator_of(generator)));
}

void with_deviations(Tensor *r, THGenerator *generator, double mean, Tensor *stdvs) {
  assign(r, at::normal(mean, view(stdvs), generator_of(generator)));
}

void with_both(Tensor *r, THGenerator *generator, Tensor *means, Tensor *stdvs) {
  const at::Tensor x = view(means);
  assign(r, at::normal(x, in_shape_of(x, view(stdvs), 4), generator_of(generator)));
}

void gamma(Tensor *r, THGenerator *generator, Tensor *alpha) {
  assign(r, opw::compat::standard_gamma(view(alpha), generator_of(generator)));
}

void poisson(Tensor *r, THGenerator *generator, Tensor *lambda) {
  assign(r, at::poisson(view(lambda), generator_of(generator)));
}

void samples(Tensor *r, THGenerator *generator, Tensor *weights, int count, int with_replacement) {
  assign(r, at::multinomial(view(weights), count, with_replacement != 0, generator_of(generator)));
}

void permutation(Tensor *r, THGenerator *generator, int64_t n) {
  CHECK_ARG(n > 0, 3, "must be strictly positive");
  assign(r, at::randperm(n, generator_of(generator), view(r).options()));
}

void uniform(Tensor *r, THGenerator *generator, const Storage *size) {
  resize(r, longs(size));
  view(r).uniform_(0, 1, generator_of(generator));
}

void normal(Tensor *r, THGenerator *generator, const Storage *size) {
  resize(r, longs(size));
  view(r).normal_(0, 1, generator_of(generator));
}

void dirichlet_gradient(Tensor *r, Tensor *x, Tensor *alpha, Tensor *total) {
  const at::Tensor a = view(x);
  assign(r, opw::compat::dirichlet_grad(a, in_shape_of(a, view(alpha), 3), in_shape_of(a, view(total), 4)));
}

// The alias method: each place keeps itself with probability q, otherwise it gives its alias.
void alias_table(Tensor *weights, Tensor *aliases, Tensor *kept_with) {
  check_not_empty(weights, 1);
  const at::Tensor given = view(weights).reshape(-1).to(at::kCPU, at::kDouble);
  const int64_t n = given.numel();
  const double total = given.sum().item<double>();
  CHECK_ARG(total > 0 && std::isfinite(total) && given.min().item<double>() >= 0, 1,
            "expected weights of at least 0, and a finite sum above it");
  at::Tensor q = given.mul(static_cast<double>(n) / total), alias = at::empty({n}, at::kLong);
  auto *share = q.mutable_data_ptr<double>();
  auto *other = alias.mutable_data_ptr<int64_t>();
  std::vector<int64_t> small, large;
  for (int64_t i = 0; i < n; ++i) other[i] = i, (share[i] < 1 ? small : large).push_back(i);
  while (!small.empty() && !large.empty()) {
    const int64_t lacking = small.back(), giving = large.back();
    small.pop_back();
    other[lacking] = giving;
    share[giving] -= 1 - share[lacking];
    if (share[giving] < 1) large.pop_back(), small.push_back(giving);
  }
  for (const auto &rest : {small, large})
    for (const int64_t i : rest) share[i] = 1;  // what rounding left over
  assign(aliases, alias);
  assign(kept_with, q);
}

void alias_draw(Tensor *self, THGenerator *generator, Tensor *aliases, Tensor *kept_with) {
  check_not_empty(kept_with, 4);
  const at::Tensor other = view(aliases).reshape(-1), share = view(kept_with).reshape(-1);
  CHECK_ARG(other.numel() == share.numel(), 3, "expected as many aliases as probabilities, got %lld and %lld",
            static_cast<long long>(other.numel()), static_cast<long long>(share.numel()));
  at::Tensor x = view(self);
  const auto from = generator_of(generator);
  const at::Tensor place = at::randint(share.numel(), x.sizes(), from, other.options());
  const at::Tensor stays = at::rand(x.sizes(), from, share.options()).lt(share.take(place));
  x.copy_(at::where(stays, place, other.take(place)));
}

}  // namespace
}  // namespace opw::th

#define OPW_LIST "random.list"
#include "every_type.h"

using namespace opw::th;

OPW_EXPORT_C THGenerator *THGenerator_new() { return new THGenerator{at::make_generator<at::CPUGeneratorImpl>()}; }

OPW_EXPORT_C THGenerator *THGenerator_copy(THGenerator *self, THGenerator *from) {
  CHECK_ARG(self && self != from, 1, "expected a generator of its own");
  const Held held(from);
  self->generator = held.kept.clone();
  return self;
}

OPW_EXPORT_C void THGenerator_free(THGenerator *self) { delete self; }

OPW_EXPORT_C int THGenerator_isValid(THGenerator *self) { return !self || self->generator.defined(); }

OPW_EXPORT_C uint64_t THRandom_seed(THGenerator *self) {
  const Held held(self);
  return held.impl->seed();
}

OPW_EXPORT_C void THRandom_manualSeed(THGenerator *self, uint64_t seed) {
  const Held held(self);
  held.impl->set_current_seed(seed);
}

OPW_EXPORT_C uint64_t THRandom_initialSeed(THGenerator *self) {
  const Held held(self);
  return held.impl->current_seed();
}

OPW_EXPORT_C uint64_t THRandom_random(THGenerator *self) {
  const Held held(self);
  return held.impl->random();
}

OPW_EXPORT_C uint64_t THRandom_random64(THGenerator *self) {
  const Held held(self);
  return held.impl->random64();
}

OPW_EXPORT_C double THRandom_uniform(THGenerator *self, double low, double high) {
  return drawn(self, at::uniform_real_distribution<double>(low, high));
}

OPW_EXPORT_C float THRandom_uniformFloat(THGenerator *self, float low, float high) {
  return static_cast<float>(drawn(self, at::uniform_real_distribution<float>(low, high)));
}

OPW_EXPORT_C double THRandom_normal(THGenerator *self, double mean, double stdv) {
  CHECK_ARG(stdv > 0, 2, "standard deviation must be strictly positive");
  return drawn(self, at::normal_distribution<double>(mean, stdv));
}

OPW_EXPORT_C double THRandom_exponential(THGenerator *self, double lambda) {
  CHECK_ARG(lambda > 0, 2, "must be > 0");
  return drawn(self, at::exponential_distribution<double>(lambda));
}

OPW_EXPORT_C double THRandom_cauchy(THGenerator *self, double median, double sigma) {
  CHECK_ARG(sigma > 0, 3, "must be > 0");
  return drawn(self, at::cauchy_distribution<double>(median, sigma));
}

OPW_EXPORT_C double THRandom_logNormal(THGenerator *self, double mean, double stdv) {
  CHECK_ARG(stdv > 0, 2, "standard deviation must be strictly positive");
  return drawn(self, at::lognormal_distribution<double>(mean, stdv));
}

OPW_EXPORT_C double THRandom_standard_gamma(THGenerator *self, double alpha) {
  CHECK_ARG(alpha > 0, 2, "must be > 0");
  Below below;
  return opw::compat::standard_gamma(at::full({1}, alpha, at::kDouble), generator_of(self)).item<double>();
}

OPW_EXPORT_C int THRandom_poisson(THGenerator *self, double lambda) {
  CHECK_ARG(lambda >= 0, 2, "must be >= 0");
  Below below;
  return at::poisson(at::full({1}, lambda, at::kDouble), generator_of(self)).item<int>();
}

OPW_EXPORT_C int THRandom_geometric(THGenerator *self, double p) {
  check_going_on(p, 1);
  const double trials = drawn(self, at::geometric_distribution<double>(1 - p));
  return static_cast<int>(std::fmin(trials, std::numeric_limits<int>::max()));
}

OPW_EXPORT_C int THRandom_bernoulli(THGenerator *self, double p) {
  check_probability(p, 1);
  return drawn(self, at::uniform_real_distribution<double>(0, 1)) < p;
}

// Of bytes only.
OPW_EXPORT_C void THByteTensor_getRNGState(THGenerator *generator, Tensor *self) {
  Below below;
  const Held held(generator);
  assign(self, held.kept.get_state());
}

OPW_EXPORT_C void THByteTensor_setRNGState(THGenerator *generator, Tensor *self) {
  Below below;
  Held held(generator);
  held.kept.set_state(view(self).clone());
}
