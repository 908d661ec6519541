// THC's device headers where they also work on the CPU: prints what each gives.
#include <THC/THCAsmUtils.cuh>
#include <THC/THCDeviceTensor.cuh>
#include <THC/THCDeviceUtils.cuh>
#include <THC/THCNumerics.cuh>
#include <THC/THCTensorInfo.cuh>
#include <stdio.h>

#define SHOW(text, value) printf("%s %.9g\n", text, static_cast<double>(value))
#define UNARY(name) printf(#name " %.9g\n", ScalarConvert<T, double>::to(THCNumerics<T>::name(x)))

template <typename T>
void numerics(double first, double second) {
  const T x = ScalarConvert<double, T>::to(first), y = ScalarConvert<double, T>::to(second);
  const T results[] = {THCNumerics<T>::add(x, y), THCNumerics<T>::sub(x, y), THCNumerics<T>::mul(x, y),
                       THCNumerics<T>::div(x, y), THCNumerics<T>::neg(x),    THCNumerics<T>::abs(x),
                       THCNumerics<T>::min(),     THCNumerics<T>::max(),     ScalarNegate<T>::to(x)};
  for (const T &result : results) printf("%.9g ", scalar_cast<double>(result));
  printf("%d%d%d%d%d%d\n", THCNumerics<T>::lt(x, y), THCNumerics<T>::le(x, y), THCNumerics<T>::gt(x, y),
         THCNumerics<T>::ge(x, y), THCNumerics<T>::eq(x, y), THCNumerics<T>::ne(x, y));
}

template <typename T>
void functions(double value) {
  const T x = ScalarConvert<double, T>::to(value);
  UNARY(exp), UNARY(expm1), UNARY(log), UNARY(log10), UNARY(log1p), UNARY(log2), UNARY(lgamma), UNARY(cos), UNARY(sin);
  UNARY(tan), UNARY(acos), UNARY(asin), UNARY(atan), UNARY(cosh), UNARY(sinh), UNARY(tanh), UNARY(erf), UNARY(erfc);
  UNARY(erfinv), UNARY(sqrt), UNARY(rsqrt), UNARY(ceil), UNARY(floor), UNARY(round), UNARY(trunc), UNARY(frac);
  UNARY(cinv), UNARY(sigmoid);
  printf("pow %.9g\n", scalar_cast<double>(THCNumerics<T>::pow(x, x)));
  printf("atan2 %.9g\n", scalar_cast<double>(THCNumerics<T>::atan2(x, ScalarConvert<int, T>::to(2))));
}

void device_tensor() {
  float data[24];
  for (int i = 0; i < 24; ++i) data[i] = i;
  const int sizes[] = {2, 3, 4};
  THCDeviceTensor<float, 3> t(data, sizes);
  t[1][2][3] = 100;
  float &element = t[1][0][1];
  element += 0.5f;
  const THCDeviceTensor<float, 3> constant = t;
  SHOW("element", t[1][2][3]);
  SHOW("reference", constant[1][0][1]);
  SHOW("row", t[1][2].view()[0]);
  SHOW("elements", t.numElements());
  SHOW("contiguous", t.isContiguous());
  THCDeviceTensor<float, 3> turned = t.transpose(0, 2);
  SHOW("transposed", turned[3][2][1]);
  SHOW("transposed contiguous", turned.isContiguous());
  SHOW("outer", t.upcastOuter<5>()[0][0][1][2][0]);
  SHOW("inner", t.upcastInner<4>()[1][1][1][0]);
  SHOW("down outer", t.downcastOuter<2>()[4][2]);
  SHOW("down inner", t.downcastInner<2>()[1][7]);
  SHOW("down to one", t.downcastInner<1>()[22]);
  SHOW("view", t.view<2>(data + 12)[0][2]);
  SHOW("cast", t.cast<int>()[0][0][0]);
  SHOW("same", t.isSameSizeAndStride(constant) && !t.isSameSizeAndStride(turned));
  SHOW("address", &t[1][1] - data);
  SHOW("as", t[0][1].as<int>() != 0);
}

void tensor_info() {
  float data[24];
  const int sizes[] = {2, 1, 3, 4}, strides[] = {12, 12, 4, 1}, gaps[] = {24, 12, 4, 1};
  TensorInfo<float, int> info(data, 4, sizes, strides);
  info.collapseDims();
  SHOW("collapsed", info.dims == 1 && info.sizes[0] == 24 && info.isContiguous());
  TensorInfo<float, int> wide(data, 4, sizes, gaps);
  SHOW("offset", (IndexToOffset<float, int, -1>::get(13, wide)));
  SHOW("offset of four", (IndexToOffset<float, int, 4>::get(13, wide)));
  SHOW("offset in rows", (IndexToOffset<float, int, -2>::get(13, wide)));
  wide.collapseDims();
  SHOW("two left", wide.dims == 2 && wide.sizes[0] == 2 && wide.sizes[1] == 12 && wide.strides[0] == 24);
  TensorInfo<float, int> kept(data, 4, sizes, strides);
  SHOW("kept", kept.collapseDims(2) == 1 && kept.dims == 3 && kept.sizes[1] == 3 && kept.strides[2] == 1);
}

int main() {
  numerics<uint8_t>(7, 3), numerics<int8_t>(-7, 3), numerics<int16_t>(-7, 3), numerics<int32_t>(-7, 3);
  numerics<int64_t>(-7, 3), numerics<float>(-7.5, 2.5), numerics<double>(-7.5, 2.5), numerics<half>(-7.5, 2.5);
  functions<float>(0.625), functions<double>(0.625), functions<half>(0.625);
  device_tensor();
  tensor_info();
  SHOW("ceil", THCCeilDiv(7, 3));
  SHOW("round up", THCRoundUp(7, 4));
  SHOW("field", Bitfield<unsigned int>::getBitfield(0xabcdu, 4, 8));
  SHOW("set field", Bitfield<unsigned int>::setBitfield(0xabcdu, 0x12u, 4, 8));
  return 0;
}
