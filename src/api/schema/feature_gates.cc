#include "api/schema/feature_gates.h"

#include <algorithm>

#include "api/kubernetes_version.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

// The spec that holds in release 1.`minor`; null if the gate did not exist yet.
const GateSpec* SpecAt(const GateInfo& gate, int minor) {
  const GateSpec* at = nullptr;
  for (const GateSpec& spec : gate.specs)
    if (spec.minor <= minor) at = &spec;
  return at;
}

std::size_t NumberOf(std::string_view name) {
  const auto gates = KnownGates();
  const auto found = std::lower_bound(gates.begin(), gates.end(), name,
                                      [](const GateInfo& gate, std::string_view n) { return gate.name < n; });
  return found == gates.end() || found->name != name ? 0
                                                     : static_cast<std::size_t>(found - gates.begin()) + 1;
}

Result<bool> ParseGateValue(std::string_view name, std::string_view value) {
  if (value == "true" || value == "True" || value == "TRUE" || value == "1" || value == "t" || value == "T")
    return true;
  if (value == "false" || value == "False" || value == "FALSE" || value == "0" || value == "f" ||
      value == "F")
    return false;
  return Unexpected(BadRequest("invalid value of " + std::string(name) + "=" + std::string(value) +
                               ", err: strconv.ParseBool: parsing \"" + std::string(value) +
                               "\": invalid syntax"));
}

FeatureGates& MutableProcessGates() {
  static FeatureGates gates(kKubernetesMinor);
  return gates;
}

}  // namespace

FeatureGates::FeatureGates(int minor)
    : minor_(minor), on_(KnownGates().size() + 1), set_(KnownGates().size() + 1) {
  for (std::size_t i = 0; i < KnownGates().size(); ++i) {
    const GateSpec* spec = SpecAt(KnownGates()[i], minor_);
    on_[i + 1] = spec != nullptr && spec->on;
  }
}

void FeatureGates::SetStage(GateStage stage, bool value) {
  for (std::size_t i = 0; i < KnownGates().size(); ++i) {
    const GateInfo& gate = KnownGates()[i];
    const GateSpec* spec = SpecAt(gate, minor_);
    if (spec == nullptr || spec->stage != stage || spec->locked || gate.effect.empty() || set_[i + 1])
      continue;
    on_[i + 1] = value;
  }
}

Status FeatureGates::SetOne(std::string_view name, bool value) {
  const std::size_t number = NumberOf(name);
  const std::string text(name);
  if (number == 0) return Unexpected(BadRequest("unrecognized feature gate: " + text));
  const GateInfo& gate = KnownGates()[number - 1];
  const GateSpec* spec = SpecAt(gate, minor_);
  const std::string assignment = text + "=" + (value ? "true" : "false");
  if (spec == nullptr)
    return Unexpected(BadRequest("cannot set feature gate " + assignment +
                                 ", feature is PreAlpha at emulated version 1." + std::to_string(minor_)));
  if (spec->locked && spec->on != value)
    return Unexpected(BadRequest("cannot set feature gate " + text + " to " + (value ? "true" : "false") +
                                 ", feature is locked to " + (spec->on ? "true" : "false")));
  if (gate.effect.empty() && spec->on != value)
    return Unexpected(BadRequest("cannot set feature gate " + assignment +
                                 ": flyball does not implement this switch; it can only be " +
                                 (spec->on ? "true" : "false")));
  on_[number] = value;
  set_[number] = true;
  return {};
}

Status FeatureGates::Set(std::string_view text) {
  for (const std::string& word : SplitWords(text, ",")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return Unexpected(BadRequest("missing bool value for " + word));
    const std::string_view name = std::string_view(word).substr(0, equals);
    FLYBALL_ASSIGN(const bool value, ParseGateValue(name, std::string_view(word).substr(equals + 1)));
    if (name == "AllAlpha") {
      SetStage(GateStage::kAlpha, value);
    } else if (name == "AllBeta") {
      SetStage(GateStage::kBeta, value);
    } else {
      FLYBALL_TRY(SetOne(name, value));
    }
  }
  return {};
}

bool FeatureGates::Enabled(std::string_view name) const {
  const std::size_t number = NumberOf(name);
  return number != 0 && on_[number];
}

std::vector<std::string> FeatureGates::Changed() const {
  std::vector<std::string> changed;
  for (std::size_t i = 1; i < on_.size(); ++i)
    if (set_[i]) changed.push_back(std::string(KnownGates()[i - 1].name) + (on_[i] ? "=true" : "=false"));
  return changed;
}

void SetProcessGates(FeatureGates gates) {
  MutableProcessGates() = std::move(gates);
}

const FeatureGates& ProcessGates() {
  return MutableProcessGates();
}

}  // namespace flyball::api
