#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/apply.c"
#else

void apply_(count)(THTensor *self, THTensor *unused) {
  int64_t i = 0;
  (void)unused;
  TH_TENSOR_APPLY(real, self, *self_data = (real)(i % 100); i++;)
}

void apply_(scale)(THTensor *result, THTensor *t, int by) {
  TH_TENSOR_APPLY2(real, result, real, t, *result_data = (real)(*t_data * by);)
}

void apply_(plus_product)(THTensor *result, THTensor *a, THTensor *b) {
  TH_TENSOR_APPLY3(real, result, real, a, real, b, real product = (real)(*a_data * *b_data); *result_data += product;)
}

/* -1 where there is none; says also how many elements were looked at. */
void apply_(first_zero)(THLongTensor *result, THTensor *t) {
  int64_t place = -1, looked = 0;
  TH_TENSOR_APPLY(
      real, t, if (*t_data == 0) {
        place = looked;
        TH_TENSOR_APPLY_hasFinished = 1;
        break;
      } looked++;)
  THLongTensor_resize2d(result, 1, 2);
  THLongTensor_set2d(result, 0, 0, place);
  THLongTensor_set2d(result, 0, 1, looked);
}

/* Leaves the macro's loops by return, and by an error. */
void apply_(leave)(THTensor *t, THTensor *unused, int fails) {
  (void)unused;
  TH_TENSOR_APPLY(
      real, t, if (*t_data != 0) {
        if (fails) THError("not zero: %d", (int)*t_data);
        return;
      })
  THError("all zeros");
}

/* The largest along a dimension; the results are looked at as if they were as long as t. */
void apply_(largest)(THTensor *values, THLongTensor *indices, THTensor *t, int dim) {
  THTensor *value = THTensor_(newNarrow)(t, dim, 0, 1);
  THLongTensor *index;
  int d;
  THTensor_(resizeAs)(values, value);
  THTensor_(copy)(values, value);
  THTensor_(free)(value);
  THLongTensor_resizeNd(indices, values->nDimension, values->size, NULL);
  THLongTensor_zero(indices);
  value = THTensor_(newWithTensor)(values);
  index = THLongTensor_newWithTensor(indices);
  for (d = 0; d < 2; d++) (d ? index->size : value->size)[dim] = t->size[dim];
  for (d = 0; d < 2; d++) (d ? index->stride : value->stride)[dim] = 0;
  TH_TENSOR_APPLY3_D(
      real, t, real, value, int64_t, index, dim, if (*t_data > *value_data) {
        *value_data = *t_data;
        *index_data = *t_dimOffset;
      })
  THTensor_(free)(value);
  THLongTensor_free(index);
}

void apply_(running_sum)(THTensor *result, THTensor *t, int dim) {
  THTensor_(resizeAs)(result, t);
  TH_TENSOR_DIM_APPLY2(real, t, real, result, dim, accreal sum = 0; int64_t i;
                       for (i = 0; i < t_size; i++) {
                         sum += t_data[i * t_stride];
                         result_data[i * result_stride] = (real)sum;
                       })
}

void apply_(scatter_add)(THTensor *result, THLongTensor *index, THTensor *t, int dim) {
  TH_TENSOR_DIM_APPLY3(real, result, int64_t, index, real, t, dim, TH_TENSOR_DIM_APPLY3_SIZE_EQ_EXCEPT_DIM, int64_t i;
                       for (i = 0; i < index_size; i++) {
                         int64_t place = index_data[i * index_stride];
                         if (place < 0 || place >= result_size) {
                           int first = (int)TH_TENSOR_DIM_APPLY_counter[0];
                           THFree(TH_TENSOR_DIM_APPLY_counter);
                           THError("index %d at row %d", (int)place, first);
                         }
                         result_data[place * result_stride] += t_data[i * t_stride];
                       })
}

/* Only rows up to the first that begins with zero. */
void apply_(until_zero)(THTensor *result, THTensor *t, int dim) {
  THTensor_(resizeAs)(result, t);
  THTensor_(zero)(result);
  TH_TENSOR_DIM_APPLY2(real, t, real, result, dim, int64_t i; if (*t_data == 0) TH_TENSOR_DIM_APPLY_hasFinished = 1;
                       else for (i = 0; i < t_size; i++) result_data[i * result_stride] = t_data[i * t_stride];)
}

#endif
