#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THTensorMath.h"
#else

/* Results come first, and get the size that they need. A result may be one of the inputs. Inputs of pointwise functions
   need as many elements as each other, not the same shape: the result has the first one's. Dimensions count from 0.
   `accreal` is what sums are made in: double, or int64_t for integers. */

/* values and copies of a choice of elements */
TH_API void THTensor_(fill)(THTensor *self, real value);
TH_API void THTensor_(zero)(THTensor *self);
TH_API void THTensor_(maskedFill)(THTensor *self, struct THByteTensor *mask, real value);
TH_API void THTensor_(maskedCopy)(THTensor *self, struct THByteTensor *mask, THTensor *src);
TH_API void THTensor_(maskedSelect)(THTensor *result, THTensor *src, struct THByteTensor *mask);
TH_API void THTensor_(nonzero)(struct THLongTensor *subscripts, THTensor *t);
TH_API void THTensor_(indexSelect)(THTensor *result, THTensor *src, int dim, struct THLongTensor *index);
TH_API void THTensor_(indexCopy)(THTensor *self, int dim, struct THLongTensor *index, THTensor *src);
TH_API void THTensor_(indexAdd)(THTensor *self, int dim, struct THLongTensor *index, THTensor *src);
TH_API void THTensor_(indexFill)(THTensor *self, int dim, struct THLongTensor *index, real value);
TH_API void THTensor_(take)(THTensor *result, THTensor *src, struct THLongTensor *index);
TH_API void THTensor_(put)(THTensor *self, struct THLongTensor *index, THTensor *src, int accumulate);
TH_API void THTensor_(gather)(THTensor *result, THTensor *src, int dim, struct THLongTensor *index);
TH_API void THTensor_(scatter)(THTensor *self, int dim, struct THLongTensor *index, THTensor *src);
TH_API void THTensor_(scatterAdd)(THTensor *self, int dim, struct THLongTensor *index, THTensor *src);
TH_API void THTensor_(scatterFill)(THTensor *self, int dim, struct THLongTensor *index, real value);

/* one number of all elements */
TH_API accreal THTensor_(dot)(THTensor *a, THTensor *b);
TH_API real THTensor_(minall)(THTensor *t);
TH_API real THTensor_(maxall)(THTensor *t);
TH_API real THTensor_(medianall)(THTensor *t);
TH_API accreal THTensor_(sumall)(THTensor *t);
TH_API accreal THTensor_(prodall)(THTensor *t);
TH_API accreal THTensor_(trace)(THTensor *t);
TH_API int THTensor_(equal)(THTensor *a, THTensor *b);

/* a tensor and a number; fmod has the sign of t, remainder that of the number */
TH_API void THTensor_(neg)(THTensor *result, THTensor *t);
TH_API void THTensor_(cinv)(THTensor *result, THTensor *t);
TH_API void THTensor_(sign)(THTensor *result, THTensor *t);
TH_API void THTensor_(abs)(THTensor *result, THTensor *t);
TH_API void THTensor_(add)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(sub)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(add_scaled)(THTensor *result, THTensor *t, real value, real alpha);
TH_API void THTensor_(sub_scaled)(THTensor *result, THTensor *t, real value, real alpha);
TH_API void THTensor_(mul)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(div)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(lshift)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(rshift)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(fmod)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(remainder)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(clamp)(THTensor *result, THTensor *t, real low, real high);
TH_API void THTensor_(bitand)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(bitor)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(bitxor)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(cmaxValue)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(cminValue)(THTensor *result, THTensor *t, real value);

/* element by element: cadd is a + value * b, addcmul t + value * a * b */
TH_API void THTensor_(cadd)(THTensor *result, THTensor *a, real value, THTensor *b);
TH_API void THTensor_(csub)(THTensor *result, THTensor *a, real value, THTensor *b);
TH_API void THTensor_(cmul)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cpow)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cdiv)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(clshift)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(crshift)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cfmod)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cremainder)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cbitand)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cbitor)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cbitxor)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cmax)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(cmin)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(addcmul)(THTensor *result, THTensor *t, real value, THTensor *a, THTensor *b);
TH_API void THTensor_(addcdiv)(THTensor *result, THTensor *t, real value, THTensor *a, THTensor *b);

/* beta * t + alpha * (the product) */
TH_API void THTensor_(addmv)(THTensor *result, real beta, THTensor *t, real alpha, THTensor *mat, THTensor *vec);
TH_API void THTensor_(addmm)(THTensor *result, real beta, THTensor *t, real alpha, THTensor *a, THTensor *b);
TH_API void THTensor_(addr)(THTensor *result, real beta, THTensor *t, real alpha, THTensor *a, THTensor *b);
TH_API void THTensor_(addbmm)(THTensor *result, real beta, THTensor *t, real alpha, THTensor *a, THTensor *b);
TH_API void THTensor_(baddbmm)(THTensor *result, real beta, THTensor *t, real alpha, THTensor *a, THTensor *b);
/* gain * (the squared distance of each row of a from each row of b) */
TH_API void THTensor_(match)(THTensor *result, THTensor *a, THTensor *b, real gain);

/* along one dimension; where a value has an index, the two results come in this order */
TH_API void THTensor_(max)(THTensor *values, struct THLongTensor *indices, THTensor *t, int dim, int keepdim);
TH_API void THTensor_(min)(THTensor *values, struct THLongTensor *indices, THTensor *t, int dim, int keepdim);
TH_API void THTensor_(kthvalue)(THTensor *values, struct THLongTensor *indices, THTensor *t, int64_t k, int dim,
                                int keepdim);
TH_API void THTensor_(mode)(THTensor *values, struct THLongTensor *indices, THTensor *t, int dim, int keepdim);
TH_API void THTensor_(median)(THTensor *values, struct THLongTensor *indices, THTensor *t, int dim, int keepdim);
TH_API void THTensor_(sum)(THTensor *result, THTensor *t, int dim, int keepdim);
TH_API void THTensor_(prod)(THTensor *result, THTensor *t, int dim, int keepdim);
TH_API void THTensor_(cumsum)(THTensor *result, THTensor *t, int dim);
TH_API void THTensor_(cumprod)(THTensor *result, THTensor *t, int dim);
/* dim < 0: the first dimension of size 3 */
TH_API void THTensor_(cross)(THTensor *result, THTensor *a, THTensor *b, int dim);
TH_API void THTensor_(sort)(THTensor *values, struct THLongTensor *indices, THTensor *t, int dim, int descending);
TH_API void THTensor_(topk)(THTensor *values, struct THLongTensor *indices, THTensor *t, int64_t k, int dim,
                            int largest, int sorted);

/* made anew; m < 1: as many columns as rows; range includes its end, arange doesn't */
TH_API void THTensor_(zeros)(THTensor *result, struct THLongStorage *size);
TH_API void THTensor_(zerosLike)(THTensor *result, THTensor *t);
TH_API void THTensor_(ones)(THTensor *result, struct THLongStorage *size);
TH_API void THTensor_(onesLike)(THTensor *result, THTensor *t);
TH_API void THTensor_(eye)(THTensor *result, int64_t n, int64_t m);
TH_API void THTensor_(arange)(THTensor *result, accreal first, accreal last, accreal step);
TH_API void THTensor_(range)(THTensor *result, accreal first, accreal last, accreal step);
TH_API void THTensor_(randperm)(THTensor *result, THGenerator *generator, int64_t n);

/* arranged in another way */
TH_API void THTensor_(diag)(THTensor *result, THTensor *t, int k);
TH_API void THTensor_(reshape)(THTensor *result, THTensor *t, struct THLongStorage *size);
TH_API void THTensor_(tril)(THTensor *result, THTensor *t, int64_t k);
TH_API void THTensor_(triu)(THTensor *result, THTensor *t, int64_t k);
TH_API void THTensor_(cat)(THTensor *result, THTensor *a, THTensor *b, int dim);
TH_API void THTensor_(catArray)(THTensor *result, THTensor **inputs, int count, int dim);

/* comparisons: as bytes, or (with a T) as numbers of the same type */
TH_API void THTensor_(ltValue)(struct THByteTensor *result, THTensor *t, real value);
TH_API void THTensor_(leValue)(struct THByteTensor *result, THTensor *t, real value);
TH_API void THTensor_(gtValue)(struct THByteTensor *result, THTensor *t, real value);
TH_API void THTensor_(geValue)(struct THByteTensor *result, THTensor *t, real value);
TH_API void THTensor_(neValue)(struct THByteTensor *result, THTensor *t, real value);
TH_API void THTensor_(eqValue)(struct THByteTensor *result, THTensor *t, real value);
TH_API void THTensor_(ltValueT)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(leValueT)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(gtValueT)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(geValueT)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(neValueT)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(eqValueT)(THTensor *result, THTensor *t, real value);
TH_API void THTensor_(ltTensor)(struct THByteTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(leTensor)(struct THByteTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(gtTensor)(struct THByteTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(geTensor)(struct THByteTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(neTensor)(struct THByteTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(eqTensor)(struct THByteTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(ltTensorT)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(leTensorT)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(gtTensorT)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(geTensorT)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(neTensorT)(THTensor *result, THTensor *a, THTensor *b);
TH_API void THTensor_(eqTensorT)(THTensor *result, THTensor *a, THTensor *b);

#if defined(TH_REAL_IS_FLOAT) || defined(TH_REAL_IS_DOUBLE)

TH_API void THTensor_(sigmoid)(THTensor *result, THTensor *t);
TH_API void THTensor_(log)(THTensor *result, THTensor *t);
TH_API void THTensor_(log10)(THTensor *result, THTensor *t);
TH_API void THTensor_(log1p)(THTensor *result, THTensor *t);
TH_API void THTensor_(log2)(THTensor *result, THTensor *t);
TH_API void THTensor_(lgamma)(THTensor *result, THTensor *t);
TH_API void THTensor_(digamma)(THTensor *result, THTensor *t);
TH_API void THTensor_(trigamma)(THTensor *result, THTensor *t);
TH_API void THTensor_(polygamma)(THTensor *result, int64_t n, THTensor *t);
TH_API void THTensor_(exp)(THTensor *result, THTensor *t);
TH_API void THTensor_(expm1)(THTensor *result, THTensor *t);
TH_API void THTensor_(cos)(THTensor *result, THTensor *t);
TH_API void THTensor_(acos)(THTensor *result, THTensor *t);
TH_API void THTensor_(cosh)(THTensor *result, THTensor *t);
TH_API void THTensor_(sin)(THTensor *result, THTensor *t);
TH_API void THTensor_(asin)(THTensor *result, THTensor *t);
TH_API void THTensor_(sinh)(THTensor *result, THTensor *t);
TH_API void THTensor_(tan)(THTensor *result, THTensor *t);
TH_API void THTensor_(atan)(THTensor *result, THTensor *t);
TH_API void THTensor_(tanh)(THTensor *result, THTensor *t);
TH_API void THTensor_(erf)(THTensor *result, THTensor *t);
TH_API void THTensor_(erfc)(THTensor *result, THTensor *t);
TH_API void THTensor_(erfinv)(THTensor *result, THTensor *t);
TH_API void THTensor_(sqrt)(THTensor *result, THTensor *t);
TH_API void THTensor_(rsqrt)(THTensor *result, THTensor *t);
TH_API void THTensor_(ceil)(THTensor *result, THTensor *t);
TH_API void THTensor_(floor)(THTensor *result, THTensor *t);
TH_API void THTensor_(round)(THTensor *result, THTensor *t);
TH_API void THTensor_(trunc)(THTensor *result, THTensor *t);
TH_API void THTensor_(frac)(THTensor *result, THTensor *t);
TH_API void THTensor_(atan2)(THTensor *result, THTensor *y, THTensor *x);
TH_API void THTensor_(lerp)(THTensor *result, THTensor *a, THTensor *b, real weight);
TH_API void THTensor_(pow)(THTensor *result, THTensor *t, real exponent);
TH_API void THTensor_(tpow)(THTensor *result, real base, THTensor *t);

/* biased: divided by n, not by n - 1 */
TH_API void THTensor_(mean)(THTensor *result, THTensor *t, int dim, int keepdim);
TH_API void THTensor_(std)(THTensor *result, THTensor *t, int dim, int biased, int keepdim);
TH_API void THTensor_(var)(THTensor *result, THTensor *t, int dim, int biased, int keepdim);
TH_API void THTensor_(norm)(THTensor *result, THTensor *t, real p, int dim, int keepdim);
TH_API void THTensor_(renorm)(THTensor *result, THTensor *t, real p, int dim, real maxnorm);
TH_API accreal THTensor_(dist)(THTensor *a, THTensor *b, real p);
TH_API accreal THTensor_(meanall)(THTensor *t);
TH_API accreal THTensor_(varall)(THTensor *t, int biased);
TH_API accreal THTensor_(stdall)(THTensor *t, int biased);
TH_API accreal THTensor_(normall)(THTensor *t, real p);

/* low == high: from the smallest to the largest element; bhistc makes one histogram of each row */
TH_API void THTensor_(histc)(THTensor *result, THTensor *t, int64_t bins, real low, real high);
TH_API void THTensor_(bhistc)(THTensor *result, THTensor *t, int64_t bins, real low, real high);

TH_API void THTensor_(linspace)(THTensor *result, real first, real last, int64_t n);
TH_API void THTensor_(logspace)(THTensor *result, real first, real last, int64_t n);
TH_API void THTensor_(rand)(THTensor *result, THGenerator *generator, struct THLongStorage *size);
TH_API void THTensor_(randn)(THTensor *result, THGenerator *generator, struct THLongStorage *size);
TH_API void THTensor_(dirichlet_grad)(THTensor *result, THTensor *x, THTensor *alpha, THTensor *total);

#endif

#if defined(TH_REAL_IS_BYTE)

TH_API int THTensor_(logicalall)(THTensor *t);
TH_API int THTensor_(logicalany)(THTensor *t);
TH_API int THTensor_(logicalAndAll)(THTensor *t);
TH_API int THTensor_(logicalAnyAll)(THTensor *t);
TH_API void THTensor_(logicalAnd)(THTensor *result, THTensor *t, int dim, int keepdim);
TH_API void THTensor_(logicalAny)(THTensor *result, THTensor *t, int dim, int keepdim);

#endif

#endif
