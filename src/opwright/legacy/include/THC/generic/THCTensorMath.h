#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensorMath.h"
#else

/* Results come first, and get the size that they need. A result may be one of the inputs. Inputs of pointwise functions
   need as many elements as each other, not the same shape: the result has the first one's. Dimensions count from 0.
   `accreal` is what sums are given in: float for half and float, double for double, int64_t for integers. What returns a
   number waits for the GPU. */

/* values and copies of a choice of elements */
THC_API void THCTensor_(fill)(THCState *state, THCTensor *self, real value);
THC_API void THCTensor_(zero)(THCState *state, THCTensor *self);
THC_API void THCTensor_(maskedFill)(THCState *state, THCTensor *self, struct THCudaByteTensor *mask, real value);
THC_API void THCTensor_(maskedCopy)(THCState *state, THCTensor *self, struct THCudaByteTensor *mask, THCTensor *src);
THC_API void THCTensor_(maskedSelect)(THCState *state, THCTensor *result, THCTensor *src,
                                      struct THCudaByteTensor *mask);
THC_API void THCTensor_(nonzero)(THCState *state, struct THCudaLongTensor *subscripts, THCTensor *t);
THC_API void THCTensor_(indexSelect)(THCState *state, THCTensor *result, THCTensor *src, int dim,
                                     struct THCudaLongTensor *index);
THC_API void THCTensor_(indexCopy)(THCState *state, THCTensor *self, int dim, struct THCudaLongTensor *index,
                                   THCTensor *src);
THC_API void THCTensor_(indexAdd)(THCState *state, THCTensor *self, int dim, struct THCudaLongTensor *index,
                                  THCTensor *src);
THC_API void THCTensor_(indexFill)(THCState *state, THCTensor *self, int dim, struct THCudaLongTensor *index,
                                   real value);
THC_API void THCTensor_(take)(THCState *state, THCTensor *result, THCTensor *src, struct THCudaLongTensor *index);
THC_API void THCTensor_(put)(THCState *state, THCTensor *self, struct THCudaLongTensor *index, THCTensor *src,
                             int accumulate);
THC_API void THCTensor_(gather)(THCState *state, THCTensor *result, THCTensor *src, int dim,
                                struct THCudaLongTensor *index);
THC_API void THCTensor_(scatter)(THCState *state, THCTensor *self, int dim, struct THCudaLongTensor *index,
                                 THCTensor *src);
THC_API void THCTensor_(scatterAdd)(THCState *state, THCTensor *self, int dim, struct THCudaLongTensor *index,
                                    THCTensor *src);
THC_API void THCTensor_(scatterFill)(THCState *state, THCTensor *self, int dim, struct THCudaLongTensor *index,
                                     real value);

/* one number of all elements */
THC_API accreal THCTensor_(dot)(THCState *state, THCTensor *a, THCTensor *b);
THC_API real THCTensor_(minall)(THCState *state, THCTensor *t);
THC_API real THCTensor_(maxall)(THCState *state, THCTensor *t);
THC_API real THCTensor_(medianall)(THCState *state, THCTensor *t);
THC_API accreal THCTensor_(sumall)(THCState *state, THCTensor *t);
THC_API accreal THCTensor_(prodall)(THCState *state, THCTensor *t);
THC_API accreal THCTensor_(trace)(THCState *state, THCTensor *t);
THC_API int THCTensor_(equal)(THCState *state, THCTensor *a, THCTensor *b);

/* a tensor and a number; fmod has the sign of t, remainder that of the number */
THC_API void THCTensor_(neg)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(cinv)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(sign)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(abs)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(add)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(sub)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(add_scaled)(THCState *state, THCTensor *result, THCTensor *t, real value, real alpha);
THC_API void THCTensor_(sub_scaled)(THCState *state, THCTensor *result, THCTensor *t, real value, real alpha);
THC_API void THCTensor_(mul)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(div)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(lshift)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(rshift)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(fmod)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(remainder)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(clamp)(THCState *state, THCTensor *result, THCTensor *t, real low, real high);
THC_API void THCTensor_(bitand)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(bitor)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(bitxor)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(cmaxValue)(THCState *state, THCTensor *result, THCTensor *t, real value);
THC_API void THCTensor_(cminValue)(THCState *state, THCTensor *result, THCTensor *t, real value);

/* element by element: cadd is a + value * b, addcmul t + value * a * b */
THC_API void THCTensor_(cadd)(THCState *state, THCTensor *result, THCTensor *a, real value, THCTensor *b);
THC_API void THCTensor_(csub)(THCState *state, THCTensor *result, THCTensor *a, real value, THCTensor *b);
THC_API void THCTensor_(cmul)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cpow)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cdiv)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(clshift)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(crshift)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cfmod)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cremainder)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cbitand)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cbitor)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cbitxor)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cmax)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(cmin)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);
THC_API void THCTensor_(addcmul)(THCState *state, THCTensor *result, THCTensor *t, real value, THCTensor *a,
                                 THCTensor *b);
THC_API void THCTensor_(addcdiv)(THCState *state, THCTensor *result, THCTensor *t, real value, THCTensor *a,
                                 THCTensor *b);

/* beta * t + alpha * (the product) */
THC_API void THCTensor_(addmv)(THCState *state, THCTensor *result, real beta, THCTensor *t, real alpha, THCTensor *mat,
                               THCTensor *vec);
THC_API void THCTensor_(addmm)(THCState *state, THCTensor *result, real beta, THCTensor *t, real alpha, THCTensor *a,
                               THCTensor *b);
THC_API void THCTensor_(addr)(THCState *state, THCTensor *result, real beta, THCTensor *t, real alpha, THCTensor *a,
                              THCTensor *b);
THC_API void THCTensor_(addbmm)(THCState *state, THCTensor *result, real beta, THCTensor *t, real alpha, THCTensor *a,
                                THCTensor *b);
THC_API void THCTensor_(baddbmm)(THCState *state, THCTensor *result, real beta, THCTensor *t, real alpha, THCTensor *a,
                                 THCTensor *b);
/* gain * (the squared distance of each row of a from each row of b) */
THC_API void THCTensor_(match)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b, real gain);

/* along one dimension; where a value has an index, the two results come in this order */
THC_API void THCTensor_(max)(THCState *state, THCTensor *values, struct THCudaLongTensor *indices, THCTensor *t,
                             int dim, int keepdim);
THC_API void THCTensor_(min)(THCState *state, THCTensor *values, struct THCudaLongTensor *indices, THCTensor *t,
                             int dim, int keepdim);
THC_API void THCTensor_(kthvalue)(THCState *state, THCTensor *values, struct THCudaLongTensor *indices, THCTensor *t,
                                  int64_t k, int dim, int keepdim);
THC_API void THCTensor_(mode)(THCState *state, THCTensor *values, struct THCudaLongTensor *indices, THCTensor *t,
                              int dim, int keepdim);
THC_API void THCTensor_(median)(THCState *state, THCTensor *values, struct THCudaLongTensor *indices, THCTensor *t,
                                int dim, int keepdim);
THC_API void THCTensor_(sum)(THCState *state, THCTensor *result, THCTensor *t, int dim, int keepdim);
THC_API void THCTensor_(prod)(THCState *state, THCTensor *result, THCTensor *t, int dim, int keepdim);
THC_API void THCTensor_(cumsum)(THCState *state, THCTensor *result, THCTensor *t, int dim);
THC_API void THCTensor_(cumprod)(THCState *state, THCTensor *result, THCTensor *t, int dim);
/* dim < 0: the first dimension of size 3 */
THC_API void THCTensor_(cross)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b, int dim);
THC_API void THCTensor_(sort)(THCState *state, THCTensor *values, struct THCudaLongTensor *indices, THCTensor *t,
                              int dim, int descending);
THC_API void THCTensor_(topk)(THCState *state, THCTensor *values, struct THCudaLongTensor *indices, THCTensor *t,
                              int64_t k, int dim, int largest, int sorted);

/* made anew; m < 1: as many columns as rows; range includes its end, arange doesn't */
THC_API void THCTensor_(zeros)(THCState *state, THCTensor *result, struct THLongStorage *size);
THC_API void THCTensor_(zerosLike)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(ones)(THCState *state, THCTensor *result, struct THLongStorage *size);
THC_API void THCTensor_(onesLike)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(eye)(THCState *state, THCTensor *result, int64_t n, int64_t m);
THC_API void THCTensor_(arange)(THCState *state, THCTensor *result, accreal first, accreal last, accreal step);
THC_API void THCTensor_(range)(THCState *state, THCTensor *result, accreal first, accreal last, accreal step);
THC_API void THCTensor_(randperm)(THCState *state, THCTensor *result, int64_t n);

/* arranged in another way */
THC_API void THCTensor_(diag)(THCState *state, THCTensor *result, THCTensor *t, int k);
THC_API void THCTensor_(reshape)(THCState *state, THCTensor *result, THCTensor *t, struct THLongStorage *size);
THC_API void THCTensor_(tril)(THCState *state, THCTensor *result, THCTensor *t, int64_t k);
THC_API void THCTensor_(triu)(THCState *state, THCTensor *result, THCTensor *t, int64_t k);
THC_API void THCTensor_(cat)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b, int dim);
THC_API void THCTensor_(catArray)(THCState *state, THCTensor *result, THCTensor **inputs, int count, int dim);

/* the same with an index or a mask that is on the CPU */
THC_API void THCTensor_(indexSelect_long)(THCState *state, THCTensor *result, THCTensor *src, int dim,
                                          struct THLongTensor *index);
THC_API void THCTensor_(indexCopy_long)(THCState *state, THCTensor *self, int dim, struct THLongTensor *index,
                                        THCTensor *src);
THC_API void THCTensor_(indexAdd_long)(THCState *state, THCTensor *self, int dim, struct THLongTensor *index,
                                       THCTensor *src);
THC_API void THCTensor_(indexFill_long)(THCState *state, THCTensor *self, int dim, struct THLongTensor *index,
                                        real value);
THC_API void THCTensor_(maskedFillByte)(THCState *state, THCTensor *self, struct THByteTensor *mask, real value);
THC_API void THCTensor_(maskedCopyByte)(THCState *state, THCTensor *self, struct THByteTensor *mask, THCTensor *src);
THC_API void THCTensor_(maskedSelectByte)(THCState *state, THCTensor *result, THCTensor *src, struct THByteTensor *mask);

/* comparisons: as bytes, or (with a T) as numbers of the same type */
#define THC_COMPARISON(NAME)                                                                  \
  THC_API void THCTensor_(NAME##Value)(THCState *state, struct THCudaByteTensor *result, THCTensor *t, real value);  \
  THC_API void THCTensor_(NAME##ValueT)(THCState *state, THCTensor *result, THCTensor *t, real value);            \
  THC_API void THCTensor_(NAME##Tensor)(THCState *state, struct THCudaByteTensor *result, THCTensor *a, THCTensor *b); \
  THC_API void THCTensor_(NAME##TensorT)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b);

THC_COMPARISON(lt)
THC_COMPARISON(le)
THC_COMPARISON(gt)
THC_COMPARISON(ge)
THC_COMPARISON(ne)
THC_COMPARISON(eq)
#undef THC_COMPARISON

#if defined(THC_REAL_IS_FLOAT) || defined(THC_REAL_IS_DOUBLE) || defined(THC_REAL_IS_HALF)

THC_API void THCTensor_(sigmoid)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(log)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(log10)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(log1p)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(log2)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(lgamma)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(digamma)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(trigamma)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(polygamma)(THCState *state, THCTensor *result, int64_t n, THCTensor *t);
THC_API void THCTensor_(exp)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(expm1)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(cos)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(acos)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(cosh)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(sin)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(asin)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(sinh)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(tan)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(atan)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(tanh)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(erf)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(erfc)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(erfinv)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(sqrt)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(rsqrt)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(ceil)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(floor)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(round)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(trunc)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(frac)(THCState *state, THCTensor *result, THCTensor *t);
THC_API void THCTensor_(atan2)(THCState *state, THCTensor *result, THCTensor *y, THCTensor *x);
THC_API void THCTensor_(lerp)(THCState *state, THCTensor *result, THCTensor *a, THCTensor *b, real weight);
THC_API void THCTensor_(pow)(THCState *state, THCTensor *result, THCTensor *t, real exponent);
THC_API void THCTensor_(tpow)(THCState *state, THCTensor *result, real base, THCTensor *t);

/* biased: divided by n, not by n - 1 */
THC_API void THCTensor_(mean)(THCState *state, THCTensor *result, THCTensor *t, int dim, int keepdim);
THC_API void THCTensor_(std)(THCState *state, THCTensor *result, THCTensor *t, int dim, int biased, int keepdim);
THC_API void THCTensor_(var)(THCState *state, THCTensor *result, THCTensor *t, int dim, int biased, int keepdim);
THC_API void THCTensor_(norm)(THCState *state, THCTensor *result, THCTensor *t, real p, int dim, int keepdim);
THC_API void THCTensor_(renorm)(THCState *state, THCTensor *result, THCTensor *t, real p, int dim, real maxnorm);
THC_API accreal THCTensor_(dist)(THCState *state, THCTensor *a, THCTensor *b, real p);
THC_API accreal THCTensor_(meanall)(THCState *state, THCTensor *t);
THC_API accreal THCTensor_(varall)(THCState *state, THCTensor *t, int biased);
THC_API accreal THCTensor_(stdall)(THCState *state, THCTensor *t, int biased);
THC_API accreal THCTensor_(normall)(THCState *state, THCTensor *t, real p);

/* low == high: from the smallest to the largest element; bhistc makes one histogram of each row */
THC_API void THCTensor_(histc)(THCState *state, THCTensor *result, THCTensor *t, int64_t bins, real low, real high);
THC_API void THCTensor_(bhistc)(THCState *state, THCTensor *result, THCTensor *t, int64_t bins, real low, real high);

THC_API void THCTensor_(linspace)(THCState *state, THCTensor *result, real first, real last, int64_t n);
THC_API void THCTensor_(logspace)(THCState *state, THCTensor *result, real first, real last, int64_t n);
THC_API void THCTensor_(rand)(THCState *state, THCTensor *result, struct THLongStorage *size);
THC_API void THCTensor_(randn)(THCState *state, THCTensor *result, struct THLongStorage *size);
THC_API void THCTensor_(dirichlet_grad)(THCState *state, THCTensor *result, THCTensor *x, THCTensor *alpha,
                                        THCTensor *total);

#endif

#if defined(THC_REAL_IS_BYTE)

THC_API int THCTensor_(logicalall)(THCState *state, THCTensor *t);
THC_API int THCTensor_(logicalany)(THCState *state, THCTensor *t);
THC_API int THCTensor_(logicalAndAll)(THCState *state, THCTensor *t);
THC_API int THCTensor_(logicalAnyAll)(THCState *state, THCTensor *t);
THC_API void THCTensor_(logicalAnd)(THCState *state, THCTensor *result, THCTensor *t, int dim, int keepdim);
THC_API void THCTensor_(logicalAny)(THCState *state, THCTensor *result, THCTensor *t, int dim, int keepdim);

#endif

#endif
