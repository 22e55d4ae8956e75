// The rows of rules: quotas, budgets, bindings, certificates, admission, flow control, priorities.
#include <algorithm>
#include <chrono>

#include "api/tables/printer.h"
#include "api/tables/table.h"

namespace flyball::api {

namespace {

std::string IntOrStringText(const json::Value& value) {
  if (value.is_int()) return std::to_string(value.as_int());
  return value.is_string() ? std::string(value.as_string()) : "N/A";
}

void PrintPodDisruptionBudget(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(IntOrStringText(object["spec"]["minAvailable"]));
  row.Text(IntOrStringText(object["spec"]["maxUnavailable"]));
  row.Int(object["status"]["disruptionsAllowed"].int_or(0));
  row.Created(object);
}

void PrintResourceQuota(const json::Value& object, RowWriter& row) {
  const auto& status = object["status"];
  std::vector<std::string_view> names;
  if (status["hard"].is_object())
    for (const auto& member : status["hard"].as_object()) names.push_back(member.first);
  std::sort(names.begin(), names.end());
  std::string requests, limits;
  for (const auto name : names) {
    std::string& column = name.starts_with("limits.") ? limits : requests;
    if (!column.empty()) column += ", ";
    column += std::string(name) + ": " + QuantityCell(status["used"][name]) + '/' +
              QuantityCell(status["hard"][name]);
  }
  row.Name(object);
  row.Text(requests);
  row.Text(limits);
  row.Created(object);
}

std::string Subjects(const json::Value& binding, std::string_view kind) {
  std::string out;
  for (const auto& subject : Elements(binding["subjects"])) {
    if (subject["kind"].string_or("") != kind) continue;
    if (!out.empty()) out += ", ";
    if (kind == "ServiceAccount") out += std::string(subject["namespace"].string_or("")) + '/';
    out += subject["name"].string_or("");
  }
  return out;
}

void PrintBinding(const json::Value& object, RowWriter& row) {
  const auto& role = object["roleRef"];
  row.Name(object);
  row.Text(std::string(role["kind"].string_or("")) + '/' + std::string(role["name"].string_or("")));
  row.Created(object);
  row.Text(Subjects(object, "User"));
  row.Text(Subjects(object, "Group"));
  row.Text(Subjects(object, "ServiceAccount"));
}

std::string CsrCondition(const json::Value& status) {
  const auto& conditions = status["conditions"];
  std::string out = FindCondition(conditions, "Denied") != nullptr     ? "Denied"
                    : FindCondition(conditions, "Approved") != nullptr ? "Approved"
                                                                       : "Pending";
  if (FindCondition(conditions, "Failed") != nullptr) out += ",Failed";
  if (!status["certificate"].string_or("").empty()) out += ",Issued";
  return out;
}

void PrintCertificateSigningRequest(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto& seconds = spec["expirationSeconds"];
  row.Name(object);
  row.Created(object);
  row.Text(TextOr(spec["signerName"], kNoneText));
  row.Text(spec["username"].string_or(""));
  row.Text(seconds.is_int() ? HumanDuration(std::chrono::seconds(seconds.as_int())) : std::string(kNoneText));
  row.Text(CsrCondition(object["status"]));
}

void PrintClusterTrustBundle(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(TextOr(object["spec"]["signerName"], kNoneText));
}

// At most one of these conditions is there.
std::string PodCertificateState(const json::Value& status) {
  std::string state = "Pending";
  for (const auto& condition : Elements(status["conditions"])) {
    const auto type = condition["type"].string_or("");
    if (type == "Issued" || type == "Denied" || type == "Failed") state = type;
  }
  return state;
}

void PrintPodCertificateRequest(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  row.Name(object);
  for (const char* field : {"podName", "serviceAccountName", "nodeName", "signerName"})
    row.Text(spec[field].string_or(""));
  row.Text(PodCertificateState(object["status"]));
  row.Text(FormatLabels(spec["unverifiedUserAnnotations"]));
}

void PrintWebhookConfiguration(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Int(static_cast<std::int64_t>(object["webhooks"].size()));
  row.Created(object);
}

void PrintAdmissionPolicy(const json::Value& object, const char* rules, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto& param = spec["paramKind"];
  row.Name(object);
  row.Int(static_cast<std::int64_t>(spec[rules].size()));
  row.Text(param.is_object() ? std::string(param["apiVersion"].string_or("")) + '/' +
                                   std::string(param["kind"].string_or(""))
                             : std::string(kUnsetText));
  row.Created(object);
}

void PrintValidatingAdmissionPolicy(const json::Value& object, RowWriter& row) {
  PrintAdmissionPolicy(object, "validations", row);
}

void PrintMutatingAdmissionPolicy(const json::Value& object, RowWriter& row) {
  PrintAdmissionPolicy(object, "mutations", row);
}

void PrintAdmissionPolicyBinding(const json::Value& object, RowWriter& row) {
  const auto& param = object["spec"]["paramRef"];
  std::string text(kUnsetText);
  if (const auto name = param["name"].string_or(""); !name.empty()) {
    const auto ns = param["namespace"].string_or("");
    text = (ns.empty() ? "*/" : std::string(ns) + '/') + std::string(name);
  } else if (param["selector"].is_object()) {
    text = FormatSelector(param["selector"]);
  }
  row.Name(object);
  row.Text(object["spec"]["policyName"].string_or(""));
  row.Text(text);
  row.Created(object);
}

void PrintFlowSchema(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto* dangling = FindCondition(object["status"]["conditions"], "Dangling");
  row.Name(object);
  row.Text(spec["priorityLevelConfiguration"]["name"].string_or(""));
  row.Int(spec["matchingPrecedence"].int_or(0));
  row.Text(spec["distinguisherMethod"]["type"].string_or(kNoneText));
  row.Created(object);
  row.Text(dangling == nullptr ? "?" : (*dangling)["status"].string_or(""));
}

void NumberOrNone(const json::Value& number, RowWriter& row) {
  if (number.is_int())
    row.Int(number.as_int());
  else
    row.Text(kNoneText);
}

void PrintPriorityLevel(const json::Value& object, RowWriter& row) {
  const auto& limited = object["spec"]["limited"];
  const auto& queuing = limited["limitResponse"]["queuing"];
  row.Name(object);
  row.Text(object["spec"]["type"].string_or(""));
  NumberOrNone(limited["nominalConcurrencyShares"], row);
  NumberOrNone(queuing["queues"], row);
  NumberOrNone(queuing["handSize"], row);
  NumberOrNone(queuing["queueLengthLimit"], row);
  row.Created(object);
}

void PrintPriorityClass(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Int(object["value"].int_or(0));
  row.Bool(object["globalDefault"].bool_or(false));
  row.Created(object);
  row.Text(object["preemptionPolicy"].string_or(""));
}

// The versions that are served, by name; the one that objects are stored in is marked.
std::string ServedVersions(const json::Value& versions) {
  std::vector<std::string> names;
  for (const auto& version : Elements(versions)) {
    if (!version["served"].bool_or(false)) continue;
    names.push_back(std::string(version["name"].string_or("")) +
                    (version["storage"].bool_or(false) ? "(storage)" : ""));
  }
  std::sort(names.begin(), names.end());
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

void PrintDefinition(const json::Value& object, RowWriter& row) {
  const auto &spec = object["spec"], &names = spec["names"];
  const auto* established = FindCondition(object["status"]["conditions"], "Established");
  std::string short_names;
  for (const auto& name : Elements(names["shortNames"]))
    short_names += (short_names.empty() ? "" : ",") + std::string(name.string_or(""));
  row.Name(object);
  row.Text(spec["scope"].string_or(""));
  row.Text(ServedVersions(spec["versions"]));
  row.Text(object["metadata"]["creationTimestamp"].string_or(""));
  row.Text(spec["group"].string_or(""));
  row.Text(names["kind"].string_or(""));
  row.Text(short_names);
  row.Bool(established != nullptr && (*established)["status"].string_or("") == "True");
}

}  // namespace

std::vector<PrinterEntry> PolicyPrinters() {
  return {
      {"policy", "PodDisruptionBudget", PrintPodDisruptionBudget},
      {"apiextensions.k8s.io", "CustomResourceDefinition", PrintDefinition},
      {"", "ResourceQuota", PrintResourceQuota},
      {"rbac.authorization.k8s.io", "RoleBinding", PrintBinding},
      {"rbac.authorization.k8s.io", "ClusterRoleBinding", PrintBinding},
      {"certificates.k8s.io", "CertificateSigningRequest", PrintCertificateSigningRequest},
      {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", PrintWebhookConfiguration},
      {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", PrintWebhookConfiguration},
      {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", PrintValidatingAdmissionPolicy},
      {"admissionregistration.k8s.io", "MutatingAdmissionPolicy", PrintMutatingAdmissionPolicy},
      {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", PrintAdmissionPolicyBinding},
      {"certificates.k8s.io", "ClusterTrustBundle", PrintClusterTrustBundle},
      {"certificates.k8s.io", "PodCertificateRequest", PrintPodCertificateRequest},
      {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", PrintAdmissionPolicyBinding},
      {"flowcontrol.apiserver.k8s.io", "FlowSchema", PrintFlowSchema},
      {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", PrintPriorityLevel},
      {"scheduling.k8s.io", "PriorityClass", PrintPriorityClass},
  };
}

}  // namespace flyball::api
