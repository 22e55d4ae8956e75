// Configuration files (audit policy, encryption, authentication, authorization): one YAML or JSON object with
// apiVersion and kind, read strictly, as kube-apiserver reads them: a field that is not known is an error,
// not ignored.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/rules/field_error.h"
#include "base/run/clock.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::server {

// The object in the text. BadRequest if it is empty, no YAML, has a key twice, or is of another kind.
Result<json::Value> ParseStrictObject(std::string_view text, const std::vector<std::string>& api_versions,
                                      std::string_view kind);

// Reads the fields of one object and remembers what was wrong. A field of the wrong type is noted and read as
// if it were absent. Thread-compatible.
class StrictObject {
 public:
  // `problems` collects what is wrong, in the words of upstream's strict decoding where it has them.
  StrictObject(const json::Value& value, std::string path, std::vector<std::string>& problems);
  // Notes every field that nobody has asked for.
  ~StrictObject();
  StrictObject(const StrictObject&) = delete;
  StrictObject& operator=(const StrictObject&) = delete;

  bool Has(std::string_view name);
  std::string String(std::string_view name);
  std::optional<std::string> OptionalString(std::string_view name);
  std::optional<Duration> Time(std::string_view name);  // "5m0s"
  std::optional<bool> Bool(std::string_view name);
  std::vector<std::string> Strings(std::string_view name);
  // Elements of a list of objects; empty if absent.
  const json::Array& List(std::string_view name);
  // A member that is an object, or null.
  const json::Value* Object(std::string_view name);
  // The same; one without members if it is absent.
  const json::Value& ObjectOrEmpty(std::string_view name);

  // "resources[0].providers", for an element "resources[0].providers[2]".
  std::string PathOf(std::string_view name) const;
  std::string PathOf(std::string_view name, std::size_t index) const;

 private:
  const json::Value* Find(std::string_view name);
  void WrongType(std::string_view name, std::string_view expected);

  const json::Value& value_;
  const std::string path_;
  std::vector<std::string>& problems_;
  std::set<std::string, std::less<>> asked_;
};

// "strict decoding error: a, b".
Error StrictDecodingError(const std::vector<std::string>& problems);
// The errors as upstream's ToAggregate prints them: one as it is, several in brackets.
std::string AggregateText(const std::vector<std::string>& texts);
std::string AggregateText(const api::FieldErrors& errors);

}  // namespace flyball::server
