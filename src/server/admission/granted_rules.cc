#include "server/admission/granted_rules.h"

#include <algorithm>
#include <map>

#include "api/values/go_text.h"

namespace flyball::server {
namespace {

std::vector<std::string> TextList(const json::Value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const auto& item : list.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

bool HasOrAll(const std::vector<std::string>& list, const std::string& item) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& i) { return i == "*" || i == item; });
}

bool CoversResource(const std::vector<std::string>& held, const std::string& resource) {
  if (HasOrAll(held, resource)) return true;
  const auto slash = resource.find('/');
  if (slash == std::string::npos) return false;
  return std::find(held.begin(), held.end(), "*" + resource.substr(slash)) != held.end();
}

bool CoversUrl(const std::vector<std::string>& held, const std::string& url) {
  return std::any_of(held.begin(), held.end(), [&](const std::string& i) {
    return i == "*" || i == url || (i.ends_with('*') && url.starts_with(i.substr(0, i.size() - 1)));
  });
}

// Requires a wanted rule of one verb, and one resource or one URL.
bool Covers(const GrantedRule& held, const GrantedRule& wanted) {
  if (!HasOrAll(held.verbs, wanted.verbs[0])) return false;
  if (!wanted.urls.empty()) return CoversUrl(held.urls, wanted.urls[0]);
  if (!HasOrAll(held.groups, wanted.groups[0]) || !CoversResource(held.resources, wanted.resources[0]))
    return false;
  if (held.names.empty()) return true;
  return !wanted.names.empty() &&
         std::find(held.names.begin(), held.names.end(), wanted.names[0]) != held.names.end();
}

// How many parts a rule has: one verb and one thing each.
double PartCount(const GrantedRule& rule) {
  const auto size = [](const auto& list) { return static_cast<double>(list.size()); };
  return size(rule.verbs) *
         (size(rule.groups) * size(rule.resources) * std::max(1.0, size(rule.names)) + size(rule.urls));
}

// Calls visit(part) for each.
template <typename Visit>
void ForEachPart(const GrantedRule& rule, Visit visit) {
  for (const auto& group : rule.groups)
    for (const auto& resource : rule.resources)
      for (const auto& verb : rule.verbs) {
        if (rule.names.empty()) visit(GrantedRule{{verb}, {group}, {resource}, {}, {}});
        for (const auto& name : rule.names) visit(GrantedRule{{verb}, {group}, {resource}, {name}, {}});
      }
  for (const auto& url : rule.urls)
    for (const auto& verb : rule.verbs) visit(GrantedRule{{verb}, {}, {}, {}, {url}});
}

GrantedRule FirstPart(const GrantedRule& rule) {
  if (rule.groups.empty() || rule.resources.empty()) return {{rule.verbs[0]}, {}, {}, {}, {rule.urls[0]}};
  return {{rule.verbs[0]}, {rule.groups[0]}, {rule.resources[0]}, {}, {}};
}

// Rules, found by what they are about. Refers to them.
class HeldRights {
 public:
  explicit HeldRights(const std::vector<GrantedRule>& rules) {
    for (const auto& rule : rules) {
      if (IsWide(rule)) {
        wide_.push_back(&rule);
        continue;
      }
      for (const auto& group : rule.groups)
        for (const auto& resource : rule.resources) by_thing_[Thing(group, resource)].push_back(&rule);
      for (const auto& url : rule.urls) by_thing_[url].push_back(&rule);
    }
  }

  // Requires a part.
  bool Cover(const GrantedRule& part) const {
    const auto covers = [&](const GrantedRule* own) { return Covers(*own, part); };
    if (std::any_of(wide_.begin(), wide_.end(), covers)) return true;
    const auto found =
        by_thing_.find(part.urls.empty() ? Thing(part.groups[0], part.resources[0]) : part.urls[0]);
    return found != by_thing_.end() && std::any_of(found->second.begin(), found->second.end(), covers);
  }

 private:
  // About more than it names, or about so much that naming it all costs more than asking each time.
  static bool IsWide(const GrantedRule& rule) {
    constexpr std::size_t kFew = 1000;
    const auto wild = [](const std::string& text) { return text.find('*') != std::string::npos; };
    return std::any_of(rule.groups.begin(), rule.groups.end(), wild) ||
           std::any_of(rule.resources.begin(), rule.resources.end(), wild) ||
           std::any_of(rule.urls.begin(), rule.urls.end(), wild) ||
           rule.groups.size() * rule.resources.size() > kFew;
  }
  static std::string Thing(const std::string& group, const std::string& resource) {
    return group + '\0' + resource;
  }

  std::vector<const GrantedRule*> wide_;
  std::map<std::string, std::vector<const GrantedRule*>> by_thing_;
};

// Rules about the same thing become one with all their verbs.
std::vector<GrantedRule> Compact(const std::vector<GrantedRule>& rules) {
  std::vector<GrantedRule> compact;
  std::map<std::vector<std::string>, std::size_t> places;
  for (const auto& rule : rules) {
    if (!rule.urls.empty()) {
      compact.push_back(rule);
      continue;
    }
    std::vector<std::string> key = {rule.groups[0], rule.resources[0]};
    key.insert(key.end(), rule.names.begin(), rule.names.end());
    const auto [place, added] = places.emplace(std::move(key), compact.size());
    if (added) {
      compact.push_back(rule);
    } else {
      compact[place->second].verbs.push_back(rule.verbs[0]);
    }
  }
  return compact;
}

}  // namespace

std::string QuotedList(const std::vector<std::string>& list) {
  std::string text = "[";
  for (const auto& item : list) text += (text.size() == 1 ? "" : " ") + api::GoQuote(item);
  return text + "]";
}

std::string GrantedRule::ToString() const {
  std::string text = "{";
  const auto add = [&](std::string_view label, const std::vector<std::string>& list) {
    if (list.empty()) return;
    if (text.size() > 1) text += ", ";
    text += std::string(label) + ":" + QuotedList(list);
  };
  add("APIGroups", groups);
  add("Resources", resources);
  add("NonResourceURLs", urls);
  add("ResourceNames", names);
  add("Verbs", verbs);
  return text + "}";
}

std::vector<GrantedRule> GrantedRules(const json::Value& rules) {
  std::vector<GrantedRule> out;
  if (!rules.is_array()) return out;
  for (const auto& rule : rules.as_array())
    out.push_back({TextList(rule["verbs"]), TextList(rule["apiGroups"]), TextList(rule["resources"]),
                   TextList(rule["resourceNames"]), TextList(rule["nonResourceURLs"])});
  return out;
}

std::vector<GrantedRule> MissingRights(const std::vector<GrantedRule>& held,
                                       const std::vector<GrantedRule>& wanted) {
  // A rule of a few kilobytes can have billions of parts: beyond this nobody holds it. And nobody reads more
  // than this of what is missing.
  constexpr double kMaxParts = 200'000;
  constexpr std::size_t kMaxMissing = 1000;
  const HeldRights rights(held);
  std::vector<GrantedRule> missing;
  double parts = 0;
  for (const auto& rule : wanted) {
    if (missing.size() >= kMaxMissing) break;
    parts += PartCount(rule);
    if (parts > kMaxParts) {
      missing.push_back(FirstPart(rule));
      break;
    }
    ForEachPart(rule, [&](GrantedRule part) {
      if (missing.size() < kMaxMissing && !rights.Cover(part)) missing.push_back(std::move(part));
    });
  }
  return Compact(missing);
}

json::Value ToJson(const GrantedRule& rule) {
  json::Object object;
  const auto add = [&](std::string_view field, const std::vector<std::string>& list) {
    if (list.empty()) return;
    json::Array texts;
    for (const std::string& text : list) texts.emplace_back(text);
    object.Set(field, std::move(texts));
  };
  add("verbs", rule.verbs);
  add("apiGroups", rule.groups);
  add("resources", rule.resources);
  add("resourceNames", rule.names);
  add("nonResourceURLs", rule.urls);
  return object;
}

}  // namespace flyball::server
