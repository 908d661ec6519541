#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THTensorRandom.h"
#else

/* Each fills a tensor of a size that it has already. A null generator is PyTorch's default one. */

/* integers: up to what the type holds exactly, in [low, high), in [0, high) */
TH_API void THTensor_(random)(THTensor *self, THGenerator *generator);
TH_API void THTensor_(clampedRandom)(THTensor *self, THGenerator *generator, int64_t low, int64_t high);
TH_API void THTensor_(cappedRandom)(THTensor *self, THGenerator *generator, int64_t high);

/* geometric: p is the probability of going on, as in THRandom_geometric; bernoulli: of 1 */
TH_API void THTensor_(geometric)(THTensor *self, THGenerator *generator, double p);
TH_API void THTensor_(bernoulli)(THTensor *self, THGenerator *generator, double p);
TH_API void THTensor_(bernoulli_FloatTensor)(THTensor *self, THGenerator *generator, struct THFloatTensor *p);
TH_API void THTensor_(bernoulli_DoubleTensor)(THTensor *self, THGenerator *generator, struct THDoubleTensor *p);

#if defined(TH_REAL_IS_FLOAT) || defined(TH_REAL_IS_DOUBLE)

TH_API void THTensor_(bernoulli_Tensor)(THTensor *self, THGenerator *generator, THTensor *p);
TH_API void THTensor_(uniform)(THTensor *self, THGenerator *generator, double low, double high);
TH_API void THTensor_(normal)(THTensor *self, THGenerator *generator, double mean, double stdv);
TH_API void THTensor_(exponential)(THTensor *self, THGenerator *generator, double lambda);
TH_API void THTensor_(cauchy)(THTensor *self, THGenerator *generator, double median, double sigma);
TH_API void THTensor_(logNormal)(THTensor *self, THGenerator *generator, double mean, double stdv);

/* These give the result the size of their parameters. */
TH_API void THTensor_(normal_means)(THTensor *self, THGenerator *generator, THTensor *means, double stdv);
TH_API void THTensor_(normal_stddevs)(THTensor *self, THGenerator *generator, double mean, THTensor *stdvs);
TH_API void THTensor_(normal_means_stddevs)(THTensor *self, THGenerator *generator, THTensor *means, THTensor *stdvs);
TH_API void THTensor_(standard_gamma)(THTensor *self, THGenerator *generator, THTensor *alpha);
TH_API void THTensor_(poisson)(THTensor *self, THGenerator *generator, THTensor *lambda);

/* Indices drawn with these weights, a row of samples for each row of weights. */
TH_API void THTensor_(multinomial)(struct THLongTensor *self, THGenerator *generator, THTensor *weights, int samples,
                                   int with_replacement);

/* The alias method: a table (J, q) of a vector of weights, from which any number of samples is drawn at little cost. */
TH_API void THTensor_(multinomialAliasSetup)(THTensor *weights, struct THLongTensor *J, THTensor *q);
TH_API void THTensor_(multinomialAliasDraw)(struct THLongTensor *self, THGenerator *generator, struct THLongTensor *J,
                                            THTensor *q);

#endif

#if defined(TH_REAL_IS_BYTE)

/* The state, as torch.get_rng_state() has it. */
TH_API void THTensor_(getRNGState)(THGenerator *generator, THTensor *self);
TH_API void THTensor_(setRNGState)(THGenerator *generator, THTensor *self);

#endif

#endif
