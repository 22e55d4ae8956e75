// Shared by the commands that create an object from flags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command/command.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct CreateOptions {
  PrintFlags print;
  std::string dry_run, field_manager = "kubectl-create", validate = "strict";
  bool save_config = false;
  bool append_hash = false;  // of a ConfigMap or Secret, to its name
  void AddTo(const Command& command);
  void AddHashFlag(const Command& command);
};

// A patch that the user gives for what is made of flags.
struct OverrideFlags {
  std::string text{}, type = "merge";
  // --overrides and --override-type, which is `otherwise` unless it is given.
  void AddTo(const Command& command, const std::string& otherwise);
  // The object, of a built-in kind, with the patch.
  Result<json::Value> Apply(json::Value object) const;
};

// Creates the object (or only prints it) and prints "<kind>/<name> <verb>".
Status CreateObject(Session& session, const CreateOptions& options, json::Value object,
                    std::string_view verb = "created");

// Each adds subcommands of `create`.
void AddConfigCreators(const Command& create);    // namespace, configmap, secret, serviceaccount, ...
void AddWorkloadCreators(const Command& create);  // deployment, job, cronjob, poddisruptionbudget, ...
void AddNetworkCreators(const Command& create);   // ingress
void AddSecretKinds(const Command& secret);       // tls, docker-registry
void AddExternalName(const Command& service);     // externalname
void AddAccessCreators(const Command& create);    // role, rolebinding, clusterrole, clusterrolebinding, token

// apiVersion, kind, and metadata with kubectl's null creationTimestamp.
json::Value NewObject(std::string_view api_version, std::string_view kind, const std::string& name);
// A container with the words as its `field`: "command" or "args".
json::Value Container(const std::string& name, const std::string& image, const char* field,
                      const std::vector<std::string>& words);
// A Service that has one TCP port for each number.
struct ServicePlan {
  std::string name, type{}, protocol = "TCP", cluster_ip{}, session_affinity{}, load_balancer_ip{},
                            external_ip{};
  json::Value labels{}, selector{};
  std::vector<std::int64_t> ports{};
  std::string target_port{};  // a number or a name; empty: the port itself
};
json::Value NewService(const ServicePlan& plan);
// The one name that the arguments must contain.
Result<std::string> OneName(const Session& session, const std::vector<std::string>& args);
// "a=b,c=d" as an object of strings; values may be numbers (quantities).
Result<json::Object> ParsePairs(const std::string& text);

}  // namespace flyball::cli
