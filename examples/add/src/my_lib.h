/* The functions that Python sees. cffi reads this file: prototypes, enums and numbers, no #include. */
#define MY_LIB_VERSION 2

int my_lib_add_forward(THFloatTensor *input1, THFloatTensor *input2, THFloatTensor *output);
int my_lib_add_backward(THFloatTensor *grad_output, THFloatTensor *grad_input);
THFloatTensor *my_lib_sum_rows(THFloatTensor *matrix);
