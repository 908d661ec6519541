// What c10 had before the standard library did.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace c10 {

using std::get;
using std::get_if;
using std::holds_alternative;
using std::in_place;
using std::in_place_t;
using std::monostate;
using std::variant;
using std::visit;

namespace guts {
using std::make_unique;
using std::to_string;
}  // namespace guts

}  // namespace c10
