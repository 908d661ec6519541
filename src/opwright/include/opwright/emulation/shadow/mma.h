#error "tensor core fragments (mma.h, nvcuda::wmma) can't be emulated; leave them out: #ifndef OPWRIGHT_EMULATION"
