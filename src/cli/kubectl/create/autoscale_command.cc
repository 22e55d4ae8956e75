#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct AutoscaleFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  CreateOptions options;
  std::string name, cpu, memory;
  std::optional<std::int64_t> min, max, cpu_percent;
};

// "70%": of what the pods request; "500m": on average.
json::Value MetricTarget(const char* resource, const std::string& text) {
  json::Value metric;
  metric["type"] = "Resource";
  metric["resource"]["name"] = resource;
  json::Value& target = metric["resource"]["target"];
  if (text.back() == '%') {
    target["type"] = "Utilization";
    target["averageUtilization"] = std::atoll(text.c_str());
  } else {
    target["type"] = "AverageValue";
    target["averageValue"] = text;
  }
  return metric;
}

json::Array Metrics(const AutoscaleFlags& flags) {
  json::Array metrics;
  if (flags.cpu_percent && *flags.cpu_percent >= 0)
    metrics.push_back(MetricTarget("cpu", std::to_string(*flags.cpu_percent) + "%"));
  if (!flags.cpu.empty()) metrics.push_back(MetricTarget("cpu", flags.cpu));
  if (!flags.memory.empty()) metrics.push_back(MetricTarget("memory", flags.memory));
  return metrics;
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
  if (json::Array metrics = Metrics(flags); !metrics.empty()) spec["metrics"] = std::move(metrics);
  object["status"]["currentMetrics"] = nullptr;
  object["status"]["desiredReplicas"] = 0;
  return object;
}

Status RunAutoscale(Session& session, const AutoscaleFlags& flags) {
  if (!flags.max || *flags.max < 1)
    return Unexpected(LocalError("--max=MAXPODS is required and must be at least 1, max: " +
                                 std::to_string(flags.max.value_or(-1))));
  if (flags.min && *flags.min > *flags.max)
    return Unexpected(LocalError("--max=MAXPODS must be larger or equal to --min=MINPODS, max: " +
                                 std::to_string(*flags.max) + ", min: " + std::to_string(*flags.min)));
  FLYBALL_ASSIGN(const auto targets, NamedObjects(session, flags.files, flags.args, {}));
  for (const ObjectRef& target : targets) {
    // The server need not have yet what a file describes.
    if (flags.files.empty()) FLYBALL_TRY(session.Get(target.kind, target.ns, target.name));
    if (const Status made = CreateObject(session, flags.options, NewAutoscaler(flags, target), "autoscaled");
        !made)
      session.Report(made.error());
  }
  return {};
}

}  // namespace

void AddAutoscaleCommand(const Command& root) {
  auto flags = std::make_shared<AutoscaleFlags>();
  const Command command = root.Sub("autoscale", "Let the number of replicas follow the load",
                                   "flyball autoscale deploy web --min=2 --max=10 --cpu-percent=80");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  AddManifestFlags(command, &flags->files);
  command.Option("--min", &flags->min, "At least this many replicas");
  command.Option("--max", &flags->max, "At most this many; required");
  command.Required("--max");
  command.Option("--cpu-percent", &flags->cpu_percent, "The same as --cpu with a percentage");
  command.Option("--cpu", &flags->cpu,
                 "CPU the pods should use: 70% of what they request, or 500m on average");
  command.Option("--memory", &flags->memory,
                 "Memory the pods should use: 70% of what they request, or 500Mi");
  command.Option("--name", &flags->name, "Name of the autoscaler; the object's own if absent");
  flags->options.field_manager = "kubectl-autoscale";
  flags->options.AddTo(command);
  command.RecordFlag();
  RunVerb(command, [flags](Session& session) { return RunAutoscale(session, *flags); });
}

}  // namespace flyball::cli
