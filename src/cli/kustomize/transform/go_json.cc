#include "cli/kustomize/transform/go_json.h"

#include "json/json.h"

namespace flyball::cli::kustomize {
namespace {

void SortKeys(json::Value& value) {
  if (value.is_array())
    for (json::Value& item : value.as_array()) SortKeys(item);
  if (!value.is_object()) return;
  value.as_object().SortKeys();
  for (auto& [key, member] : value.as_object()) SortKeys(member);
}

// These characters occur only within strings.
std::string Escaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<')
      out += "\\u003c";
    else if (text[i] == '>')
      out += "\\u003e";
    else if (text[i] == '&')
      out += "\\u0026";
    else if (text.compare(i, 3, "\u2028") == 0)
      out += "\\u2028", i += 2;
    else if (text.compare(i, 3, "\u2029") == 0)
      out += "\\u2029", i += 2;
    else
      out += text[i];
  }
  return out;
}

}  // namespace

std::string GoJson(json::Value value) {
  SortKeys(value);
  return Escaped(json::Write(value));
}

std::string GoJsonIndented(json::Value value) {
  SortKeys(value);
  return Escaped(json::WritePretty(value, 2));
}

}  // namespace flyball::cli::kustomize
