// What is alive, for those who count.
#include "tensor.h"

namespace opw::th {

OPW_EXPORT_C int64_t opw_th_tensors_alive() {
  return tensors_alive();
}

OPW_EXPORT_C int64_t opw_th_storages_alive() {
  return storages_alive();
}

}  // namespace opw::th
