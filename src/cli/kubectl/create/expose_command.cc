#include <algorithm>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct ExposeFlags {
  OverrideFlags overrides;
  CreateOptions options;
  std::vector<std::string> args;
  ManifestFlags files;
  std::string ports, target_port, labels, selector;
  ServicePlan plan;
};

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos && text.size() < 10;
}

// The labels of the pods behind an object.
Result<json::Value> PodLabels(const json::Value& target) {
  const std::string kind(target["kind"].string_or(""));
  if (kind == "Pod") return target["metadata"]["labels"];
  if (kind == "Service" || kind == "ReplicationController") return target["spec"]["selector"];
  if (kind != "Deployment" && kind != "ReplicaSet") return Unexpected(LocalError("cannot expose a " + kind));
  return target["spec"]["selector"]["matchLabels"];
}

// The ports that the object's containers, or the Service itself, declare.
std::vector<std::int64_t> DeclaredPorts(const json::Value& target) {
  std::vector<std::int64_t> ports;
  const auto add = [&](const json::Value& list, const char* field) {
    for (const json::Value& port : Elements(list))
      if (const std::int64_t number = port[field].int_or(0);
          std::find(ports.begin(), ports.end(), number) == ports.end())
        ports.push_back(number);
  };
  const std::string_view kind = target["kind"].string_or("");
  if (kind == "Service") add(target["spec"]["ports"], "port");
  const json::Value& spec = kind == "Pod" ? target["spec"] : target["spec"]["template"]["spec"];
  for (const json::Value& container : Elements(spec["containers"])) add(container["ports"], "containerPort");
  return ports;
}

Result<std::vector<std::int64_t>> PortsFor(const ExposeFlags& flags, const json::Value& target) {
  std::vector<std::int64_t> ports;
  for (const std::string& text : SplitText(flags.ports, ',')) {
    if (text.empty()) continue;
    if (!IsNumber(text))
      return Unexpected(LocalError("strconv.Atoi: parsing \"" + text + "\": invalid syntax"));
    ports.push_back(std::stoll(text));
  }
  if (ports.empty()) ports = DeclaredPorts(target);
  if (ports.empty()) return Unexpected(LocalError("couldn't find port via --port flag or introspection"));
  return ports;
}

Result<json::Value> ServiceFor(const ExposeFlags& flags, const json::Value& target) {
  ServicePlan plan = flags.plan;
  const json::Value& selector = target["spec"]["selector"];
  if (target["kind"].string_or("") == "Deployment" && flags.selector.empty() &&
      (!selector.is_object() || selector["matchLabels"].empty()))
    return Unexpected(LocalError("invalid deployment: no selectors, therefore cannot be exposed"));
  FLYBALL_ASSIGN(plan.selector, PodLabels(target));
  if (!flags.selector.empty()) {
    FLYBALL_ASSIGN(plan.selector, ParsePairs(flags.selector));
  }
  if (std::as_const(plan.selector).empty())
    return Unexpected(LocalError("couldn't retrieve selectors via --selector flag or introspection"));
  FLYBALL_ASSIGN(plan.ports, PortsFor(flags, target));
  constexpr std::size_t kLongestName = 63;  // of a DNS label
  if (plan.name.empty()) plan.name = target["metadata"]["name"].string_or("").substr(0, kLongestName);
  plan.labels = target["metadata"]["labels"];
  if (!flags.labels.empty()) {
    FLYBALL_ASSIGN(plan.labels, ParsePairs(flags.labels));
  }
  plan.target_port = flags.target_port;
  return NewService(plan);
}

Status ExposeOne(Session& session, const ExposeFlags& flags, const json::Value& target) {
  FLYBALL_ASSIGN(json::Value service, ServiceFor(flags, target));
  FLYBALL_ASSIGN(service, flags.overrides.Apply(std::move(service)));
  return CreateObject(session, flags.options, std::move(service), "exposed");
}

// Objects of files are exposed as the files have them; the server need not have them yet.
Result<std::vector<json::Value>> ExposeTargets(Session& session, const ExposeFlags& flags) {
  std::vector<json::Value> targets;
  if (!flags.files.empty()) {
    ReadProblems problems;
    FLYBALL_ASSIGN(auto manifests, ReadManifests(session, flags.files, &problems));
    problems.Report(session);
    for (Manifest& manifest : manifests) targets.push_back(std::move(manifest.object));
    return targets;
  }
  FLYBALL_ASSIGN(const auto objects, ResolveObjects(session, flags.args, {}));
  for (const ObjectRef& object : objects) {
    FLYBALL_ASSIGN(json::Value target, session.Get(object.kind, object.ns, object.name));
    targets.push_back(std::move(target));
  }
  return targets;
}

Status RunExpose(Session& session, const ExposeFlags& flags) {
  FLYBALL_ASSIGN(const auto targets, ExposeTargets(session, flags));
  for (const json::Value& target : targets)
    if (const Status done = ExposeOne(session, flags, target); !done) session.Report(done.error());
  return {};
}

}  // namespace

json::Value NewService(const ServicePlan& plan) {
  json::Value service = NewObject("v1", "Service", plan.name);
  if (plan.labels.is_object() && !plan.labels.empty()) service["metadata"]["labels"] = plan.labels;
  json::Value& spec = service["spec"];
  if (!plan.cluster_ip.empty()) spec["clusterIP"] = plan.cluster_ip;
  if (!plan.external_ip.empty()) spec["externalIPs"] = json::Array{plan.external_ip};
  if (!plan.load_balancer_ip.empty() && plan.type == "LoadBalancer")
    spec["loadBalancerIP"] = plan.load_balancer_ip;
  json::Array ports;
  for (const std::int64_t number : plan.ports) {
    json::Object port;
    if (plan.ports.size() > 1) port.Set("name", "port-" + std::to_string(ports.size() + 1));
    port.Set("port", static_cast<long long>(number));
    port.Set("protocol", plan.protocol);
    if (plan.target_port.empty() || IsNumber(plan.target_port))
      port.Set("targetPort",
               static_cast<long long>(plan.target_port.empty() ? number : std::stoll(plan.target_port)));
    else
      port.Set("targetPort", plan.target_port);
    ports.emplace_back(std::move(port));
  }
  spec["ports"] = std::move(ports);
  spec["selector"] = plan.selector;
  if (!plan.session_affinity.empty()) spec["sessionAffinity"] = plan.session_affinity;
  if (!plan.type.empty()) spec["type"] = plan.type;
  service["status"]["loadBalancer"] = json::Object();
  return service;
}

void AddExposeCommand(const Command& root) {
  auto flags = std::make_shared<ExposeFlags>();
  const Command command =
      root.Sub("expose", "Make a Service for the pods of an object", "flyball expose deploy web --port=80");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  AddManifestFlags(command, &flags->files);
  flags->options.field_manager = "kubectl-expose";
  flags->overrides.AddTo(command, "merge");
  flags->options.AddTo(command);
  command.RecordFlag();
  command.Option("--port", &flags->ports, "Port of the service, or several with commas");
  command.Option("--target-port", &flags->target_port, "Port of the pods: a number or a name");
  command.Option("--name", &flags->plan.name, "Name of the service");
  command.Option("--type", &flags->plan.type, "ClusterIP, NodePort or LoadBalancer");
  command.Option("--protocol", &flags->plan.protocol, "TCP, UDP or SCTP");
  command.Option("--selector", &flags->selector, "Labels of the pods: a=b,c=d");
  command.Option("-l,--labels", &flags->labels, "Labels of the service: a=b,c=d");
  command.Option("--cluster-ip", &flags->plan.cluster_ip, "A fixed address, or None");
  command.Option("--external-ip", &flags->plan.external_ip, "An address that leads to the nodes");
  command.Option("--load-balancer-ip", &flags->plan.load_balancer_ip, "Address of the load balancer");
  command.Option("--session-affinity", &flags->plan.session_affinity, "None or ClientIP");
  RunVerb(command, [flags](Session& session) { return RunExpose(session, *flags); });
}

}  // namespace flyball::cli
