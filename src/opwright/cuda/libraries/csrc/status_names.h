// The names and the texts of status codes.
#ifndef OPWRIGHT_EMULATION_LIBRARIES_STATUS_NAMES_H
#define OPWRIGHT_EMULATION_LIBRARIES_STATUS_NAMES_H

namespace opwright::emulation {

template <class Status> struct Named {
  Status status;
  const char *name, *text;
};
template <class Status, int N> const char *name_of(const Named<Status> (&names)[N], Status status) {
  for (const Named<Status> &each : names)
    if (each.status == status) return each.name;
  return "unknown status";
}
template <class Status, int N> const char *text_of(const Named<Status> (&names)[N], Status status) {
  for (const Named<Status> &each : names)
    if (each.status == status) return each.text;
  return "unknown status";
}

}  // namespace opwright::emulation

#endif
