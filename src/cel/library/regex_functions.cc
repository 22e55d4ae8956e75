// find and findAll (upstream: apiserver cel/library/regex.go).
#include <string>

#include "cel/formats/regex.h"
#include "cel/library/library_builder.h"

namespace flyball::cel {
namespace {

Value FindIn(Arena& arena, const Value* v, std::size_t) {
  std::string problem;
  const auto regex = Regex::Compile(v[1].text(), &problem);
  if (!regex) return Value::Error(arena, "Illegal regex: " + problem);
  return Value::String(regex->Find(v[0].text()));
}

Value FindAllIn(Arena& arena, const Value* v, std::size_t count) {
  std::string problem;
  const auto regex = Regex::Compile(v[1].text(), &problem);
  if (!regex) return Value::Error(arena, "Illegal regex: " + problem);
  GrowingList list(arena);
  for (std::string_view match : regex->FindAll(v[0].text(), count == 3 ? v[2].as_int() : -1))
    list.Append(Value::String(match));
  return Value::List(list.elements, list.size);
}

}  // namespace

void DeclareRegex(LibraryBuilder& library) {
  const Type* text = &types::kString;
  library.Member("find", "string_find_string", {text, text}, text, FindIn, CostRule::kRegex);
  library.Member("findAll", "string_find_all_string", {text, text}, library.list(text), FindAllIn,
                 CostRule::kRegex);
  library.Member("findAll", "string_find_all_string_int", {text, text, &types::kInt}, library.list(text),
                 FindAllIn, CostRule::kRegex);
}

}  // namespace flyball::cel
