/* Random numbers, for CPU and GPU: shared/th.h and shared/thc.h say what the words with THX stand for. */
/* Each fills a tensor of a size that it has already. A null generator is PyTorch's default one; on a GPU it always is
   that one. */

/* integers: up to what the type holds exactly, in [low, high), in [0, high) */
THX_API void THXTensor_(random)(THX_STATE THXTensor *self THX_GENERATOR);
THX_API void THXTensor_(clampedRandom)(THX_STATE THXTensor *self THX_GENERATOR, int64_t low, int64_t high);
THX_API void THXTensor_(cappedRandom)(THX_STATE THXTensor *self THX_GENERATOR, int64_t high);

/* geometric: p is the probability of going on, as in THRandom_geometric; bernoulli: of 1 */
THX_API void THXTensor_(geometric)(THX_STATE THXTensor *self THX_GENERATOR, double p);
THX_API void THXTensor_(bernoulli)(THX_STATE THXTensor *self THX_GENERATOR, double p);
THX_API void THXTensor_(bernoulli_FloatTensor)(THX_STATE THXTensor *self THX_GENERATOR, struct THXFloatTensor *p);
THX_API void THXTensor_(bernoulli_DoubleTensor)(THX_STATE THXTensor *self THX_GENERATOR, struct THXDoubleTensor *p);

#ifdef THX_IS_FLOATING

THX_API void THXTensor_(bernoulli_Tensor)(THX_STATE THXTensor *self THX_GENERATOR, THXTensor *p);
THX_API void THXTensor_(uniform)(THX_STATE THXTensor *self THX_GENERATOR, double low, double high);
THX_API void THXTensor_(normal)(THX_STATE THXTensor *self THX_GENERATOR, double mean, double stdv);
THX_API void THXTensor_(exponential)(THX_STATE THXTensor *self THX_GENERATOR, double lambda);
THX_API void THXTensor_(cauchy)(THX_STATE THXTensor *self THX_GENERATOR, double median, double sigma);
THX_API void THXTensor_(logNormal)(THX_STATE THXTensor *self THX_GENERATOR, double mean, double stdv);

/* These give the result the size of their parameters. */
THX_API void THXTensor_(normal_means)(THX_STATE THXTensor *self THX_GENERATOR, THXTensor *means, double stdv);
THX_API void THXTensor_(normal_stddevs)(THX_STATE THXTensor *self THX_GENERATOR, double mean, THXTensor *stdvs);
THX_API void THXTensor_(normal_means_stddevs)(THX_STATE THXTensor *self THX_GENERATOR, THXTensor *means,
                                              THXTensor *stdvs);
THX_API void THXTensor_(standard_gamma)(THX_STATE THXTensor *self THX_GENERATOR, THXTensor *alpha);
THX_API void THXTensor_(poisson)(THX_STATE THXTensor *self THX_GENERATOR, THXTensor *lambda);

/* Indices drawn with these weights, a row of samples for each row of weights. */
THX_API void THXTensor_(multinomial)(THX_STATE struct THXLongTensor *self THX_GENERATOR, THXTensor *weights,
                                     int samples, int with_replacement);

/* The alias method: a table (J, q) of a vector of weights, from which any number of samples is drawn at little cost. */
THX_API void THXTensor_(multinomialAliasSetup)(THX_STATE THXTensor *weights, struct THXLongTensor *J, THXTensor *q);
THX_API void THXTensor_(multinomialAliasDraw)(THX_STATE struct THXLongTensor *self THX_GENERATOR,
                                              struct THXLongTensor *J, THXTensor *q);

#endif
