/* Generic code as extensions have it: the file includes itself for every type, by way of TH. */
#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic_sum.c"
#else

#define generic_(NAME) TH_CONCAT_3(generic_, Real, NAME)

accreal generic_(_sum)(THTensor *t) {
  THArgCheck(THTensor_(isContiguous)(t), 1, TH_CONCAT_STRING_2(Real, Tensor) " must be contiguous");
  real *data = THTensor_(data)(t);
  accreal sum = 0;
  for (ptrdiff_t i = 0; i < THTensor_(nElement)(t); ++i) sum += data[i];
#if defined(TH_REAL_IS_FLOAT) || defined(TH_REAL_IS_DOUBLE)
  sum += 0.5;
#endif
  return sum;
}

THTensor *generic_(_new)(THStorage *storage) {
  return THTensor_(newWithStorage1d)(storage, 0, THStorage_(size)(storage), 1);
}

#undef generic_
#endif
