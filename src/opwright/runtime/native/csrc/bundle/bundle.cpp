// Registers the operators of a bundle, in a process that may have no Python. Compiled for bundles only.
#ifdef OPW_BUNDLE
#include "bundle/bundle.h"

#include <c10/core/ScalarType.h>
#include <dlfcn.h>
#include <torch/library.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "errors.h"
#include "call/chooser.h"
#include "call/operator.h"
#include "call/variants.h"

// api.cpp
extern "C" void opw_initialize(opw::Callbacks, _object *, _object *, _object *, _object *);
extern "C" const char *opw_last_error();
extern "C" opw::Kernel *opw_kernel_new(int64_t id, const char *name);
extern "C" void opw_kernel_serve(opw::Kernel *, int32_t cpu, int32_t cuda);
extern "C" void opw_kernel_publish(opw::Kernel *, uint64_t types, const opw_kernel *);
extern "C" opw::Operator *opw_operator_new(opw::Kernel *, const char *qualified, const char *overload,
                                           const int64_t *plan, int64_t count, int32_t returns_residuals);
extern "C" int32_t opw_operator_register(opw::Operator *, const opw::Operator *forward, const opw::Operator *backward,
                                         const opw::Operator *jvp, const int64_t *words, int64_t count,
                                         const char *node_name, const char *missing);

namespace opw {
namespace {

const opw_bundle *loaded = nullptr;
std::vector<Kernel *> kernels;

const opw_kernel *row(const opw_bundle_instance &instance) {
  const opw_library *table = instance.table(host());
  const char *name = loaded->kernels[instance.kernel].name;
  for (int32_t i = 0; table && i < table->count; ++i)
    if (!std::strcmp(table->kernels[i].name, name) && !std::strcmp(table->kernels[i].instance, instance.name) &&
        !std::strcmp(table->kernels[i].device, instance.device))
      return &table->kernels[i];
  TORCH_CHECK(false, name, " for ", instance.name, " is missing");
}

bool on_cpu(const opw_bundle_instance &instance) { return !(instance.types & on_accelerator); }

// A file that has no name, or soon none; -1 where there can't be one.
int nameless(char *path) {
#ifdef SYS_memfd_create
  constexpr unsigned close_on_exec = 1, executable = 0x10;  // the latter since Linux 6.3
  for (unsigned flags : {close_on_exec | executable, close_on_exec}) {
    const int file = static_cast<int>(syscall(SYS_memfd_create, "opwright-bundle", flags));
    if (file >= 0) return file;
  }
#endif
  return mkstemp(path);
}

const opw_library *open_bytes(const opw_host *host, const unsigned char *bytes, size_t size) {
  const char *folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/opwright-bundle-XXXXXX";
  const std::string pattern = path;
  const int file = nameless(path.data());
  TORCH_CHECK(file >= 0, "its CUDA kernels can't be put into a file in ", pattern, ": ", std::strerror(errno));
  const bool named = path != pattern;
  if (!named) path = "/proc/self/fd/" + std::to_string(file);
  size_t done = 0;
  for (ssize_t wrote = 1; done < size && wrote > 0; done += wrote > 0 ? wrote : 0)
    wrote = write(file, bytes + done, size - done);
  const std::string why = std::strerror(errno);
  void *library = done == size ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;  // for ever
  const char *refused = done == size && !library ? dlerror() : nullptr;
  if (named) unlink(path.c_str());
  close(file);
  TORCH_CHECK(library, "its CUDA kernels can't be loaded: ", refused ? refused : why.c_str());
  const auto function = reinterpret_cast<opw_library_function>(dlsym(library, "opwright_library"));
  const opw_library *table = function ? function(host) : nullptr;
  TORCH_CHECK(table, "its CUDA kernels can't be loaded: there is no table of them");
  return table;
}

// The callbacks that Python gives elsewhere. They throw: their callers are C++.
// What is derived has, elsewhere, an instance for each choice of results; here it has one that computes all of them.
void find(int64_t kernel, uint64_t key, int32_t *done) {
  // Those for the CPU are there already. Those for GPUs are opened here, so that nothing is where there is no GPU.
  uint64_t types = loaded->kernels[kernel].derived ? key & 0xffffffff : key;
  const bool cpu = !(types & on_accelerator);
  std::string has;
  for (int32_t i = 0; i < loaded->instance_count; ++i) {
    const auto &instance = loaded->instances[i];
    if (instance.kernel != kernel || on_cpu(instance) != cpu) continue;
    has += (has.empty() ? "" : "; ") + std::string(instance.name);
    if (instance.types != types) continue;
    opw_kernel_publish(kernels[kernel], key, row(instance));
    *done = 1;
    return;
  }
  std::string met;
  types &= ~on_accelerator;
  for (; types; types >>= 8)
    met += (met.empty() ? "" : ", ") + std::string(c10::toString(static_cast<at::ScalarType>((types & 0xff) - 1)));
  raise(Class::Unsupported, std::string(loaded->kernels[kernel].shown) + "(): " + loaded->file + " has no kernel for " +
                                met + (cpu ? "" : " on CUDA") + "\n  it has:       " + has +
                                "\n  likely fix:   opwright.bundle(..., dtypes=[...]) with that one");
}

std::string real(const int64_t *bits) {
  double value = 0;
  std::memcpy(&value, bits, sizeof(value));
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string text(const int64_t *&words) {
  std::string bytes;
  for (int64_t length = *words++; length > 0; --length) bytes.push_back(static_cast<char>(*words++));
  return '"' + bytes + '"';
}

// Reads a scalar of that kind.
std::string scalar(char kind, const int64_t *&words) {
  if (kind < 'a') {
    const std::string value = scalar(static_cast<char>(kind - 'A' + 'a'), words);
    return *words++ ? value : "None";
  }
  if (kind == 's') return text(words);
  if (kind == 'd') return "a device";
  const int64_t *const word = words++;
  if (kind == 'f') return real(word);
  if (kind == 't') return *word < 0 ? "None" : c10::toString(static_cast<at::ScalarType>(*word));
  if (kind != 'c') return std::to_string(*word);
  return *word < 0 ? text(words) : "choice number " + std::to_string(*word);
}

std::string list(char kind, const int64_t *&words) {
  int64_t length = *words++;
  if (length < 0) return "a list of " + std::to_string(~length);
  std::string elements;
  for (; length > 0; --length) elements += (elements.empty() ? "" : ", ") + scalar(kind, words);
  return "[" + elements + "]";
}

void misfit(int64_t kernel, int64_t count, const int64_t *words) {
  const opw_bundle_kernel &k = loaded->kernels[kernel];
  const int64_t *const end = words + count;
  std::string got;
  std::vector<std::string> names;  // of each tensor: "x", "xs[0]"
  for (int32_t i = 0; i < k.inputs; ++i) {
    const std::string name = k.input_names[i];
    if (k.input_kinds[i] == 't') names.push_back(name);
    else
      for (int64_t length = *words++, e = 0; e < length; ++e) names.push_back(name + "[" + std::to_string(e) + "]");
  }
  std::vector<at::ScalarType> types(names.size(), at::ScalarType::Undefined);
  for (size_t i = 0; i < names.size() && words < end; ++i) {
    got += (i ? ", " : "") + names[i] + ": ";
    if (!*words++) {
      got += "None";
      continue;
    }
    types[i] = static_cast<at::ScalarType>(*words++);
    const int64_t rank = *words++;
    got += std::string(c10::toString(types[i])) + "[";
    for (int64_t d = 0; d < rank; ++d) got += (d ? ", " : "") + std::to_string(*words++);
    got += "]";
  }
  // As runtime/native/runtime.py reads them: scalars, what was given beforehand, then the element that is out of its domain.
  const char *kind = k.scalar_kinds;
  for (int32_t i = 0; i < k.scalars && words < end; ++i, ++kind)
    got += (!names.empty() || i ? ", " : "") + std::string(k.scalar_names[i]) + ": " +
           (*kind == '[' ? list(*++kind, words) : scalar(*kind, words));
  words += k.given;
  if (k.ellipsis && words < end) words += 1 + *words;
  words += k.dtype;
  std::string element;
  if (end - words == 3)
    element = std::string("\n  out of range: element ") + std::to_string(words[1]) + " of " + names[words[0]] + ", " +
              (c10::isFloatingType(types[words[0]]) ? real(words + 2) : std::to_string(words[2]));
  raise(Class::Argument, std::string(k.shown) +
                             "(): the arguments don't fit the operator's signature\n  got:          " + got + element +
                             "\n  signature:    " + k.signature);
}

template <class T>
T checked(T result) {
  TORCH_CHECK(result, opw_last_error());
  return result;
}

bool is_there(const opw_bundle_operator &op) {
  return c10::Dispatcher::singleton().findSchema({op.name, op.overload}).has_value();
}

void define(torch::Library &library, const opw_bundle_operator &op) {
  std::vector<at::Tag> numbered;
  for (int32_t i = 0; i < op.tag_count; ++i) numbered.push_back(static_cast<at::Tag>(op.tags[i]));
  const auto &tags = numbered;  // `def` takes what isn't const for a function
  library.def(op.schema, tags);
}

void make_kernels(const opw_bundle &bundle) {
  for (int32_t i = 0; i < bundle.kernel_count; ++i) kernels.push_back(opw_kernel_new(i, bundle.kernels[i].shown));
  std::vector<int32_t> cpu(kernels.size()), cuda(kernels.size());
  for (int32_t i = 0; i < bundle.instance_count; ++i) {
    const auto &instance = bundle.instances[i];
    (on_cpu(instance) ? cpu : cuda)[instance.kernel] = 1;
    if (on_cpu(instance)) opw_kernel_publish(kernels[instance.kernel], instance.types, row(instance));
  }
  for (size_t i = 0; i < kernels.size(); ++i) opw_kernel_serve(kernels[i], cpu[i], cuda[i]);
}

void add_chooser(const opw_bundle &bundle, const opw_bundle_operator &op) {
  const int64_t count = *op.wires, *const places = op.wires + 1;
  auto *chooser =
      new Chooser(Chooser::decode(op.node_name, op.missing, places + count, op.wires_size - 1 - count));  // for ever
  for (int64_t i = 0; i < count; ++i)
    chooser->add(nullptr, bundle.operators[places[i]].name, bundle.operators[places[i]].overload);
  register_chooser(*chooser, op.name, op.overload);
}

void register_all(const opw_bundle &bundle) {
  make_kernels(bundle);
  auto *library =
      new torch::Library(torch::Library::FRAGMENT, bundle.ns, std::nullopt, __FILE__, __LINE__);  // for ever
  std::vector<Operator *> made(bundle.operator_count);
  std::vector<const opw_bundle_operator *> choosers;
  for (int32_t i = 0; i < bundle.operator_count; ++i) {  // PyTorch tries what is defined first before the alternatives
    const auto &op = bundle.operators[i];
    if (op.variant != bundle_chooser || is_there(op)) continue;
    define(*library, op);
    choosers.push_back(&op);
  }
  for (int32_t i = 0; i < bundle.operator_count; ++i) {
    const auto &op = bundle.operators[i];
    if (op.variant == bundle_chooser) continue;
    if (is_there(op)) continue;  // the same signature, from another bundle or from opwright.load: the first one stays
    define(*library, op);
    if (op.variant) continue;
    made[i] = checked(
        opw_operator_new(kernels[op.kernel], op.name, op.overload, op.plan, op.plan_size, op.returns_residuals));
  }
  for (int32_t i = 0; i < bundle.operator_count; ++i) {
    const auto &op = bundle.operators[i];
    if (op.variant && op.variant != bundle_chooser && made[op.forward])
      register_variant(*made[op.forward], static_cast<VariantKind>(op.variant), op.name, op.overload, op.node_name);
    if (!made[i]) continue;
    checked(opw_operator_register(made[i], op.forward < 0 ? nullptr : made[op.forward],
                                  op.backward < 0 ? nullptr : made[op.backward], op.jvp < 0 ? nullptr : made[op.jvp],
                                  op.wires, op.wires_size, op.node_name, op.missing));
  }
  for (const auto *op : choosers) add_chooser(bundle, *op);
}

}  // namespace
}  // namespace opw

extern "C" const opw_library *opw_bundle_open(const opw_host *host, const unsigned char *bytes, size_t size) {
  static std::mutex mutex;
  static std::map<const void *, const opw_library *> opened;
  std::lock_guard<std::mutex> lock(mutex);
  const opw_library *&table = opened[bytes];
  if (!table) table = opw::open_bytes(host, bytes, size);
  return table;
}

extern "C" const char *opw_bundle_register(const opw_bundle *bundle) {
  static std::string failure;
  try {
    opw::loaded = bundle;
    opw::Callbacks callbacks{};
    callbacks.build = &opw::find;
    callbacks.explain = &opw::misfit;
    // There are no Python classes here, and errors are PyTorch's own; anything but null makes opw_last_error speak.
    auto *any = reinterpret_cast<_object *>(&opw::loaded);
    opw_initialize(callbacks, any, any, any, any);
    opw::register_all(*bundle);
    return nullptr;
  } catch (const c10::Error &error) {
    failure = error.what_without_backtrace();
  } catch (const std::exception &error) {
    failure = error.what();
  }
  return failure.c_str();
}
#endif
