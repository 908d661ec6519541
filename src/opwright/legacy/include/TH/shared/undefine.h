/* For th.h and thc.h, which define these anew. */
#undef THX_API
#undef THX_STATE
#undef THX_ONLY_STATE
#undef THX_GENERATOR
#undef THX_DEVICE
#undef THX_IS_FLOATING
#undef THX_IS_BYTE
#undef THXTensor
#undef THXTensor_
#undef THXStorage
#undef THXStorage_
#undef THXByteTensor
#undef THXLongTensor
#undef THXFloatTensor
#undef THXDoubleTensor
