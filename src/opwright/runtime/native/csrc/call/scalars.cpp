// The scalars of a call: read from PyTorch's values, and told to Python where a call doesn't fit.
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <memory>

#include "call/operator.h"

namespace opw {
namespace {

void add_text(const char *text, size_t length, std::vector<int64_t> &words) {
  words.push_back(static_cast<int64_t>(length));
  for (size_t i = 0; i < length; ++i) words.push_back(static_cast<unsigned char>(text[i]));
}

}  // namespace

// Of a float its bits, of a string its length and bytes; of a choice its number, or -1 and what was given; of a list its
// length and elements, or the complement of a length that isn't the signature's; of an element type its number, or -1.
void add_scalars(const Plan &plan, const Call &call, std::vector<int64_t> &words) {
  size_t next = 0, unknown = 0, lists = 0, types = 0;
  for (const auto &argument : plan.arguments) {
    const auto kind = argument.kind;
    if (kind == Kind::List) {
      const auto count = static_cast<int64_t>(plan.lists[argument.index].size()), given = call.lengths[lists++];
      words.push_back(given == count ? count : ~given);
      for (int64_t i = 0; i < count && given == count; ++i) words.push_back(call.scalars[next + i].i);
      next += count;
    } else if (kind == Kind::IntList || kind == Kind::FloatList || kind == Kind::BoolList) {
      const opw_scalar list = call.scalars[next], length = call.scalars[next + 1];
      words.push_back(length.i);
      for (int64_t i = 0; i < length.i; ++i)
        words.push_back(kind == Kind::BoolList ? list.s[i] : reinterpret_cast<const opw_scalar *>(list.s)[i].i);
    } else if (kind == Kind::Dtype || kind == Kind::DtypeArgument) {
      const auto type = call.types[types++].second;
      words.push_back(type == at::ScalarType::Undefined ? -1 : static_cast<int64_t>(type));
    } else if (kind == Kind::String || kind == Kind::OptionalString) {
      const opw_scalar text = call.scalars[next], length = call.scalars[next + 1];
      add_text(text.s, static_cast<size_t>(length.i), words);
      if (kind == Kind::OptionalString) words.push_back(call.scalars[next + 2].i);
    } else {
      for (int64_t i = 0; i < entries(kind); ++i) words.push_back(call.scalars[next + i].i);
      if (kind == Kind::Choice && call.scalars[next].i < 0) {
        const std::string_view given = call.unknown[unknown++];
        add_text(given.data(), given.size(), words);
      }
    }
    next += entries(kind);
  }
}

namespace {

int64_t place_of(std::string_view choice, const std::vector<std::string> &choices) {
  const auto at = std::find(choices.begin(), choices.end(), choice);
  return at == choices.end() ? -1 : at - choices.begin();
}

}  // namespace

void Call::read_text(const Plan &plan, const Argument &argument, std::string_view text) {
  opw_scalar scalar{}, length{};
  if (argument.kind == Kind::Choice) {
    scalar.i = place_of(text, plan.choices[argument.index]);
    if (C10_UNLIKELY(scalar.i < 0)) unknown.push_back(text);
    return scalars.push_back(scalar);
  }
  scalar.s = text.data();
  length.i = static_cast<int64_t>(text.size());
  scalars.push_back(scalar), scalars.push_back(length);
  opw_scalar given{};
  given.i = 1;
  if (argument.kind == Kind::OptionalString) scalars.push_back(given);
}

void Call::read_list(const Plan &plan, const std::vector<Argument> &elements, c10::ArrayRef<c10::IValue> values) {
  lengths.push_back(static_cast<int64_t>(values.size()));
  if (C10_UNLIKELY(values.size() != elements.size())) {
    misfits = true;
    scalars.append(elements.size(), opw_scalar{});
    for (const auto &element : elements)
      if (element.kind == Kind::Size) axes.push_back(0);
    return;
  }
  for (size_t i = 0; i < elements.size(); ++i) read(plan, elements[i], values[i]);
}

void Call::read_open_list(Kind kind, c10::ArrayRef<c10::IValue> values) {
  auto list = std::make_unique<opw_scalar[]>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (kind == Kind::FloatList) list[i].f = values[i].toDouble();
    else if (kind == Kind::IntList) list[i].i = int_of(values[i]);
    else reinterpret_cast<char *>(list.get())[i] = values[i].toBool();
  }
  opw_scalar address{}, length{};
  address.s = reinterpret_cast<const char *>(list.get());
  length.i = static_cast<int64_t>(values.size());
  scalars.push_back(address), scalars.push_back(length);
  held.push_back(std::move(list));
}

// One that is optional has its value, zero if there is none, then whether there is one.
void Call::read_number(const Argument &argument, opw_scalar value, bool given) {
  scalars.push_back(value);
  if (argument.kind == Kind::Size) axes.push_back(value.i);
  if (entries(argument.kind) < 2) return;
  if (argument.kind == Kind::OptionalString) scalars.push_back(value);
  opw_scalar is_given{};
  is_given.i = given;
  scalars.push_back(is_given);
}

void Call::read(const Plan &plan, const Argument &argument, const c10::IValue &value) {
  opw_scalar scalar{};
  const bool given = !value.isNone();
  switch (argument.kind) {
    case Kind::Float:
    case Kind::OptionalFloat:
      if (given) scalar.f = value.toDouble();
      return read_number(argument, scalar, given);
    case Kind::Int:
    case Kind::Size:
    case Kind::OptionalInt:
      if (given) scalar.i = value.isBool() ? value.toBool() : int_of(value);
      return read_number(argument, scalar, given);
    case Kind::Bool:
    case Kind::OptionalBool:
      if (given) scalar.i = value.toBool();
      return read_number(argument, scalar, given);
    case Kind::String:
    case Kind::Choice:
    case Kind::OptionalString:
      return given ? read_text(plan, argument, value.toStringRef()) : read_number(argument, scalar, false);
    case Kind::List: read_list(plan, plan.lists[argument.index], value.toListRef()); break;
    case Kind::FloatList:
    case Kind::IntList:
    case Kind::BoolList: read_open_list(argument.kind, value.toListRef()); break;
    case Kind::Axis: axes.push_back(int_of(value)); break;
    case Kind::Ellipsis:
      for (const auto &size : value.toListRef()) ellipsis.push_back(int_of(size));
      has_ellipsis = true;
      break;
    case Kind::Generator:
      if (!value.isNone()) generator = value.toGenerator();
      break;
    case Kind::Dtype:
      types.emplace_back(argument.index,
                         value.isNone() ? c10::get_default_dtype_as_scalartype() : value.toScalarType());
      break;
    case Kind::DtypeArgument:
      types.emplace_back(argument.index, value.isNone() ? at::ScalarType::Undefined : value.toScalarType());
      break;
    case Kind::Device:
      asks_device = !value.isNone();
      if (asks_device) device = value.toDevice();
      break;
    case Kind::Chosen:  // it is numbered: Kind::Size
    case Kind::Tensor:
    case Kind::Mask: TORCH_INTERNAL_ASSERT(false);
  }
}

}  // namespace opw
