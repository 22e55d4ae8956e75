#include "cli/kubectl/describe/describe_pod.h"

#include <algorithm>

#include "api/values/quantity.h"
#include "base/values/ascii.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/describe/describe_volumes.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

const json::Array& Items(const json::Value& list) {
  static const json::Array kNone;
  return list.is_array() ? list.as_array() : kNone;
}
std::string Text(const json::Value& value) {
  return TextOr(value, "");
}
std::string Words(const json::Value& list) {
  std::string out;
  for (const json::Value& word : Items(list)) out += (out.empty() ? "" : " ") + Text(word);
  return out;
}

std::string PortsText(const json::Value& ports, const char* field) {
  std::string out;
  for (const json::Value& port : Items(ports))
    out += (out.empty() ? "" : ", ") + std::to_string(port[field].int_or(0)) + "/" +
           std::string(port["protocol"].string_or("TCP"));
  return out.empty() ? "<none>" : out;
}

std::string PortLines(const json::Value& ports) {
  const bool several = Items(ports).size() > 1;
  return std::string("    Port") + (several ? "s" : "") + ":\t" + PortsText(ports, "containerPort") +
         "\n    Host Port" + (several ? "s" : "") + ":\t" + PortsText(ports, "hostPort") + "\n";
}

std::string WordLines(const char* title, const json::Value& words) {
  if (words.empty()) return "";
  std::string out = std::string("    ") + title + ":\n";
  for (const json::Value& word : Items(words))
    for (const std::string& line : SplitText(word.string_or(""), '\n')) out += "      " + line + "\n";
  return out;
}

std::string StateLines(const char* title, const json::Value& state) {
  const std::string head = std::string("    ") + title + ":\t";
  if (const json::Value& running = state["running"]; running.is_object())
    return head + "Running\n      Started:\t" + LongTime(running["startedAt"]) + "\n";
  if (const json::Value& ended = state["terminated"]; ended.is_object()) {
    std::string out = head + "Terminated\n";
    if (!Text(ended["reason"]).empty()) out += "      Reason:\t" + Text(ended["reason"]) + "\n";
    if (!Text(ended["message"]).empty()) out += "      Message:\t" + Text(ended["message"]) + "\n";
    out += "      Exit Code:\t" + std::to_string(ended["exitCode"].int_or(0)) + "\n";
    if (ended["signal"].int_or(0) > 0) out += "      Signal:\t" + Text(ended["signal"]) + "\n";
    return out + "      Started:\t" + LongTime(ended["startedAt"]) + "\n      Finished:\t" +
           LongTime(ended["finishedAt"]) + "\n";
  }
  const std::string reason = Text(state["waiting"]["reason"]);
  return head + "Waiting\n" + (reason.empty() ? "" : "      Reason:\t" + reason + "\n");
}

std::string StatusLines(const json::Value& status) {
  std::string out = StateLines("State", status["state"]);
  if (status["lastState"]["terminated"].is_object()) out += StateLines("Last State", status["lastState"]);
  return out + "    Ready:\t" + (status["ready"].bool_or(false) ? "True" : "False") +
         "\n    Restart Count:\t" + std::to_string(status["restartCount"].int_or(0)) + "\n";
}

std::string ResourceLines(const json::Value& resources) {
  std::string out;
  for (const auto& [field, title] : {std::pair("limits", "Limits"), std::pair("requests", "Requests")}) {
    if (resources[field].empty()) continue;
    out += std::string("    ") + title + ":\n";
    json::Object sorted = resources[field].as_object();
    sorted.SortKeys();
    for (const auto& [name, quantity] : sorted) out += "      " + name + ":\t" + Text(quantity) + "\n";
  }
  return out;
}

std::string ProbeText(const json::Value& probe) {
  std::string what = "unknown";
  if (probe["exec"].is_object()) {
    what = "exec [" + Words(probe["exec"]["command"]) + "]";
  } else if (const json::Value& get = probe["httpGet"]; get.is_object()) {
    what = "http-get " + LowerCase(get["scheme"].string_or("HTTP")) + "://" + Text(get["host"]) + ":" +
           Text(get["port"]) + Text(get["path"]);
  } else if (probe["tcpSocket"].is_object()) {
    what = "tcp-socket " + Text(probe["tcpSocket"]["host"]) + ":" + Text(probe["tcpSocket"]["port"]);
  } else if (probe["grpc"].is_object()) {
    what = "grpc <pod>:" + Text(probe["grpc"]["port"]) + " " + Text(probe["grpc"]["service"]);
  }
  const auto number = [&](const char* field, int fallback) {
    return std::to_string(probe[field].int_or(fallback));
  };
  return what + " delay=" + number("initialDelaySeconds", 0) + "s timeout=" + number("timeoutSeconds", 1) +
         "s period=" + number("periodSeconds", 10) + "s #success=" + number("successThreshold", 1) +
         " #failure=" + number("failureThreshold", 3);
}

// What a fieldRef of the pod's own leads to. What only the node knows stays empty, as in kubectl.
std::string FieldOf(const json::Value& pod, const std::string& path) {
  const json::Value& metadata = pod["metadata"];
  for (const char* map : {"annotations", "labels"}) {
    const std::string head = std::string("metadata.") + map + "['";
    if (path.starts_with(head) && path.ends_with("']"))
      return Text(metadata[map][path.substr(head.size(), path.size() - head.size() - 2)]);
  }
  for (const char* field : {"name", "namespace", "uid"})
    if (path == std::string("metadata.") + field) return Text(metadata[field]);
  return {};
}

// "limits.cpu" of the container in units of the divisor, rounded up.
std::string ResourceOf(const json::Value& container, const json::Value& ref) {
  const std::string resource = Text(ref["resource"]);
  const std::size_t dot = resource.find('.');
  if (dot == std::string::npos) return {};
  const json::Value& there = container["resources"][resource.substr(0, dot)][resource.substr(dot + 1)];
  const auto amount = api::Quantity::Parse(there.is_null() ? "0" : Text(there));
  const auto divisor = api::Quantity::Parse(Text(ref["divisor"]));
  const std::int64_t unit = divisor && divisor->MilliValue() > 0 ? divisor->MilliValue() : 1000;
  const std::int64_t value = amount ? (amount->MilliValue() + unit - 1) / unit : 0;
  if (value == 0 && (resource == "limits.cpu" || resource == "limits.memory")) return "node allocatable";
  return std::to_string(value);
}

// `pod` is null for a template.
std::string EnvValue(const json::Value& variable, const json::Value& container, const json::Value* pod) {
  const json::Value& from = variable["valueFrom"];
  const auto optional = [](const json::Value& ref) {
    return ref["optional"].bool_or(false) ? "true" : "false";
  };
  if (const json::Value& field = from["fieldRef"]; field.is_object())
    return (pod ? FieldOf(*pod, Text(field["fieldPath"])) : "") + " (" + Text(field["apiVersion"]) + ":" +
           Text(field["fieldPath"]) + ")";
  if (const json::Value& resource = from["resourceFieldRef"]; resource.is_object())
    return ResourceOf(container, resource) + " (" + Text(resource["resource"]) + ")";
  if (const json::Value& secret = from["secretKeyRef"]; secret.is_object())
    return "<set to the key '" + Text(secret["key"]) + "' in secret '" + Text(secret["name"]) +
           "'>\tOptional: " + optional(secret);
  if (const json::Value& map = from["configMapKeyRef"]; map.is_object())
    return "<set to the key '" + Text(map["key"]) + "' of config map '" + Text(map["name"]) +
           "'>\tOptional: " + optional(map);
  std::string value;
  for (const char c : Text(variable["value"]))
    value += c == '\n' ? std::string("\n      \t") : std::string(1, c);
  return value;
}

std::string EnvLines(const json::Value& container, const json::Value* pod) {
  std::string out;
  if (!container["envFrom"].empty()) out += "    Environment Variables from:\n";
  for (const json::Value& source : Items(container["envFrom"])) {
    const bool secret = source["secretRef"].is_object();
    const json::Value& ref = source[secret ? "secretRef" : "configMapRef"];
    const std::string prefix = Text(source["prefix"]);
    out += "      " + Text(ref["name"]) + "\t" + (secret ? "Secret" : "ConfigMap") +
           (prefix.empty() ? "" : " with prefix '" + prefix + "'") +
           "\tOptional: " + (ref["optional"].bool_or(false) ? "true" : "false") + "\n";
  }
  const json::Value& env = container["env"];
  if (env.empty()) return out + "    Environment:\t<none>\n";
  out += "    Environment:\n";
  for (const json::Value& variable : Items(env))
    out += "      " + Text(variable["name"]) + ":\t" + EnvValue(variable, container, pod) + "\n";
  return out;
}

std::string MountLines(const json::Value& mounts) {
  if (mounts.empty()) return "    Mounts:\t<none>\n";
  json::Array sorted = mounts.as_array();
  std::sort(sorted.begin(), sorted.end(), [](const json::Value& a, const json::Value& b) {
    return a["mountPath"].string_or("") < b["mountPath"].string_or("");
  });
  std::string out = "    Mounts:\n";
  for (const json::Value& mount : std::as_const(sorted)) {
    out += "      " + Text(mount["mountPath"]) + " from " + Text(mount["name"]) + " (" +
           (mount["readOnly"].bool_or(false) ? "ro" : "rw");
    if (!Text(mount["subPath"]).empty()) out += ",path=\"" + Text(mount["subPath"]) + "\"";
    out += ")\n";
  }
  return out;
}

const json::Value& StatusOf(const json::Value& statuses, const json::Value& name) {
  static const json::Value kNone;
  for (const json::Value& status : Items(statuses))
    if (status["name"] == name) return status;
  return kNone;
}

// `space` is "" for a pod and two spaces within a template, where there is no pod.
std::string ContainerLines(const char* title, const json::Value& containers, const json::Value& statuses,
                           const std::string& space, const json::Value* pod = nullptr) {
  std::string out = space + title + ":\n";
  for (const json::Value& container : Items(containers)) {
    const json::Value& status = StatusOf(statuses, container["name"]);
    out += "  " + std::string(space.empty() ? "" : " ") + Text(container["name"]) + ":\n";
    if (status.is_object()) out += "    Container ID:\t" + Text(status["containerID"]) + "\n";
    out += "    Image:\t" + Text(container["image"]) + "\n";
    if (status.is_object()) out += "    Image ID:\t" + Text(status["imageID"]) + "\n";
    out += PortLines(container["ports"]) + WordLines("Command", container["command"]) +
           WordLines("Args", container["args"]);
    if (status.is_object()) out += StatusLines(status);
    out += ResourceLines(container["resources"]);
    for (const auto& [field, name] :
         {std::pair("livenessProbe", "Liveness"), std::pair("readinessProbe", "Readiness"),
          std::pair("startupProbe", "Startup")})
      if (container[field].is_object())
        out += std::string("    ") + name + ":\t" + ProbeText(container[field]) + "\n";
    out += EnvLines(container, pod) + MountLines(container["volumeMounts"]);
  }
  return out;
}

std::string TolerationLines(const std::string& title, const json::Value& tolerations) {
  std::string out = title + ":\t";
  if (tolerations.empty()) return out + "<none>\n";
  json::Array sorted = tolerations.as_array();
  std::stable_sort(sorted.begin(), sorted.end(), [](const json::Value& a, const json::Value& b) {
    return a["key"].string_or("") < b["key"].string_or("");
  });
  bool first = true;
  for (const json::Value& t : std::as_const(sorted)) {
    out += std::exchange(first, false) ? "" : "\t";
    std::string line = Text(t["key"]);
    if (!Text(t["value"]).empty()) line += "=" + Text(t["value"]);
    if (!Text(t["effect"]).empty()) line += ":" + Text(t["effect"]);
    if (t["operator"].string_or("") == "Exists" && Text(t["value"]).empty())
      line += line.empty() ? "op=Exists" : " op=Exists";
    if (t["tolerationSeconds"].is_int()) line += " for " + Text(t["tolerationSeconds"]) + "s";
    out += line + "\n";
  }
  return out;
}

std::string HeadLines(const json::Value& pod) {
  const json::Value &spec = pod["spec"], &status = pod["status"];
  std::string out = NameLines(pod);
  if (spec["priority"].is_int()) out += "Priority:\t" + Text(spec["priority"]) + "\n";
  if (!Text(spec["priorityClassName"]).empty())
    out += "Priority Class Name:\t" + Text(spec["priorityClassName"]) + "\n";
  if (!Text(spec["runtimeClassName"]).empty())
    out += "Runtime Class Name:\t" + Text(spec["runtimeClassName"]) + "\n";
  if (!Text(spec["serviceAccountName"]).empty())
    out += "Service Account:\t" + Text(spec["serviceAccountName"]) + "\n";
  const std::string node = Text(spec["nodeName"]);
  out += "Node:\t" + (node.empty() ? "<none>" : node + "/" + Text(status["hostIP"])) + "\n";
  if (status["startTime"].is_string()) out += "Start Time:\t" + LongTime(status["startTime"]) + "\n";
  out += LabelLines("Labels", pod["metadata"]["labels"]) +
         AnnotationLines("Annotations", pod["metadata"]["annotations"]);
  if (pod["metadata"]["deletionTimestamp"].is_string())
    out += "Status:\tTerminating\nTermination Grace Period:\t" +
           std::to_string(pod["metadata"]["deletionGracePeriodSeconds"].int_or(0)) + "s\n";
  else
    out += "Status:\t" + Text(status["phase"]) + "\n";
  if (!Text(status["reason"]).empty()) out += "Reason:\t" + Text(status["reason"]) + "\n";
  if (!Text(status["message"]).empty()) out += "Message:\t" + Text(status["message"]) + "\n";
  out += "IP:\t" + Text(status["podIP"]) + "\n";
  if (status["podIPs"].empty()) {
    out += "IPs:\t<none>\n";
  } else {
    out += "IPs:\n";
    for (const json::Value& ip : Items(status["podIPs"])) out += "  IP:\t" + Text(ip["ip"]) + "\n";
  }
  const std::string controller = ControllerText(pod);
  if (!controller.empty()) out += "Controlled By:\t" + controller + "\n";
  if (!Text(status["nominatedNodeName"]).empty())
    out += "NominatedNodeName:\t" + Text(status["nominatedNodeName"]) + "\n";
  return out;
}

}  // namespace

std::string PodTemplateText(const json::Value& tmpl) {
  const json::Value& spec = tmpl["spec"];
  std::string out = "Pod Template:\n" + LabelLines("  Labels", tmpl["metadata"]["labels"]);
  if (!tmpl["metadata"]["annotations"].empty())
    out += AnnotationLines("  Annotations", tmpl["metadata"]["annotations"]);
  if (!Text(spec["serviceAccountName"]).empty())
    out += "  Service Account:\t" + Text(spec["serviceAccountName"]) + "\n";
  const json::Value none;
  if (!spec["initContainers"].empty())
    out += ContainerLines("Init Containers", spec["initContainers"], none, "  ");
  out += ContainerLines("Containers", spec["containers"], none, "  ") + VolumeLines(spec["volumes"], "  ");
  if (!Text(spec["priorityClassName"]).empty())
    out += "  Priority Class Name:\t" + Text(spec["priorityClassName"]) + "\n";
  return out + LabelLines("  Node-Selectors", spec["nodeSelector"]) +
         TolerationLines("  Tolerations", spec["tolerations"]);
}

std::string PodText(const json::Value& pod) {
  const json::Value &spec = pod["spec"], &status = pod["status"];
  std::string out = HeadLines(pod);
  if (!spec["initContainers"].empty())
    out +=
        ContainerLines("Init Containers", spec["initContainers"], status["initContainerStatuses"], "", &pod);
  out += ContainerLines("Containers", spec["containers"], status["containerStatuses"], "", &pod);
  if (!status["conditions"].empty()) {
    out += "Conditions:\n  Type\tStatus\n";
    for (const json::Value& condition : Items(status["conditions"]))
      out += "  " + Text(condition["type"]) + " \t" + Text(condition["status"]) + " \n";
  }
  out += VolumeLines(spec["volumes"], "");
  if (!Text(status["qosClass"]).empty()) out += "QoS Class:\t" + Text(status["qosClass"]) + "\n";
  return out + LabelLines("Node-Selectors", spec["nodeSelector"]) +
         TolerationLines("Tolerations", spec["tolerations"]);
}

}  // namespace flyball::cli
