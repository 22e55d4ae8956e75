#include "cli/kubectl/describe/rule_table.h"

#include <algorithm>
#include <tuple>

#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/session/elements.h"

namespace flyball::cli {
namespace {

// One resource of one group, or the paths of a rule.
struct Part {
  std::vector<std::string> verbs;
  std::string group, resource, urls, names;
};

std::string Bracketed(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? " " : "") + text;
  return out + "]";
}

std::vector<Part> PartsOf(const json::Value& rule) {
  std::vector<std::string> verbs;
  for (const json::Value& verb : Elements(rule["verbs"])) verbs.emplace_back(verb.string_or(""));
  const std::string names = "[" + Joined(rule["resourceNames"], " ") + "]";
  std::vector<Part> parts;
  for (const json::Value& group : Elements(rule["apiGroups"]))
    for (const json::Value& resource : Elements(rule["resources"]))
      parts.push_back(
          {verbs, std::string(group.string_or("")), std::string(resource.string_or("")), "[]", names});
  for (const json::Value& url : Elements(rule["nonResourceURLs"]))
    parts.push_back({verbs, "", "", "[" + std::string(url.string_or("")) + "]", names});
  return parts;
}

void Merge(std::vector<Part>& parts, Part part) {
  const auto same = std::find_if(parts.begin(), parts.end(), [&](const Part& other) {
    return !part.resource.empty() && other.group == part.group && other.resource == part.resource &&
           other.names == part.names;
  });
  if (same == parts.end()) {
    parts.push_back(std::move(part));
    return;
  }
  for (std::string& verb : part.verbs)
    if (std::find(same->verbs.begin(), same->verbs.end(), verb) == same->verbs.end())
      same->verbs.push_back(std::move(verb));
}

}  // namespace

std::vector<RuleRow> RuleRows(const json::Array& rules) {
  std::vector<Part> parts;
  for (const json::Value& rule : rules)
    for (Part& part : PartsOf(rule)) Merge(parts, std::move(part));
  // As Go prints the rules: lists in brackets, so that the end of a text sorts after a space.
  const auto key = [](const Part& part) {
    return std::tuple(part.resource.empty(), Bracketed(part.verbs), part.group + "]", part.resource + "]",
                      part.names, part.urls);
  };
  std::stable_sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) { return key(a) < key(b); });
  std::vector<RuleRow> rows;
  for (const Part& part : parts)
    rows.push_back({part.resource + (part.group.empty() ? "" : "." + part.group), part.urls, part.names,
                    Bracketed(part.verbs)});
  return rows;
}

}  // namespace flyball::cli
