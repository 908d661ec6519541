int pooling_forward(int height, int width, float scale, THCudaTensor *features, THCudaTensor *boxes, THCudaTensor *output,
                    THCudaIntTensor *places);
int scaled_add(THCudaTensor *a, THCudaTensor *b, float factor, THCudaTensor *output);
THCudaTensor *doubled(THCudaTensor *a);
double total(THCudaDoubleTensor *a);
void broken(int status);
void *stream(void);
int on_one_gpu(THCudaTensor *a, THCudaLongTensor *b);
int later_form(void);
