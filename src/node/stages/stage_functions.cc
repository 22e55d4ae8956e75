#include "node/stages/stage_functions.h"

#include <algorithm>
#include <array>

#include "api/values/base64.h"
#include "api/values/go_text.h"
#include "api/values/time.h"
#include "base/values/ascii.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::node {
namespace {

using api::TemplateValue;
using StageArgs = std::vector<TemplateValue>;
using StageResult = Result<TemplateValue>;

constexpr char kStageVersion[] = "v0.7.0";  // of KWOK, whose Stages these are

std::string StageText(const TemplateValue& value) {
  return value && !value->is_null() ? api::TemplateText(value) : std::string();
}
json::Value StageJson(const TemplateValue& value) {
  return value.value_or(json::Value());
}
std::int64_t StageInt(const TemplateValue& value) {
  if (value && value->is_number()) return static_cast<std::int64_t>(value->as_double());
  return std::atoll(StageText(value).c_str());
}

// As JSON in quotes: a text as it is, everything else as the text of its JSON.
StageResult QuoteJson(const StageFunctions&, const StageArgs& a) {
  if (a[0] && a[0]->is_string()) return TemplateValue(json::Write(*a[0]));
  return TemplateValue(api::GoQuote(json::Write(StageJson(a[0]))));
}

// YAML; indented by so many steps it begins on a line of its own.
StageResult IndentedYaml(const StageFunctions&, const StageArgs& a) {
  const std::string text = json::WriteYaml(StageJson(a[0]));
  const std::int64_t steps = a.size() > 1 ? StageInt(a[1]) : 0;
  if (steps <= 0) return TemplateValue(text);
  const std::string pad(static_cast<std::size_t>(std::min<std::int64_t>(steps, 100)) * 2, ' ');
  std::string out;
  for (const std::string& line : SplitText(text, '\n')) out += "\n" + pad + line;
  return TemplateValue(out);
}

json::Value NodeCondition(const char* type, const char* status, const char* reason, const char* message) {
  return json::Object{{"type", type},
                      {"status", status},
                      {"lastHeartbeatTime", nullptr},
                      {"lastTransitionTime", nullptr},
                      {"reason", reason},
                      {"message", message}};
}

// Those of a node that is well.
StageResult GoodConditions(const StageFunctions&, const StageArgs&) {
  return TemplateValue(json::Array{
      NodeCondition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
      NodeCondition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                    "kubelet has sufficient memory available"),
      NodeCondition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      NodeCondition("PIDPressure", "False", "KubeletHasSufficientPID",
                    "kubelet has sufficient PID available"),
      NodeCondition("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route")});
}

// node name, whether the pod has the node's network, uid, name, namespace.
StageResult PodAddress(const StageFunctions& self, const StageArgs& a) {
  if (a.size() > 1 && api::IsTrue(a[1])) return TemplateValue(self.node().address);
  return TemplateValue(self.node().pod_ip(a.size() > 2 ? StageText(a[2]) : ""));
}

StageResult Dict(const StageFunctions&, const StageArgs& a) {
  json::Object dict;
  for (std::size_t i = 0; i < a.size(); i += 2)
    dict.Set(StageText(a[i]), i + 1 < a.size() ? StageJson(a[i + 1]) : json::Value(""));
  return TemplateValue(std::move(dict));
}

StageResult List(const StageFunctions&, const StageArgs& a) {
  json::Array list;
  for (const TemplateValue& item : a) list.push_back(StageJson(item));
  return TemplateValue(std::move(list));
}

StageResult Coalesce(const StageFunctions&, const StageArgs& a) {
  for (const TemplateValue& value : a)
    if (api::IsTrue(value)) return value;
  return TemplateValue();
}

StageResult JoinTexts(const StageFunctions&, const StageArgs& a) {
  std::string out;
  const json::Value list = StageJson(a[1]);
  if (!list.is_array()) return TemplateValue(StageText(a[1]));
  for (std::size_t i = 0; i < list.size(); ++i)
    out += (i > 0 ? StageText(a[0]) : "") + StageText(list.as_array()[i]);
  return TemplateValue(out);
}

StageResult SplitTexts(const StageFunctions&, const StageArgs& a) {
  const std::string by = StageText(a[0]);
  std::string text = StageText(a[1]);
  json::Array parts;
  for (std::size_t at; !by.empty() && (at = text.find(by)) != std::string::npos;
       text.erase(0, at + by.size()))
    parts.emplace_back(text.substr(0, at));
  parts.emplace_back(text);
  return TemplateValue(std::move(parts));
}

StageResult ReplaceText(const StageFunctions&, const StageArgs& a) {
  const std::string from = StageText(a[0]), to = StageText(a[1]);
  std::string text = StageText(a[2]);
  for (std::size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return TemplateValue(text);
}

StageResult Without(const StageArgs& a, bool prefix) {
  const std::string end = StageText(a[0]);
  std::string text = StageText(a[1]);
  if (prefix && text.starts_with(end)) text.erase(0, end.size());
  if (!prefix && text.ends_with(end)) text.resize(text.size() - end.size());
  return TemplateValue(text);
}

StageResult Indent(const StageArgs& a, bool on_a_new_line) {
  const std::string pad(static_cast<std::size_t>(std::clamp<std::int64_t>(StageInt(a[0]), 0, 200)), ' ');
  std::string out;
  bool first = true;
  for (const std::string& line : SplitText(StageText(a[1]), '\n'))
    out += (std::exchange(first, false) ? "" : "\n") + pad + line;
  return TemplateValue(on_a_new_line ? "\n" + out : out);
}

StageResult EndOf(const StageArgs& a, bool first) {
  const json::Value list = StageJson(a[0]);
  if (!list.is_array() || list.empty()) return TemplateValue();
  return TemplateValue(first ? list.as_array().front() : list.as_array().back());
}

StageResult Calculated(char op, const StageArgs& a) {
  std::int64_t result = StageInt(a[0]);
  for (std::size_t i = 1; i < a.size(); ++i) {
    const std::int64_t next = StageInt(a[i]);
    if ((op == '/' || op == '%') && next == 0) return Unexpected(BadRequest("division by zero"));
    const auto x = static_cast<std::uint64_t>(result), y = static_cast<std::uint64_t>(next);
    result = op == '+'   ? static_cast<std::int64_t>(x + y)
             : op == '-' ? static_cast<std::int64_t>(x - y)
             : op == '*' ? static_cast<std::int64_t>(x * y)
             : op == '/' ? (next == -1 ? static_cast<std::int64_t>(0 - x) : result / next)
             : op == '%' ? (next == -1 ? 0 : result % next)
             : op == '<' ? std::min(result, next)
                         : std::max(result, next);
  }
  return TemplateValue(static_cast<long long>(result));
}

StageResult RandomInt(const StageFunctions& self, const StageArgs& a) {
  const std::int64_t from = StageInt(a[0]), to = StageInt(a[1]);
  if (to <= from) return Unexpected(BadRequest("the end of the range is not above its start"));
  const auto range = static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  return TemplateValue(static_cast<long long>(static_cast<std::uint64_t>(from) + self.random().Below(range)));
}

StageResult ParseJsonText(const StageFunctions&, const StageArgs& a) {
  FLYBALL_ASSIGN(json::Value value, json::Parse(StageText(a[0])));
  return TemplateValue(std::move(value));
}

StageResult DecodeText(const StageFunctions&, const StageArgs& a) {
  std::string bytes;
  std::size_t bad = 0;
  if (!api::DecodeBase64(StageText(a[0]), bytes, bad))
    return TemplateValue("illegal base64 data at input byte " + std::to_string(bad));
  return TemplateValue(bytes);
}

StageResult KeysOfDict(const StageFunctions&, const StageArgs& a) {
  const json::Value dict = StageJson(a[0]);
  json::Array keys;
  if (dict.is_object())
    for (const auto& [key, value] : dict.as_object()) keys.emplace_back(key);
  return TemplateValue(std::move(keys));
}

TemplateValue MomentOf(TimePoint t) {
  return TemplateValue(api::FormatMicroTime(t));
}

constexpr std::size_t kAnyNumber = 100;
struct StageFunctionRow {
  std::string_view name;
  std::size_t least, most;  // arguments
  StageResult (*call)(const StageFunctions& self, const StageArgs& a);
};
using StageSelf = const StageFunctions&;
using StageList = const StageArgs&;
constexpr StageFunctionRow kStageFunctions[] = {
    // KWOK's.
    {"NodeConditions", 0, 0, &GoodConditions},
    {"NodeIP", 0, 0,
     [](StageSelf self, StageList) { return StageResult(TemplateValue(self.node().address)); }},
    {"NodeIPWith", 1, 1,
     [](StageSelf self, StageList) { return StageResult(TemplateValue(self.node().address)); }},
    {"NodeName", 0, 0,
     [](StageSelf self, StageList) { return StageResult(TemplateValue(self.node().name)); }},
    {"NodePort", 0, 0,
     [](StageSelf self, StageList) { return StageResult(TemplateValue(self.node().port)); }},
    {"Now", 0, 0, [](StageSelf self, StageList) { return StageResult(MomentOf(self.clock().Now())); }},
    {"PodIP", 0, 0, &PodAddress},
    {"PodIPWith", 5, 5, &PodAddress},
    {"Quote", 1, 1, &QuoteJson},
    {"StartTime", 0, 0, [](StageSelf self, StageList) { return StageResult(MomentOf(self.start_time())); }},
    {"Version", 0, 0, [](StageSelf, StageList) { return StageResult(TemplateValue(kStageVersion)); }},
    {"YAML", 1, 2, &IndentedYaml},
    // Sprig's.
    {"add", 1, kAnyNumber, [](StageSelf, StageList a) { return Calculated('+', a); }},
    {"add1", 1, 1,
     [](StageSelf, StageList a) {
       return Calculated('+', {a[0], TemplateValue(1)});
     }},
    {"b64dec", 1, 1, &DecodeText},
    {"b64enc", 1, 1,
     [](StageSelf, StageList a) { return StageResult(TemplateValue(api::EncodeBase64(StageText(a[0])))); }},
    {"coalesce", 0, kAnyNumber, &Coalesce},
    {"contains", 2, 2,
     [](StageSelf, StageList a) {
       return StageResult(TemplateValue(StageText(a[1]).find(StageText(a[0])) != std::string::npos));
     }},
    {"default", 2, 2, [](StageSelf, StageList a) { return StageResult(api::IsTrue(a[1]) ? a[1] : a[0]); }},
    {"dict", 0, kAnyNumber, &Dict},
    {"div", 2, 2, [](StageSelf, StageList a) { return Calculated('/', a); }},
    {"empty", 1, 1, [](StageSelf, StageList a) { return StageResult(TemplateValue(!api::IsTrue(a[0]))); }},
    {"first", 1, 1, [](StageSelf, StageList a) { return EndOf(a, true); }},
    {"fromJson", 1, 1, &ParseJsonText},
    {"get", 2, 2,
     [](StageSelf, StageList a) {
       const json::Value dict = StageJson(a[0]);
       const json::Value* member = dict.Find(StageText(a[1]));
       return StageResult(member ? TemplateValue(*member) : TemplateValue(""));
     }},
    {"hasKey", 2, 2,
     [](StageSelf, StageList a) {
       return StageResult(TemplateValue(StageJson(a[0]).Find(StageText(a[1])) != nullptr));
     }},
    {"hasPrefix", 2, 2,
     [](StageSelf, StageList a) {
       return StageResult(TemplateValue(StageText(a[1]).starts_with(StageText(a[0]))));
     }},
    {"hasSuffix", 2, 2,
     [](StageSelf, StageList a) {
       return StageResult(TemplateValue(StageText(a[1]).ends_with(StageText(a[0]))));
     }},
    {"indent", 2, 2, [](StageSelf, StageList a) { return Indent(a, false); }},
    {"int", 1, 1,
     [](StageSelf, StageList a) {
       return StageResult(TemplateValue(static_cast<long long>(StageInt(a[0]))));
     }},
    {"int64", 1, 1,
     [](StageSelf, StageList a) {
       return StageResult(TemplateValue(static_cast<long long>(StageInt(a[0]))));
     }},
    {"join", 2, 2, &JoinTexts},
    {"keys", 1, 1, &KeysOfDict},
    {"last", 1, 1, [](StageSelf, StageList a) { return EndOf(a, false); }},
    {"list", 0, kAnyNumber, &List},
    {"lower", 1, 1,
     [](StageSelf, StageList a) { return StageResult(TemplateValue(LowerCase(StageText(a[0])))); }},
    {"max", 1, kAnyNumber, [](StageSelf, StageList a) { return Calculated('>', a); }},
    {"min", 1, kAnyNumber, [](StageSelf, StageList a) { return Calculated('<', a); }},
    {"mod", 2, 2, [](StageSelf, StageList a) { return Calculated('%', a); }},
    {"mul", 1, kAnyNumber, [](StageSelf, StageList a) { return Calculated('*', a); }},
    {"nindent", 2, 2, [](StageSelf, StageList a) { return Indent(a, true); }},
    {"quote", 1, 1,
     [](StageSelf, StageList a) {
       return StageResult(a[0] && !a[0]->is_null() ? TemplateValue(api::GoQuote(StageText(a[0])))
                                                   : TemplateValue(""));
     }},
    {"randAlphaNum", 1, 1,
     [](StageSelf self, StageList a) {
       const auto n = static_cast<int>(std::clamp<std::int64_t>(StageInt(a[0]), 0, 1000));
       return StageResult(TemplateValue(self.random().NameSuffix(n)));
     }},
    {"randInt", 2, 2, &RandomInt},
    {"replace", 3, 3, &ReplaceText},
    {"splitList", 2, 2, &SplitTexts},
    {"squote", 1, 1,
     [](StageSelf, StageList a) { return StageResult(TemplateValue("'" + StageText(a[0]) + "'")); }},
    {"sub", 2, 2, [](StageSelf, StageList a) { return Calculated('-', a); }},
    {"ternary", 3, 3, [](StageSelf, StageList a) { return StageResult(api::IsTrue(a[2]) ? a[0] : a[1]); }},
    {"toJson", 1, 1,
     [](StageSelf, StageList a) { return StageResult(TemplateValue(json::Write(StageJson(a[0])))); }},
    {"toString", 1, 1, [](StageSelf, StageList a) { return StageResult(TemplateValue(StageText(a[0]))); }},
    {"trim", 1, 1,
     [](StageSelf, StageList a) { return StageResult(TemplateValue(Trimmed(StageText(a[0])))); }},
    {"trimPrefix", 2, 2, [](StageSelf, StageList a) { return Without(a, true); }},
    {"trimSuffix", 2, 2, [](StageSelf, StageList a) { return Without(a, false); }},
    {"upper", 1, 1,
     [](StageSelf, StageList a) { return StageResult(TemplateValue(UpperCase(StageText(a[0])))); }},
    {"uuidv4", 0, 0,
     [](StageSelf self, StageList) { return StageResult(TemplateValue(self.random().Uuid())); }},
};

const StageFunctionRow* FindStageFunction(std::string_view name) {
  for (const StageFunctionRow& row : kStageFunctions)
    if (row.name == name) return &row;
  return nullptr;
}

class KnownNames final : public api::TemplateFunctions {
 public:
  bool Has(std::string_view name) const override { return FindStageFunction(name) != nullptr; }
  StageResult Call(std::string_view name, const StageArgs&) const override {
    return Unexpected(BadRequest("function \"" + std::string(name) + "\" is not called here"));
  }
};

}  // namespace

StageFunctions::StageFunctions(StageNode node, const Clock& clock, Random& random)
    : node_(std::move(node)), clock_(clock), random_(random), start_time_(clock.Now()) {}

bool StageFunctions::Has(std::string_view name) const {
  return FindStageFunction(name) != nullptr;
}

Result<TemplateValue> StageFunctions::Call(std::string_view name,
                                           const std::vector<TemplateValue>& args) const {
  const StageFunctionRow& row = *FindStageFunction(name);
  if (args.size() < row.least || args.size() > row.most)
    return Unexpected(BadRequest("wrong number of args for " + std::string(name) + ": want " +
                                 std::to_string(row.least) + " got " + std::to_string(args.size())));
  return row.call(*this, args);
}

const api::TemplateFunctions& KnownStageFunctions() {
  static const KnownNames kNames;
  return kNames;
}

}  // namespace flyball::node
