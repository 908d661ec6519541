#ifndef TH_RANDOM_INC
#define TH_RANDOM_INC

#include "THGeneral.h"

/* A stream of random numbers: a generator of PyTorch's (a Mersenne Twister). Wherever one is asked for, a null pointer
   stands for PyTorch's default generator, the one that torch.manual_seed seeds. */
typedef struct THGenerator THGenerator;

/* A new one is seeded, and its seed is always the same. */
TH_API THGenerator *THGenerator_new(void);
TH_API THGenerator *THGenerator_copy(THGenerator *self, THGenerator *from);
TH_API void THGenerator_free(THGenerator *self);
TH_API int THGenerator_isValid(THGenerator *self);

/* Seeds from the system's entropy, and gives the seed. */
TH_API uint64_t THRandom_seed(THGenerator *generator);
TH_API void THRandom_manualSeed(THGenerator *generator, uint64_t seed);
TH_API uint64_t THRandom_initialSeed(THGenerator *generator);

/* 32 and 64 random bits. */
TH_API uint64_t THRandom_random(THGenerator *generator);
TH_API uint64_t THRandom_random64(THGenerator *generator);

/* In [low, high). */
TH_API double THRandom_uniform(THGenerator *generator, double low, double high);
TH_API float THRandom_uniformFloat(THGenerator *generator, float low, float high);

TH_API double THRandom_normal(THGenerator *generator, double mean, double stdv);
TH_API double THRandom_exponential(THGenerator *generator, double lambda);
TH_API double THRandom_standard_gamma(THGenerator *generator, double alpha);
TH_API double THRandom_cauchy(THGenerator *generator, double median, double sigma);
/* mean and stdv are those of the logarithm */
TH_API double THRandom_logNormal(THGenerator *generator, double mean, double stdv);
TH_API int THRandom_poisson(THGenerator *generator, double lambda);
/* At least 1; p is the probability of going on: P(k) = (1 - p) * p^(k - 1). Tensor.geometric_(1 - p) is the same. */
TH_API int THRandom_geometric(THGenerator *generator, double p);
/* 1 with probability p, otherwise 0. */
TH_API int THRandom_bernoulli(THGenerator *generator, double p);

#endif
