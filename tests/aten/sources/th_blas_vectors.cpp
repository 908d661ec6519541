#include <torch/extension.h>
#include <TH/TH.h>

at::Tensor th_blas_vectors(at::Tensor x) {
  auto y = torch::ones({3}, at::kDouble), z = torch::zeros({2}, at::kDouble), a = torch::zeros({2, 3}, at::kDouble);
  double *p = x.data_ptr<double>();
  THDoubleBlas_axpy(3, 2.0, p, 1, y.data_ptr<double>(), 1);
  THDoubleBlas_scal(3, 10.0, y.data_ptr<double>(), 1);
  THDoubleBlas_gemv('t', 3, 2, 1.0, p, 3, y.data_ptr<double>(), 1, 0.0, z.data_ptr<double>(), 1);
  THDoubleBlas_ger(3, 2, 1.0, y.data_ptr<double>(), 1, z.data_ptr<double>(), 1, a.data_ptr<double>(), 3);
  a += THDoubleBlas_dot(3, p, 1, p, 1);
  THDoubleBlas_copy(3, p, 1, a.data_ptr<double>(), 1);
  THDoubleBlas_swap(1, a.data_ptr<double>(), 1, a.data_ptr<double>() + 5, 1);
  return a;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &th_blas_vectors);
}
