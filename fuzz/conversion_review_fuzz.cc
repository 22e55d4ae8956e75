// The input is what a conversion webhook answers to a review of two objects. What is accepted is as many
// objects, of the wanted version, and otherwise the same ones.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "server/custom/conversion_review.h"

using namespace flyball;

namespace {

json::Value Original(std::string_view name) {
  return *json::Parse(R"({"apiVersion":"g.io/v1","kind":"K","metadata":{"name":")" + std::string(name) +
                      R"(","namespace":"n","uid":"u","labels":{"a":"b"}},"spec":{}})");
}

void Check(const json::Value& original, const json::Value& converted) {
  if (converted["apiVersion"].string_or("") != "g.io/v2" || converted["kind"].string_or("") != "K")
    std::abort();
  for (const char* key : {"name", "namespace", "uid"})
    if (!(converted["metadata"][key] == original["metadata"][key])) std::abort();
}

void Try(std::string_view answer, std::string_view version, const std::vector<json::Value>& objects) {
  std::string failure;
  const auto read = server::ReadConversionAnswer(answer, version, "id", "g.io/v2", objects, failure);
  if (!read && (failure.empty() || read.error().message().empty())) std::abort();
  if (!read) return;
  if (read->size() != objects.size()) std::abort();
  for (std::size_t i = 0; i < objects.size(); ++i) Check(objects[i], (*read)[i]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<json::Value> one{Original("a")}, two{Original("a"), Original("b")};
  const std::string_view answer(reinterpret_cast<const char*>(data), size);
  for (const std::string_view version : {"v1", "v1beta1"}) {
    Try(answer, version, one);
    Try(answer, version, two);
  }
  return 0;
}
