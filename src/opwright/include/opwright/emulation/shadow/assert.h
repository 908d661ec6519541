/* The system's, but an assertion that fails in a kernel ends the launch and not the process. Read again at each #include. */
#include_next <assert.h>

#include "../memory_hints.h"

#undef assert
#ifdef NDEBUG
#define assert(condition) (static_cast<void>(0))
#else
#define assert(...)               \
  (static_cast<bool>(__VA_ARGS__) \
       ? static_cast<void>(0)     \
       : ::opwright::emulation::failed_assertion(#__VA_ARGS__, __FILE__, __LINE__, __extension__ __PRETTY_FUNCTION__))
#endif
