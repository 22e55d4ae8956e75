// Selectors: any text is parsed or refused, and what parses says the same after being written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/select/selector.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flyball::api;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const KindInfo& pod = *FindBuiltinKind("", "v1", "Pod");
  if (const auto labels = LabelSelector::Parse(text)) {
    const auto again = LabelSelector::Parse(labels->ToString());
    if (!again || again->ToString() != labels->ToString()) std::abort();
    const std::pair<std::string, std::string> pairs[] = {{"a", "b"}, {"n", "7"}};
    flyball::json::Value object;
    for (const auto& [key, value] : pairs) object[key] = value;
    if (labels->Matches(LabelPairs(pairs)) != labels->Matches(object)) std::abort();
  }
  if (const auto fields = FieldSelector::Parse(text, pod)) {
    const auto again = FieldSelector::Parse(fields->ToString(), pod);
    if (!again || again->ToString() != fields->ToString()) std::abort();
  }
  return 0;
}
