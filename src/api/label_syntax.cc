#include "api/label_syntax.h"

#include "api/format.h"
#include "json/json.h"

namespace flyball::api {

std::vector<std::string> LabelKeyProblems(std::string_view key) {
  return QualifiedNameProblems(key);
}

std::vector<std::string> LabelValueProblems(std::string_view value) {
  return LabelValueFormatProblems(value);
}

std::string InvalidValueText(std::string_view path, std::string_view value,
                             const std::vector<std::string>& problems) {
  std::string out(path);
  out += ": Invalid value: ";
  json::AppendQuoted(value, out);
  out += ": ";
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i > 0) out += "; ";
    out += problems[i];
  }
  return out;
}

}  // namespace flyball::api
