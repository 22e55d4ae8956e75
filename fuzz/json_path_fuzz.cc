// JSONPath: any path is parsed or refused, and evaluates within its bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/select/json_path.h"
#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flyball;
  static const json::Value document = *json::Parse(
      R"({"a":[1,2,{"b":"c","d":[true,null,1.5]}],"status":{"conditions":[{"type":"Ready","status":"True"}]},"x.y":{}})");
  const auto path = api::JsonPath::Parse({reinterpret_cast<const char*>(data), size});
  if (path && path->Evaluate(document).size() > api::JsonPath::kMaxResults) std::abort();
  return 0;
}
