// AuditPolicy (audit.k8s.io/v1 Policy): what is recorded of which request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "server/auth/authorization.h"

namespace flyball::server {

enum class AuditLevel : std::uint8_t { kNone, kMetadata, kRequest, kRequestResponse };
enum class AuditStage : std::uint8_t { kRequestReceived, kResponseStarted, kResponseComplete, kPanic };
inline constexpr std::uint8_t kAuditStages = 4;

std::string_view AuditLevelName(AuditLevel level);
std::string_view AuditStageName(AuditStage stage);

// A set of stages.
using AuditStages = std::uint8_t;
constexpr AuditStages StageBit(AuditStage stage) {
  return static_cast<AuditStages>(1u << static_cast<unsigned>(stage));
}

// What is to be recorded of one request.
struct AuditDecision {
  AuditLevel level = AuditLevel::kNone;
  AuditStages omitted = 0;
  bool omit_managed_fields = false;

  bool Wants(AuditStage stage) const {
    return level != AuditLevel::kNone && (omitted & StageBit(stage)) == 0;
  }
};

struct AuditResources {
  std::string group;
  std::vector<std::string> resources;  // "pods", "pods/log", "*/status", "pods/*", "*"; empty: all
  std::vector<std::string> names;      // empty: all
};

struct AuditRule {
  AuditDecision decision;
  std::vector<std::string> users, groups, verbs, namespaces, non_resource_urls;
  std::vector<AuditResources> resources;
};

// Records nothing unless it was read from a text. Thread-safe: immutable.
class AuditPolicy {
 public:
  // Checked as kube-apiserver checks it, in its words.
  static Result<AuditPolicy> Parse(std::string_view text);
  static Result<AuditPolicy> Load(const std::string& path);

  // By the first rule that fits; None if none does. `attributes.user` is null if nobody was authenticated.
  AuditDecision Decide(const AuthorizationAttributes& attributes) const;

 private:
  std::vector<AuditRule> rules_;
  AuditDecision otherwise_;
};

}  // namespace flyball::server
