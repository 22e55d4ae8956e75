#include <algorithm>
#include <set>

#include "api/values/quantity.h"
#include "cli/kubectl/describe/describe_kinds.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

std::string ScopeHelp(std::string_view scope) {
  if (scope == "Terminating")
    return "Matches all pods that have an active deadline. These pods have a limited lifespan on a node "
           "before being "
           "actively terminated by the system.";
  if (scope == "NotTerminating")
    return "Matches all pods that do not have an active deadline. These pods usually include long running "
           "pods whose "
           "container command is not expected to terminate.";
  if (scope == "BestEffort")
    return "Matches all pods that do not have resource requirements set. These pods have a best effort "
           "quality of "
           "service.";
  if (scope == "NotBestEffort")
    return "Matches all pods that have at least one resource requirement set. These pods have a burstable or "
           "guaranteed quality of service.";
  return {};
}

std::string ScopeLines(const json::Value& scopes) {
  std::vector<std::string> names;
  for (const json::Value& scope : Elements(scopes)) names.push_back(TextOr(scope, ""));
  if (names.empty()) return {};
  std::sort(names.begin(), names.end());
  std::string out = "Scopes:\t", help;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i ? ", " : "") + names[i];
    if (const std::string text = ScopeHelp(names[i]); !text.empty()) help += " * " + text + "\n";
  }
  return out + "\n" + help;
}

// Both in the same notation, as kubectl shows them: the used amount takes the limit's.
std::string UsedText(const json::Value& used, const json::Value& hard) {
  const auto u = api::Quantity::Parse(used.string_or("0")), h = api::Quantity::Parse(hard.string_or("0"));
  if (!u || !h || u->format() == h->format()) return TextOr(used, "0");
  return api::Quantity(u->Value(), 0, h->format()).ToString();
}

const KindRef kQuotas{"", "v1", "ResourceQuota", "resourcequotas", true};
const KindRef kLimitRanges{"", "v1", "LimitRange", "limitranges", true};

// A line per type and resource, each after `indent`.
std::string LimitLines(const json::Value& limits, const std::string& indent, bool heading) {
  std::string out;
  if (heading)
    out = indent + "Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n" +
          indent + "----\t--------\t---\t---\t---------------\t-------------\t-----------------------\n";
  constexpr const char* kColumns[] = {"min", "max", "defaultRequest", "default", "maxLimitRequestRatio"};
  for (const json::Value& item : Elements(limits)) {
    std::set<std::string> resources;
    for (const char* column : kColumns)
      if (item[column].is_object())
        for (const auto& [name, amount] : item[column].as_object()) resources.insert(name);
    for (const std::string& resource : resources) {
      out += indent + TextOr(item["type"], "") + "\t" + resource;
      for (const char* column : kColumns) out += "\t" + TextOr(item[column][resource], "-");
      out += "\n";
    }
  }
  return out;
}

}  // namespace

std::string QuotaText(const json::Value& object) {
  std::string out = "Name:\t" + TextOr(object["metadata"]["name"], "") + "\nNamespace:\t" +
                    TextOr(object["metadata"]["namespace"], "") + "\n" +
                    ScopeLines(object["spec"]["scopes"]) + "Resource\tUsed\tHard\n--------\t----\t----\n";
  const json::Value &hard = object["status"]["hard"], &used = object["status"]["used"];
  if (!hard.is_object()) return out;
  json::Object sorted = hard.as_object();
  sorted.SortKeys();
  for (const auto& [name, limit] : sorted)
    out += name + "\t" + UsedText(used[name], limit) + "\t" + TextOr(limit, "") + "\n";
  return out;
}

std::string LimitRangeText(const json::Value& object) {
  return "Name:\t" + TextOr(object["metadata"]["name"], "") + "\nNamespace:\t" +
         TextOr(object["metadata"]["namespace"], "") + "\n" + LimitLines(object["spec"]["limits"], "", true);
}

std::string NamespaceText(Session& session, const json::Value& object) {
  const std::string name = TextOr(object["metadata"]["name"], "");
  std::string out = MetadataLines(object) + "Status:\t" + TextOr(object["status"]["phase"], "") + "\n\n";
  const auto quotas = ListObjects(session, kQuotas, name);
  if (quotas && quotas->empty()) out += "No resource quota.\n";
  if (quotas && !quotas->empty()) out += "Resource Quotas\n";
  for (const json::Value& quota : quotas ? *quotas : std::vector<json::Value>()) {
    out += "  Name:\t" + TextOr(quota["metadata"]["name"], "") +
           "\n  Resource\tUsed\tHard\n  --------\t---\t---\n";
    const json::Value &hard = quota["status"]["hard"], &used = quota["status"]["used"];
    json::Object sorted = hard.is_object() ? hard.as_object() : json::Object();
    sorted.SortKeys();
    for (const auto& [resource, limit] : sorted)
      out += "  " + resource + "\t" + UsedText(used[resource], limit) + "\t" + TextOr(limit, "") + "\n";
  }
  const auto ranges = ListObjects(session, kLimitRanges, name);
  if (!ranges || ranges->empty()) return out + "\nNo LimitRange resource.\n";
  out += "\nResource Limits\n";
  bool first = true;
  for (const json::Value& range : *ranges)
    out += LimitLines(range["spec"]["limits"], " ", std::exchange(first, false));
  return out;
}

std::string DisruptionBudgetText(const json::Value& object) {
  const json::Value &spec = object["spec"], &status = object["status"];
  std::string out = NameLines(object);
  if (!spec["minAvailable"].is_null())
    out += "Min available:\t" + TextOr(spec["minAvailable"], "") + "\n";
  else if (!spec["maxUnavailable"].is_null())
    out += "Max unavailable:\t" + TextOr(spec["maxUnavailable"], "") + "\n";
  out += "Selector:\t" + (spec["selector"].is_null() ? "<unset>" : SelectorText(spec["selector"])) +
         "\nStatus:\n";
  out += "    Allowed disruptions:\t" + TextOr(status["disruptionsAllowed"], "0") + "\n    Current:\t" +
         TextOr(status["currentHealthy"], "0") + "\n    Desired:\t" + TextOr(status["desiredHealthy"], "0") +
         "\n    Total:\t" + TextOr(status["expectedPods"], "0") + "\n";
  return out;
}

}  // namespace flyball::cli
