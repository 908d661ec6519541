/* Mathematics of tensors, for CPU and GPU: shared/th.h and shared/thc.h say what the words with THX stand for. */
/* Results come first, and get the size that they need. A result may be one of the inputs. Inputs of pointwise functions
   need as many elements as each other, not the same shape: the result has the first one's. Dimensions count from 0. */

/* values and copies of a choice of elements */
THX_API void THXTensor_(fill)(THX_STATE THXTensor *self, real value);
THX_API void THXTensor_(zero)(THX_STATE THXTensor *self);
THX_API void THXTensor_(maskedFill)(THX_STATE THXTensor *self, struct THXByteTensor *mask, real value);
THX_API void THXTensor_(maskedCopy)(THX_STATE THXTensor *self, struct THXByteTensor *mask, THXTensor *src);
THX_API void THXTensor_(maskedSelect)(THX_STATE THXTensor *result, THXTensor *src, struct THXByteTensor *mask);
THX_API void THXTensor_(nonzero)(THX_STATE struct THXLongTensor *subscripts, THXTensor *t);
THX_API void THXTensor_(indexSelect)(THX_STATE THXTensor *result, THXTensor *src, int dim, struct THXLongTensor *index);
THX_API void THXTensor_(indexCopy)(THX_STATE THXTensor *self, int dim, struct THXLongTensor *index, THXTensor *src);
THX_API void THXTensor_(indexAdd)(THX_STATE THXTensor *self, int dim, struct THXLongTensor *index, THXTensor *src);
THX_API void THXTensor_(indexFill)(THX_STATE THXTensor *self, int dim, struct THXLongTensor *index, real value);
THX_API void THXTensor_(take)(THX_STATE THXTensor *result, THXTensor *src, struct THXLongTensor *index);
THX_API void THXTensor_(put)(THX_STATE THXTensor *self, struct THXLongTensor *index, THXTensor *src, int accumulate);
THX_API void THXTensor_(gather)(THX_STATE THXTensor *result, THXTensor *src, int dim, struct THXLongTensor *index);
THX_API void THXTensor_(scatter)(THX_STATE THXTensor *self, int dim, struct THXLongTensor *index, THXTensor *src);
THX_API void THXTensor_(scatterAdd)(THX_STATE THXTensor *self, int dim, struct THXLongTensor *index, THXTensor *src);
THX_API void THXTensor_(scatterFill)(THX_STATE THXTensor *self, int dim, struct THXLongTensor *index, real value);

/* one number of all elements */
THX_API accreal THXTensor_(dot)(THX_STATE THXTensor *a, THXTensor *b);
THX_API real THXTensor_(minall)(THX_STATE THXTensor *t);
THX_API real THXTensor_(maxall)(THX_STATE THXTensor *t);
THX_API real THXTensor_(medianall)(THX_STATE THXTensor *t);
THX_API accreal THXTensor_(sumall)(THX_STATE THXTensor *t);
THX_API accreal THXTensor_(prodall)(THX_STATE THXTensor *t);
THX_API accreal THXTensor_(trace)(THX_STATE THXTensor *t);
THX_API int THXTensor_(equal)(THX_STATE THXTensor *a, THXTensor *b);

/* a tensor and a number; fmod has the sign of t, remainder that of the number */
THX_API void THXTensor_(neg)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(cinv)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(sign)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(abs)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(add)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(sub)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(add_scaled)(THX_STATE THXTensor *result, THXTensor *t, real value, real alpha);
THX_API void THXTensor_(sub_scaled)(THX_STATE THXTensor *result, THXTensor *t, real value, real alpha);
THX_API void THXTensor_(mul)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(div)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(lshift)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(rshift)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(fmod)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(remainder)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(clamp)(THX_STATE THXTensor *result, THXTensor *t, real low, real high);
THX_API void THXTensor_ (bitand)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(bitor)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(bitxor)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(cmaxValue)(THX_STATE THXTensor *result, THXTensor *t, real value);
THX_API void THXTensor_(cminValue)(THX_STATE THXTensor *result, THXTensor *t, real value);

/* element by element: cadd is a + value * b, addcmul t + value * a * b */
THX_API void THXTensor_(cadd)(THX_STATE THXTensor *result, THXTensor *a, real value, THXTensor *b);
THX_API void THXTensor_(csub)(THX_STATE THXTensor *result, THXTensor *a, real value, THXTensor *b);
THX_API void THXTensor_(cmul)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cpow)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cdiv)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(clshift)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(crshift)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cfmod)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cremainder)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cbitand)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cbitor)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cbitxor)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cmax)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(cmin)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(addcmul)(THX_STATE THXTensor *result, THXTensor *t, real value, THXTensor *a, THXTensor *b);
THX_API void THXTensor_(addcdiv)(THX_STATE THXTensor *result, THXTensor *t, real value, THXTensor *a, THXTensor *b);

/* beta * t + alpha * (the product) */
THX_API void THXTensor_(addmv)(THX_STATE THXTensor *result, real beta, THXTensor *t, real alpha, THXTensor *mat,
                               THXTensor *vec);
THX_API void THXTensor_(addmm)(THX_STATE THXTensor *result, real beta, THXTensor *t, real alpha, THXTensor *a,
                               THXTensor *b);
THX_API void THXTensor_(addr)(THX_STATE THXTensor *result, real beta, THXTensor *t, real alpha, THXTensor *a,
                              THXTensor *b);
THX_API void THXTensor_(addbmm)(THX_STATE THXTensor *result, real beta, THXTensor *t, real alpha, THXTensor *a,
                                THXTensor *b);
THX_API void THXTensor_(baddbmm)(THX_STATE THXTensor *result, real beta, THXTensor *t, real alpha, THXTensor *a,
                                 THXTensor *b);
/* gain * (the squared distance of each row of a from each row of b) */
THX_API void THXTensor_(match)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b, real gain);

/* along one dimension; where a value has an index, the two results come in this order */
THX_API void THXTensor_(max)(THX_STATE THXTensor *values, struct THXLongTensor *indices, THXTensor *t, int dim,
                             int keepdim);
THX_API void THXTensor_(min)(THX_STATE THXTensor *values, struct THXLongTensor *indices, THXTensor *t, int dim,
                             int keepdim);
THX_API void THXTensor_(kthvalue)(THX_STATE THXTensor *values, struct THXLongTensor *indices, THXTensor *t, int64_t k,
                                  int dim, int keepdim);
THX_API void THXTensor_(mode)(THX_STATE THXTensor *values, struct THXLongTensor *indices, THXTensor *t, int dim,
                              int keepdim);
THX_API void THXTensor_(median)(THX_STATE THXTensor *values, struct THXLongTensor *indices, THXTensor *t, int dim,
                                int keepdim);
THX_API void THXTensor_(sum)(THX_STATE THXTensor *result, THXTensor *t, int dim, int keepdim);
THX_API void THXTensor_(prod)(THX_STATE THXTensor *result, THXTensor *t, int dim, int keepdim);
THX_API void THXTensor_(cumsum)(THX_STATE THXTensor *result, THXTensor *t, int dim);
THX_API void THXTensor_(cumprod)(THX_STATE THXTensor *result, THXTensor *t, int dim);
/* dim < 0: the first dimension of size 3 */
THX_API void THXTensor_(cross)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b, int dim);
THX_API void THXTensor_(sort)(THX_STATE THXTensor *values, struct THXLongTensor *indices, THXTensor *t, int dim,
                              int descending);
THX_API void THXTensor_(topk)(THX_STATE THXTensor *values, struct THXLongTensor *indices, THXTensor *t, int64_t k,
                              int dim, int largest, int sorted);

/* made anew; m < 1: as many columns as rows; range includes its end, arange doesn't */
THX_API void THXTensor_(zeros)(THX_STATE THXTensor *result, struct THLongStorage *size);
THX_API void THXTensor_(zerosLike)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(ones)(THX_STATE THXTensor *result, struct THLongStorage *size);
THX_API void THXTensor_(onesLike)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(eye)(THX_STATE THXTensor *result, int64_t n, int64_t m);
THX_API void THXTensor_(arange)(THX_STATE THXTensor *result, accreal first, accreal last, accreal step);
THX_API void THXTensor_(range)(THX_STATE THXTensor *result, accreal first, accreal last, accreal step);
THX_API void THXTensor_(randperm)(THX_STATE THXTensor *result THX_GENERATOR, int64_t n);

/* arranged in another way */
THX_API void THXTensor_(diag)(THX_STATE THXTensor *result, THXTensor *t, int k);
THX_API void THXTensor_(reshape)(THX_STATE THXTensor *result, THXTensor *t, struct THLongStorage *size);
THX_API void THXTensor_(tril)(THX_STATE THXTensor *result, THXTensor *t, int64_t k);
THX_API void THXTensor_(triu)(THX_STATE THXTensor *result, THXTensor *t, int64_t k);
THX_API void THXTensor_(cat)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b, int dim);
THX_API void THXTensor_(catArray)(THX_STATE THXTensor *result, THXTensor **inputs, int count, int dim);

/* comparisons: as bytes, or (with a T) as numbers of the same type */
#define THX_COMPARISON(NAME)                                                                                    \
  THX_API void THXTensor_(NAME##Value)(THX_STATE struct THXByteTensor * result, THXTensor * t, real value);     \
  THX_API void THXTensor_(NAME##ValueT)(THX_STATE THXTensor * result, THXTensor * t, real value);               \
  THX_API void THXTensor_(NAME##Tensor)(THX_STATE struct THXByteTensor * result, THXTensor * a, THXTensor * b); \
  THX_API void THXTensor_(NAME##TensorT)(THX_STATE THXTensor * result, THXTensor * a, THXTensor * b);

THX_COMPARISON(lt)
THX_COMPARISON(le)
THX_COMPARISON(gt)
THX_COMPARISON(ge)
THX_COMPARISON(ne)
THX_COMPARISON(eq)
#undef THX_COMPARISON

#ifdef THX_IS_FLOATING

THX_API void THXTensor_(sigmoid)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(log)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(log10)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(log1p)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(log2)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(lgamma)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(digamma)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(trigamma)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(polygamma)(THX_STATE THXTensor *result, int64_t n, THXTensor *t);
THX_API void THXTensor_(exp)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(expm1)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(cos)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(acos)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(cosh)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(sin)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(asin)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(sinh)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(tan)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(atan)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(tanh)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(erf)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(erfc)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(erfinv)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(sqrt)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(rsqrt)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(ceil)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(floor)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(round)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(trunc)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(frac)(THX_STATE THXTensor *result, THXTensor *t);
THX_API void THXTensor_(atan2)(THX_STATE THXTensor *result, THXTensor *y, THXTensor *x);
THX_API void THXTensor_(lerp)(THX_STATE THXTensor *result, THXTensor *a, THXTensor *b, real weight);
THX_API void THXTensor_(pow)(THX_STATE THXTensor *result, THXTensor *t, real exponent);
THX_API void THXTensor_(tpow)(THX_STATE THXTensor *result, real base, THXTensor *t);

/* biased: divided by n, not by n - 1 */
THX_API void THXTensor_(mean)(THX_STATE THXTensor *result, THXTensor *t, int dim, int keepdim);
THX_API void THXTensor_(std)(THX_STATE THXTensor *result, THXTensor *t, int dim, int biased, int keepdim);
THX_API void THXTensor_(var)(THX_STATE THXTensor *result, THXTensor *t, int dim, int biased, int keepdim);
THX_API void THXTensor_(norm)(THX_STATE THXTensor *result, THXTensor *t, real p, int dim, int keepdim);
THX_API void THXTensor_(renorm)(THX_STATE THXTensor *result, THXTensor *t, real p, int dim, real maxnorm);
THX_API accreal THXTensor_(dist)(THX_STATE THXTensor *a, THXTensor *b, real p);
THX_API accreal THXTensor_(meanall)(THX_STATE THXTensor *t);
THX_API accreal THXTensor_(varall)(THX_STATE THXTensor *t, int biased);
THX_API accreal THXTensor_(stdall)(THX_STATE THXTensor *t, int biased);
THX_API accreal THXTensor_(normall)(THX_STATE THXTensor *t, real p);

/* low == high: from the smallest to the largest element; bhistc makes one histogram of each row */
THX_API void THXTensor_(histc)(THX_STATE THXTensor *result, THXTensor *t, int64_t bins, real low, real high);
THX_API void THXTensor_(bhistc)(THX_STATE THXTensor *result, THXTensor *t, int64_t bins, real low, real high);

THX_API void THXTensor_(linspace)(THX_STATE THXTensor *result, real first, real last, int64_t n);
THX_API void THXTensor_(logspace)(THX_STATE THXTensor *result, real first, real last, int64_t n);
THX_API void THXTensor_(rand)(THX_STATE THXTensor *result THX_GENERATOR, struct THLongStorage *size);
THX_API void THXTensor_(randn)(THX_STATE THXTensor *result THX_GENERATOR, struct THLongStorage *size);
THX_API void THXTensor_(dirichlet_grad)(THX_STATE THXTensor *result, THXTensor *x, THXTensor *alpha, THXTensor *total);

#endif

#ifdef THX_IS_BYTE

THX_API int THXTensor_(logicalall)(THX_STATE THXTensor *t);
THX_API int THXTensor_(logicalany)(THX_STATE THXTensor *t);
THX_API int THXTensor_(logicalAndAll)(THX_STATE THXTensor *t);
THX_API int THXTensor_(logicalAnyAll)(THX_STATE THXTensor *t);
THX_API void THXTensor_(logicalAnd)(THX_STATE THXTensor *result, THXTensor *t, int dim, int keepdim);
THX_API void THXTensor_(logicalAny)(THX_STATE THXTensor *result, THXTensor *t, int dim, int keepdim);

#endif
