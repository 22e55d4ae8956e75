#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct AutoscaleFlags {
  std::vector<std::string> args;
  CreateOptions options;
  std::string name;
  std::optional<std::int64_t> min, max, cpu_percent;
};

json::Value CpuTarget(std::int64_t percent) {
  json::Value metric;
  metric["type"] = "Resource";
  metric["resource"]["name"] = "cpu";
  metric["resource"]["target"]["type"] = "Utilization";
  metric["resource"]["target"]["averageUtilization"] = static_cast<long long>(percent);
  return metric;
}

json::Value NewAutoscaler(const AutoscaleFlags& flags, const ObjectRef& target) {
  json::Value object =
      NewObject("autoscaling/v2", "HorizontalPodAutoscaler", flags.name.empty() ? target.name : flags.name);
  json::Value& spec = object["spec"];
  spec["maxReplicas"] = static_cast<long long>(*flags.max);
  if (flags.min && *flags.min > 0) spec["minReplicas"] = static_cast<long long>(*flags.min);
  json::Value& reference = spec["scaleTargetRef"];
  reference["apiVersion"] = target.kind.ApiVersion();
  reference["kind"] = target.kind.kind;
  reference["name"] = target.name;
  if (flags.cpu_percent && *flags.cpu_percent >= 0)
    spec["metrics"] = json::Array{CpuTarget(*flags.cpu_percent)};
  return object;
}

Status RunAutoscale(Session& session, const AutoscaleFlags& flags) {
  if (!flags.max || *flags.max < 1)
    return Unexpected(LocalError("--max=MAXPODS is required and must be at least 1, max: " +
                                 std::to_string(flags.max.value_or(-1))));
  if (flags.min && *flags.min > *flags.max)
    return Unexpected(LocalError("--max=MAXPODS must be larger or equal to --min=MINPODS, max: " +
                                 std::to_string(*flags.max) + ", min: " + std::to_string(*flags.min)));
  FLYBALL_ASSIGN(const auto targets, ResolveObjects(session, flags.args, {}));
  for (const ObjectRef& target : targets) {
    FLYBALL_TRY(session.Get(target.kind, target.ns, target.name));
    FLYBALL_TRY(CreateObject(session, flags.options, NewAutoscaler(flags, target), "autoscaled"));
  }
  return {};
}

}  // namespace

void AddAutoscaleCommand(const Command& root) {
  auto flags = std::make_shared<AutoscaleFlags>();
  const Command command = root.Sub("autoscale", "Let the number of replicas follow the load",
                                   "flyball autoscale deploy web --min=2 --max=10 --cpu-percent=80");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  command.Option("--min", &flags->min, "At least this many replicas");
  command.Option("--max", &flags->max, "At most this many; required");
  command.Option("--cpu-percent", &flags->cpu_percent,
                 "Average CPU the pods should use, of what they request");
  command.Option("--name", &flags->name, "Name of the autoscaler; the object's own if absent");
  flags->options.AddTo(command);
  RunVerb(command, [flags](Session& session) { return RunAutoscale(session, *flags); });
}

}  // namespace flyball::cli
