// Whatever Parse accepts must be written and read back the same, and must be what the syntax check accepts.
#include <cstdlib>
#include <string>

#include "json/json.h"
#include "json/syntax.h"

using namespace flyball::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> duplicates;
  const auto value = Parse(text, {.max_depth = 100, .duplicates = &duplicates});
  if (value.has_value() != CheckSyntax(text, 100).has_value()) std::abort();
  if (!value) return 0;
  // Once to and fro makes minus zero an integer; from then on nothing may change.
  const auto first = Parse(Write(*value));
  if (!first) std::abort();
  const auto second = Parse(Write(*first));
  if (!second || !(*second == *first)) std::abort();
  if (!Parse(WritePretty(*value))) std::abort();
  const Value copy = *value;
  if (!(copy == *value)) std::abort();
  return 0;
}
