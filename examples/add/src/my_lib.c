#include <TH/TH.h>

/* output = input1 + input2; 0 where their sizes differ, else 1. output gets the size that it has to have. */
int my_lib_add_forward(THFloatTensor *input1, THFloatTensor *input2, THFloatTensor *output)
{
  THFloatTensor *left, *right;
  const float *a, *b;
  float *sum;
  ptrdiff_t i, count;

  if (!THFloatTensor_isSameSizeAs(input1, input2))
    return 0;
  THArgCheck(THFloatTensor_isContiguous(output), 3, "output must be contiguous");
  THFloatTensor_resizeAs(output, input1);

  left = THFloatTensor_newContiguous(input1); /* itself, if it is dense */
  right = THFloatTensor_newContiguous(input2);
  a = THFloatTensor_data(left);
  b = THFloatTensor_data(right);
  sum = THFloatTensor_data(output);
  count = THFloatTensor_nElement(output);
  for (i = 0; i < count; i++)
    sum[i] = a[i] + b[i];
  THFloatTensor_free(left);
  THFloatTensor_free(right);
  return 1;
}

/* What reaches the sum reaches each of its terms unchanged. */
int my_lib_add_backward(THFloatTensor *grad_output, THFloatTensor *grad_input)
{
  THFloatTensor_resizeAs(grad_input, grad_output);
  THFloatTensor_copy(grad_input, grad_output);
  return 1;
}

/* A tensor that is made in C and belongs to Python: the sum of each row. */
THFloatTensor *my_lib_sum_rows(THFloatTensor *matrix)
{
  THFloatTensor *sums;
  long row, column;

  if (matrix->nDimension != 2)
    THError("my_lib_sum_rows: expected a matrix, got %d dimension(s)", matrix->nDimension);
  sums = THFloatTensor_newWithSize1d(matrix->size[0]);
  for (row = 0; row < matrix->size[0]; row++) {
    double sum = 0;
    for (column = 0; column < matrix->size[1]; column++)
      sum += THFloatTensor_get2d(matrix, row, column);
    THFloatTensor_set1d(sums, row, (float)sum);
  }
  return sums;
}
