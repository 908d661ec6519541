/* What extensions do with TH, and what they shouldn't. */
#include <TH/TH.h>
#include <time.h>

#define PROBE_ANSWER 42

int add_forward(THFloatTensor *input1, THFloatTensor *input2, THFloatTensor *output) {
  if (!THFloatTensor_isSameSizeAs(input1, input2)) return 0;
  THFloatTensor_resizeAs(output, input1);
  input1 = THFloatTensor_newContiguous(input1);
  input2 = THFloatTensor_newContiguous(input2);
  const float *a = THFloatTensor_data(input1), *b = THFloatTensor_data(input2);
  float *c = THFloatTensor_data(output);
  for (ptrdiff_t i = 0; i < THFloatTensor_nElement(input1); ++i) c[i] = a[i] + b[i];
  THFloatTensor_free(input1);
  THFloatTensor_free(input2);
  return 1;
}

void nothing(void) {}

float mean(const THFloatTensor *t) {
  double sum = 0;
  for (int64_t i = 0; i < t->size[0]; ++i) sum += THTensor_fastGet1d(t, i);
  return (float)(sum / (double)t->size[0]);
}

THFloatTensor *made(int64_t n, float value) {
  THFloatTensor *t = THFloatTensor_newWithSize1d(n);
  for (int64_t i = 0; i < n; ++i) THFloatTensor_set1d(t, i, value);
  return t;
}

THFloatTensor *same(THFloatTensor *t) { return t; }

THFloatTensor *same_retained(THFloatTensor *t) {
  THFloatTensor_retain(t);
  return t;
}

THFloatTensor *row(THFloatTensor *t, int index) { return THFloatTensor_newSelect(t, 0, index); }

THFloatTensor *no_tensor(void) { return NULL; }

static THFloatTensor *kept;
static THFloatStorage *kept_storage;

THFloatTensor *made_and_kept(int64_t n) {
  kept = made(n, 1);
  THFloatTensor_retain(kept);
  return kept;
}

THFloatStorage *storage_of(THFloatTensor *t) { return t->storage; }

THFloatStorage *storage_of_retained(THFloatTensor *t) {
  THFloatStorage_retain(t->storage);
  return t->storage;
}

THFloatStorage *same_storage(THFloatStorage *s) { return s; }

THFloatStorage *made_storage(int64_t n) {
  THFloatStorage *s = THFloatStorage_newWithSize(n);
  THFloatStorage_fill(s, 3);
  return s;
}

void fill_storage(THFloatStorage *s, float value) { THFloatStorage_fill(s, value); }

void resize_storage(THFloatStorage *s, int64_t n) { THFloatStorage_resize(s, n); }

void keep(THFloatTensor *t) {
  THFloatTensor_retain(t);
  kept = t;
}

float kept_sum(void) {
  float sum = 0;
  for (int64_t i = 0; i < kept->size[0]; ++i) sum += THFloatTensor_get1d(kept, i);
  return sum;
}

void unkeep(void) {
  THFloatTensor_free(kept);
  kept = NULL;
}

void keep_storage(THFloatTensor *t) {
  THFloatStorage_retain(t->storage);
  kept_storage = t->storage;
}

void unkeep_storage(void) {
  THFloatStorage_free(kept_storage);
  kept_storage = NULL;
}

void free_too_often(THFloatTensor *t, int times) {
  while (times--) THFloatTensor_free(t);
}

void free_storage_too_often(THFloatTensor *t, int times) {
  while (times--) THFloatStorage_free(t->storage);
}

int identities(THFloatTensor *a, THFloatTensor *b, THFloatStorage *s) {
  return (a == b) + 2 * (a->storage == b->storage) + 4 * (a->storage == s) + 8 * (b->storage == s);
}

int64_t number_of_arguments_on_many(THFloatTensor *a, THFloatTensor *b, THFloatTensor *c, THFloatTensor *d, THFloatTensor *e,
                                    THFloatTensor *f, THFloatTensor *g, THFloatTensor *h, THFloatTensor *i, THFloatTensor *j,
                                    THFloatTensor *k, THFloatTensor *l, THFloatTensor *m, THFloatTensor *n) {
  THFloatTensor *all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n};
  int64_t sum = 0;
  for (int x = 0; x < 14; ++x) sum += THFloatTensor_nElement(all[x]) << x;
  return sum;
}

void swap_contents(THFloatTensor *a, THFloatTensor *b) {
  THFloatTensor *old = THFloatTensor_newWithTensor(a);
  THFloatTensor_set(a, b);
  THFloatTensor_set(b, old);
  THFloatTensor_free(old);
}

void lie(THFloatTensor *t, int64_t size) { t->size[0] = size; }

void lie_about_offset(THFloatTensor *t, int64_t offset) { t->storageOffset = offset; }

void error(const char *text) { THError("%s", text); }

void error_in_place(THFloatTensor *t) {
  THFloatTensor_resize1d(t, 3);
  THFloatStorage_fill(t->storage, 5);
  THError("after %d elements", 3);
}

void check_dimensions(THFloatTensor *t) { THArgCheck(THFloatTensor_nDimension(t) == 2, 1, "expected %dD tensor", 2); }

void assertion(int value) { THAssertMsg(value == 1, "value is %d", value); }

void error_in_aten(THFloatTensor *t) {
  THLongStorage *size = THLongStorage_newWithSize1(1000);
  THFloatTensor_newView(t, size);
}

int calls_back(int (*callback)(int), int value) { return callback(value); }

void error_after_callback(int (*callback)(int)) {
  callback(1);
  THError("after the callback");
}

int64_t bytes(THByteTensor *t) { return THByteTensor_nElement(t); }

void sleep_ms(int milliseconds) {
  struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  nanosleep(&time, NULL);
}

THDoubleTensor *doubled(THDoubleTensor *t) {
  THDoubleTensor *result = THDoubleTensor_newClone(t);
  double *data = THDoubleTensor_data(result);
  for (ptrdiff_t i = 0; i < THDoubleTensor_nElement(result); ++i) data[i] *= 2;
  return result;
}

int first_byte(const char *text) { return text[0]; }

void *pointer(void *p) { return p; }

int sum_of(int count, ...) {
  va_list values;
  va_start(values, count);
  int sum = 0;
  while (count--) sum += va_arg(values, int);
  va_end(values);
  return sum;
}

THFloatTensor *made_or_error(int error, ...) {
  if (error) THError("error %d", error);
  return made(2, 4);
}

int resize_and_read(THFloatTensor *a, THIntTensor *b, int64_t n, int value) {
  THFloatTensor_resize1d(a, n);
  memcpy(a->storage->data, &value, sizeof value);
  return THIntStorage_size(b->storage) == n ? b->storage->data[0] : -1;
}
