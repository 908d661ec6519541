#error \
    "cublas.h, cuBLAS's interface of before 2010, can't be emulated; include <cublas_v2.h>, whose functions take a handle"
