#define PROBE_ANSWER 42
int add_forward(THFloatTensor *input1, THFloatTensor *input2, THFloatTensor *output);
void nothing(void);
float mean(const THFloatTensor *t);

THFloatTensor *made(int64_t n, float value);
THFloatTensor *same(THFloatTensor *t);
THFloatTensor *same_retained(THFloatTensor *t);
THFloatTensor *row(THFloatTensor *t, int index);
THFloatTensor *no_tensor(void);
THFloatTensor *made_and_kept(int64_t n);
THFloatStorage *storage_of(THFloatTensor *t);
THFloatStorage *storage_of_retained(THFloatTensor *t);
THFloatStorage *same_storage(THFloatStorage *s);
THFloatStorage *made_storage(int64_t n);
void fill_storage(THFloatStorage *s, float value);
void resize_storage(THFloatStorage *s, int64_t n);

void keep(THFloatTensor *t);
float kept_sum(void);
void unkeep(void);
void keep_storage(THFloatTensor *t);
void unkeep_storage(void);
void free_too_often(THFloatTensor *t, int times);
void free_storage_too_often(THFloatTensor *t, int times);

int identities(THFloatTensor *a, THFloatTensor *b, THFloatStorage *s);
int64_t number_of_arguments_on_many(THFloatTensor *a, THFloatTensor *b, THFloatTensor *c, THFloatTensor *d, THFloatTensor *e,
    THFloatTensor *f, THFloatTensor *g, THFloatTensor *h, THFloatTensor *i, THFloatTensor *j, THFloatTensor *k,
    THFloatTensor *l, THFloatTensor *m, THFloatTensor *n);
void swap_contents(THFloatTensor *a, THFloatTensor *b);
void lie(THFloatTensor *t, int64_t size);
void lie_about_offset(THFloatTensor *t, int64_t offset);

void error(const char *text);
void error_in_place(THFloatTensor *t);
void check_dimensions(THFloatTensor *t);
void assertion(int value);
void error_in_aten(THFloatTensor *t);
int calls_back(int (*callback)(int), int value);
void error_after_callback(int (*callback)(int));
int64_t bytes(THByteTensor *t);
void sleep_ms(int milliseconds);
THDoubleTensor *doubled(THDoubleTensor *t);
int first_byte(const char *text);
void *pointer(void *p);
int sum_of(int count, ...);
THFloatTensor *made_or_error(int error, ...);
int resize_and_read(THFloatTensor *a, THIntTensor *b, int64_t n, int value);
