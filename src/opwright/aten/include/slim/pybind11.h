/* The part of pybind11's interface with which most extensions bind their functions, handed on to binding.cpp.
 *
 * Only a source that names nothing else of pybind11 is compiled with this (opwright/aten/headers.py).
 */
#pragma once
#include "../binding.h"

#include <array>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace opwright_binding {

template <class T>
using Plain = std::remove_cv_t<std::remove_reference_t<T>>;

template <class T>
struct Result { /* how a value that a function returns becomes Python's */
  static PyObject *cast(T &&value) { return Value<T>::cast(std::move(value)); }
  static std::string name() { return Value<T>::name(); }
};

template <class... T>
struct Result<std::tuple<T...>> {
  static PyObject *cast(std::tuple<T...> &&value) { return cast(std::move(value), std::index_sequence_for<T...>{}); }
  static std::string name() {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + Result<T>::name()), ...);
    return "tuple[" + (text.empty() ? std::string("()") : text) + "]";
  }

 private:
  template <size_t... I>
  static PyObject *cast(std::tuple<T...> &&value, std::index_sequence<I...>) {
    const std::array<PyObject *, sizeof...(T)> items{Result<T>::cast(std::move(std::get<I>(value)))...};
    PyObject *made = PyTuple_New(sizeof...(T));
    bool whole = made;
    for (auto *item : items) whole = whole && item;
    for (size_t i = 0; i < sizeof...(T); ++i)
      if (whole) PyTuple_SET_ITEM(made, Py_ssize_t(i), items[i]);
      else Py_XDECREF(items[i]);
    if (whole) return made;
    Py_XDECREF(made);
    return nullptr;
  }
};

template <class A, class B>
struct Result<std::pair<A, B>> {
  static PyObject *cast(std::pair<A, B> &&value) {
    return Result<std::tuple<A, B>>::cast({std::move(value.first), std::move(value.second)});
  }
  static std::string name() { return Result<std::tuple<A, B>>::name(); }
};

struct Gil { /* released while this lives, if it is asked for */
  explicit Gil(bool release) : released(release ? release_gil() : nullptr) {}
  ~Gil() {
    if (released) acquire_gil(released);
  }
  Gil(const Gil &) = delete;
  Gil &operator=(const Gil &) = delete;
  void *released;
};

template <bool release, class R, class... A>
struct Thunk {
  static_assert(sizeof...(A) <= 64);
  template <class T>
  using Held = std::optional<typename Value<Plain<T>>::Held>;

  static PyObject *call(Function function, PyObject *const *arguments, uint64_t convert) {
    return call(function, arguments, convert, std::index_sequence_for<A...>{});
  }

  static std::string text() {
    std::string text;
    ((text += std::string(text.empty() ? "{" : ", {") + Value<Plain<A>>::name() + "}"), ...);
    text = "(" + text + ") -> ";
    if constexpr (std::is_void_v<R>) return text + "None";
    else return text + Result<Plain<R>>::name();
  }

 private:
  template <class T, class H>
  static T passed(H &held) {
    if constexpr (std::is_lvalue_reference_v<T>) return *held;
    else return static_cast<T>(std::move(*held));
  }

  template <size_t... I>
  static PyObject *call(Function function, PyObject *const *arguments, uint64_t convert, std::index_sequence<I...>) {
    std::tuple<Held<A>...> held;
    if (!(Value<Plain<A>>::load(arguments[I], convert >> I & 1, std::get<I>(held)) && ...)) return next_overload();
    const auto invoke = [&]() -> R {
      Gil gil(release);
      return reinterpret_cast<R (*)(A...)>(function)(passed<A>(std::get<I>(held))...);
    };
    if constexpr (std::is_void_v<R>) {
      invoke();
      Py_RETURN_NONE;
    } else {
      Plain<R> value = invoke();
      return Result<Plain<R>>::cast(std::move(value));
    }
  }
};

template <class F, bool release>
struct Wrapped { /* what torch::wrap_pybind_function returns */
  F function;
};

}  // namespace opwright_binding

namespace pybind11 {

struct gil_scoped_release : opwright_binding::Gil {
  gil_scoped_release() : Gil(true) {}
};

template <class... Guards>
struct call_guard {};

struct arg_v;

struct arg {
  explicit arg(const char *name) : name(name) {}
  arg &noconvert(bool flag = true) { return flag_noconvert = flag, *this; }
  arg &none(bool flag = true) { return flag_none = flag, *this; }
  template <class T>
  arg_v operator=(T &&value) const;

  const char *name;
  bool flag_noconvert = false, flag_none = true;
};

struct arg_v : arg {
  arg_v(const arg &base, PyObject *value) : arg(base), value(value) {}
  arg_v(const arg_v &other) : arg(other), value(other.value) { Py_XINCREF(value); }
  arg_v &operator=(const arg_v &) = delete;
  ~arg_v() { Py_XDECREF(value); }
  PyObject *value;
};

template <class T>
arg_v arg::operator=(T &&value) const {
  using Type = std::decay_t<T>;
  if constexpr (std::is_same_v<Type, std::nullopt_t>) return arg_v(*this, (Py_INCREF(Py_None), Py_None));
  else if constexpr (std::is_same_v<Type, const char *> || std::is_same_v<Type, char *>)
    return arg_v(*this, PyUnicode_FromString(value));
  else return arg_v(*this, opwright_binding::Value<Type>::cast(Type(std::forward<T>(value))));
}

class module_ {
 public:
  explicit module_(PyObject *module) : module(module) {}

  template <class R, class... A, class... Extra>
  module_ &def(const char *name, R (*function)(A...), const Extra &...extra) {
    return add<false>(name, function, false, extra...);
  }
  template <class F, bool release, class... Extra>
  module_ &def(const char *name, opwright_binding::Wrapped<F, release> wrapped, const Extra &...extra) {
    return add<release>(name, wrapped.function, true, extra...);
  }
  template <class F, class... Extra>
    requires(!std::is_pointer_v<std::decay_t<F>> && requires(const F &f) { +f; })
  module_ &def(const char *name, const F &function, const Extra &...extra) {
    return add<false>(name, +function, false, extra...);
  }

 private:
  template <bool release, class R, class... A, class... Extra>
  module_ &add(const char *name, R (*function)(A...), bool translate, const Extra &...extra) {
    constexpr bool guarded = (std::is_same_v<Extra, call_guard<gil_scoped_release>> || ...);
    using Thunk = opwright_binding::Thunk<release || guarded, R, A...>;
    const std::string text = Thunk::text();
    const char *doc = nullptr;
    std::vector<opwright_binding::Argument> arguments;
    (take(extra, doc, arguments), ...);
    opwright_binding::define(
        module, {name, text.c_str(), &Thunk::call, reinterpret_cast<opwright_binding::Function>(function), sizeof...(A),
                 doc, arguments.data(), arguments.size(), translate});
    return *this;
  }

  using Arguments = std::vector<opwright_binding::Argument>;
  static void take(const char *text, const char *&doc, Arguments &) { doc = text; }
  static void take(const arg &a, const char *&, Arguments &to) {
    to.push_back({a.name, nullptr, a.flag_noconvert, a.flag_none});
  }
  static void take(const arg_v &a, const char *&, Arguments &to) {
    to.push_back({a.name, a.value, a.flag_noconvert, a.flag_none});
  }
  static void take(const call_guard<gil_scoped_release> &, const char *&, Arguments &) {}
  static void take(const call_guard<> &, const char *&, Arguments &) {}

  PyObject *module;
};

using module = module_;

}  // namespace pybind11

namespace py = pybind11;

namespace torch {

template <class F>
auto wrap_pybind_function(F &&f) {
  return opwright_binding::Wrapped<decltype(+f), false>{+f};
}

template <class F>
auto wrap_pybind_function_no_gil(F &&f) {
  return opwright_binding::Wrapped<decltype(+f), true>{+f};
}

}  // namespace torch

#define OPWRIGHT_MODULE(name, variable)                                         \
  static void opwright_fill_##name(::pybind11::module_ &);                      \
  extern "C" __attribute__((visibility("default"))) PyObject *PyInit_##name() { \
    return ::opwright_binding::create(#name, [](PyObject *object) {             \
      ::pybind11::module_ module(object);                                       \
      opwright_fill_##name(module);                                             \
    });                                                                         \
  }                                                                             \
  static void opwright_fill_##name(::pybind11::module_ &variable)
#define PYBIND11_MODULE(name, variable) OPWRIGHT_MODULE(name, variable)
