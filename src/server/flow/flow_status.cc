#include "server/flow/flow_status.h"

#include "api/values/time.h"
#include "base/observe/log.h"

namespace flyball::server {
namespace {

constexpr std::string_view kFlowStatusGroup = "flowcontrol.apiserver.k8s.io";
constexpr std::string_view kDangling = "Dangling";

std::string LevelOf(const json::Value& schema) {
  return std::string(schema["spec"]["priorityLevelConfiguration"]["name"].string_or(""));
}

const json::Value* FindDangling(const json::Value& schema) {
  const auto& conditions = schema["status"]["conditions"];
  for (std::size_t i = 0; i < conditions.size(); ++i)
    if (conditions.as_array()[i]["type"].string_or("") == kDangling) return &conditions.as_array()[i];
  return nullptr;
}

bool Says(const json::Value& schema, const json::Value& condition) {
  const auto* said = FindDangling(schema);
  return said && (*said)["status"] == condition["status"] && (*said)["message"] == condition["message"];
}

// The schema with the condition in the place of an older one; other conditions stay.
json::Value WithCondition(const json::Value& schema, json::Value condition) {
  json::Array conditions;
  if (const auto& old = schema["status"]["conditions"]; old.is_array())
    for (const auto& item : old.as_array())
      if (item["type"].string_or("") != kDangling) conditions.push_back(item);
  conditions.push_back(std::move(condition));
  json::Value next = schema;
  next["status"]["conditions"] = std::move(conditions);
  return next;
}

}  // namespace

json::Value DanglingCondition(std::string_view level, bool exists, std::string since) {
  const std::string named = "This FlowSchema references the PriorityLevelConfiguration object named \"" +
                            std::string(level) + "\" ";
  return json::Object{{"type", kDangling},
                      {"status", exists ? "False" : "True"},
                      {"lastTransitionTime", std::move(since)},
                      {"reason", exists ? "Found" : "NotFound"},
                      {"message", named + (exists ? "and it exists" : "but there is no such object")}};
}

struct FlowStatus::Follower : std::enable_shared_from_this<Follower> {
  explicit Follower(ServerState& s)
      : state(s),
        schemas(s.catalog.Find(kFlowStatusGroup, "v1", "flowschemas")),
        levels(s.catalog.Find(kFlowStatusGroup, "v1", "prioritylevelconfigurations")) {}

  json::Value ConditionOf(const json::Value& schema) const {
    const std::string level = LevelOf(schema);
    return DanglingCondition(level, levels->cache->Get(level) != nullptr,
                             api::FormatTime(state.clock().Now()));
  }
  void Check(const StoredObject& object) {
    const json::Value schema = object.ToValue();
    if (Says(schema, ConditionOf(schema))) return;
    SpawnOwn(Write(shared_from_this(), object.name()), "following flow schemas");
  }
  void CheckAll() {
    for (const auto& object : schemas->cache->List({}).objects) Check(*object);
  }
  static Task<void> Write(std::shared_ptr<Follower> self, std::string name) {
    RequestScope scope = OwnScope(self->state, "api-priority-and-fairness-config-consumer-v1");
    scope.resource = self->schemas;
    UpdateOptions options{.subresource = "status", .conflict_retries = true, .skip_admission = true};
    Registry::Transform transform = [self](const json::Value& current) -> Result<json::Value> {
      return WithCondition(current, self->ConditionOf(current));
    };
    auto outcome = co_await self->state.registry.Update(scope, *scope.resource, "", name,
                                                        std::move(transform), std::move(options));
    if (!outcome && !outcome.error().Is(Reason::kNotFound))
      log::Error("the status of a flow schema could not be written",
                 {{"name", name}, {"error", outcome.error().message()}});
  }

  ServerState& state;
  const ResourcePtr schemas, levels;
};

FlowStatus::FlowStatus(ServerState& state) : follower_(std::make_shared<Follower>(state)) {}

FlowStatus::~FlowStatus() = default;

void FlowStatus::Start() {
  follower_->CheckAll();
  std::weak_ptr<Follower> weak = follower_;
  follower_->schemas->cache->Observe([weak](const Change& change) {
    if (const auto follower = weak.lock(); follower && change.object) follower->Check(*change.object);
  });
  // A level that changes neither comes nor goes.
  follower_->levels->cache->Observe([weak](const Change& change) {
    const auto follower = weak.lock();
    if (follower && (!change.object || !change.previous)) follower->CheckAll();
  });
}

}  // namespace flyball::server
