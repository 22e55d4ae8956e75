#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/pod_choice.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/streams/port_forwarder.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

const KindRef kForwardedPods{"", "v1", "Pod", "pods", true};
const KindRef kServices{"", "v1", "Service", "services", true};

struct ForwardFlags {
  std::vector<std::string> args;
  std::string addresses = "localhost", pod_timeout;
};

Error BadPort(const std::string& text) {
  return LocalError("invalid port number: " + text);
}

// A number, or a name that one of the pod's containers gives a port.
Result<std::uint16_t> PortOf(const json::Value& pod, const std::string& text) {
  constexpr int kMostPort = 65535;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    const long number = text.size() > 5 ? kMostPort + 1 : std::stol(text);
    if (number > kMostPort) return Unexpected(BadPort(text));
    return static_cast<std::uint16_t>(number);
  }
  for (const json::Value& container : Elements(pod["spec"]["containers"]))
    for (const json::Value& port : Elements(container["ports"]))
      if (port["name"].string_or("") == text)
        return static_cast<std::uint16_t>(port["containerPort"].int_or(0));
  return Unexpected(LocalError("Pod '" + std::string(pod["metadata"]["name"].string_or("")) +
                               "' does not have a named port '" + text + "'"));
}

// The pod's port behind a Service's, by number or name; others stay as they are.
std::string TargetOfService(const json::Value& service, const std::string& port) {
  for (const json::Value& item : Elements(service["spec"]["ports"])) {
    const std::string number = std::to_string(item["port"].int_or(0));
    if (number != port && item["name"].string_or("") != port) continue;
    const json::Value& target = item["targetPort"];
    return target.is_string() ? std::string(target.as_string())
                              : std::to_string(target.int_or(item["port"].int_or(0)));
  }
  return port;
}

// "8080", "8080:80", ":80", "8080:http".
Result<PortPair> ParsePair(const std::string& spec, const json::Value& pod, const json::Value& service) {
  const auto parts = SplitText(spec, ':');
  if (parts.size() > 2 || parts.back().empty())
    return Unexpected(LocalError("invalid port format '" + spec + "'"));
  PortPair ports;
  const std::string remote = service.is_null() ? parts.back() : TargetOfService(service, parts.back());
  FLYBALL_ASSIGN(ports.remote, PortOf(pod, remote));
  if (ports.remote == 0) return Unexpected(LocalError("remote port must be > 0"));
  if (parts.size() == 1 && parts[0].find_first_not_of("0123456789") != std::string::npos) {
    ports.local = ports.remote;
  } else if (!parts[0].empty()) {
    FLYBALL_ASSIGN(ports.local, PortOf(pod, parts[0]));
  }
  return ports;
}

Status ListenOn(PortForwarder& forwarder, const std::string& addresses, const PortPair& ports) {
  for (const std::string& address : SplitText(addresses, ',')) {
    if (address != "localhost") {
      FLYBALL_TRY(forwarder.Listen(address, ports));
      continue;
    }
    FLYBALL_TRY(forwarder.Listen("127.0.0.1", ports));
    // A machine without IPv6 is served by IPv4 alone; a free port is only free once.
    if (ports.local != 0) static_cast<void>(forwarder.Listen("::1", ports));
  }
  return {};
}

Status Forward(Session& session, const ForwardFlags& flags) {
  if (flags.args.size() < 2)
    return Unexpected(LocalError(
        "TYPE/NAME and list of ports are required for port-forward\nSee 'kubectl port-forward -h' for help "
        "and examples"));
  FLYBALL_ASSIGN(const Duration wait, PodRunningTimeout(flags.pod_timeout));
  json::Value service;
  if (flags.args[0].find('/') != std::string::npos) {
    FLYBALL_ASSIGN(const auto refs, ResolveObjects(session, {flags.args[0]}, {}));
    if (refs[0].kind == kServices) {
      FLYBALL_ASSIGN(service, session.Get(kServices, refs[0].ns, refs[0].name));
    }
  }
  FLYBALL_ASSIGN(const auto pods, PodsBehind(session, flags.args[0], wait));
  const json::Value& pod = pods[0];
  if (const std::string_view phase = pod["status"]["phase"].string_or(""); phase != "Running")
    return Unexpected(LocalError("unable to forward port because pod is not running. Current status=" +
                                 std::string(phase)));
  PortForwarder forwarder(session, kForwardedPods.Path(pod["metadata"]["namespace"].string_or(""),
                                                       pod["metadata"]["name"].string_or(""), "portforward"));
  for (std::size_t i = 1; i < flags.args.size(); ++i) {
    FLYBALL_ASSIGN(const PortPair ports, ParsePair(flags.args[i], pod, service));
    FLYBALL_TRY(ListenOn(forwarder, flags.addresses, ports));
  }
  return forwarder.Run();
}

}  // namespace

void AddPortForwardCommand(const Command& root) {
  auto flags = std::make_shared<ForwardFlags>();
  const Command command =
      root.Sub("port-forward", "Reach ports of a pod from this machine",
               "flyball port-forward deploy/web 8080:80\n  flyball port-forward svc/web :http");
  command.Args("TYPE/NAME [LOCAL:]REMOTE", &flags->args, "Which pod, and which ports");
  command.Option("--address", &flags->addresses, "Where to listen: localhost, or addresses with commas");
  AddPodRunningTimeout(command, &flags->pod_timeout);
  RunVerb(command, [flags](Session& session) { return Forward(session, *flags); });
}

}  // namespace flyball::cli
