#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensorRandom.h"
#else

/* Each fills a tensor of a size that it has already. The numbers are the current GPU's default generator's. */

/* integers: up to what the type holds exactly, in [low, high), in [0, high) */
THC_API void THCTensor_(random)(THCState *state, THCTensor *self);
THC_API void THCTensor_(clampedRandom)(THCState *state, THCTensor *self, int64_t low, int64_t high);
THC_API void THCTensor_(cappedRandom)(THCState *state, THCTensor *self, int64_t high);

/* geometric: p is the probability of going on, as in TH; bernoulli: of 1 */
THC_API void THCTensor_(geometric)(THCState *state, THCTensor *self, double p);
THC_API void THCTensor_(bernoulli)(THCState *state, THCTensor *self, double p);
THC_API void THCTensor_(bernoulli_FloatTensor)(THCState *state, THCTensor *self, struct THCudaTensor *p);
THC_API void THCTensor_(bernoulli_DoubleTensor)(THCState *state, THCTensor *self, struct THCudaDoubleTensor *p);

#if defined(THC_REAL_IS_FLOAT) || defined(THC_REAL_IS_DOUBLE) || defined(THC_REAL_IS_HALF)

THC_API void THCTensor_(bernoulli_Tensor)(THCState *state, THCTensor *self, THCTensor *p);
THC_API void THCTensor_(uniform)(THCState *state, THCTensor *self, double low, double high);
THC_API void THCTensor_(normal)(THCState *state, THCTensor *self, double mean, double stdv);
THC_API void THCTensor_(exponential)(THCState *state, THCTensor *self, double lambda);
THC_API void THCTensor_(cauchy)(THCState *state, THCTensor *self, double median, double sigma);
THC_API void THCTensor_(logNormal)(THCState *state, THCTensor *self, double mean, double stdv);

/* These give the result the size of their parameters. */
THC_API void THCTensor_(normal_means)(THCState *state, THCTensor *self, THCTensor *means, double stdv);
THC_API void THCTensor_(normal_stddevs)(THCState *state, THCTensor *self, double mean, THCTensor *stdvs);
THC_API void THCTensor_(normal_means_stddevs)(THCState *state, THCTensor *self, THCTensor *means, THCTensor *stdvs);
THC_API void THCTensor_(standard_gamma)(THCState *state, THCTensor *self, THCTensor *alpha);
THC_API void THCTensor_(poisson)(THCState *state, THCTensor *self, THCTensor *lambda);

/* Indices drawn with these weights, a row of samples for each row of weights. */
THC_API void THCTensor_(multinomial)(THCState *state, struct THCudaLongTensor *self, THCTensor *weights, int samples,
                                     int with_replacement);

/* The alias method: a table (J, q) of a vector of weights, from which any number of samples is drawn at little cost. */
THC_API void THCTensor_(multinomialAliasSetup)(THCState *state, THCTensor *weights, struct THCudaLongTensor *J,
                                               THCTensor *q);
THC_API void THCTensor_(multinomialAliasDraw)(THCState *state, struct THCudaLongTensor *self,
                                              struct THCudaLongTensor *J, THCTensor *q);

#endif

#endif
