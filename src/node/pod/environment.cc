#include "node/pod/environment.h"

#include <atomic>
#include <optional>
#include <set>

#include "base/run/mutex.h"
#include "net/tls/pki.h"

namespace flyball::node {
namespace {

// ConfigMaps and Secrets by kind and name; absent ones are not there.
struct Sources {
  Mutex mu;
  std::map<std::string, std::map<std::string, std::string>> data FLYBALL_GUARDED_BY(mu);
  std::optional<Error> failure FLYBALL_GUARDED_BY(mu);
};

std::string SourceKey(bool secret, const std::string& name) {
  return (secret ? "secret/" : "configmap/") + name;
}

std::set<std::pair<bool, std::string>> NamesIn(const Container& container) {
  std::set<std::pair<bool, std::string>> names;
  for (const EnvFromSource& source : container.env_from) {
    if (source.config_map_ref) names.emplace(false, source.config_map_ref->name);
    if (source.secret_ref) names.emplace(true, source.secret_ref->name);
  }
  for (const EnvVar& variable : container.env) {
    if (!variable.value_from) continue;
    if (const auto& ref = variable.value_from->config_map_key_ref) names.emplace(false, ref->name);
    if (const auto& ref = variable.value_from->secret_key_ref) names.emplace(true, ref->name);
  }
  return names;
}

void Keep(Sources& sources, bool secret, const std::string& name, const Result<json::Value>& object) {
  MutexLock lock(sources.mu);
  if (!object) {
    if (!object.error().Is(Reason::kNotFound)) sources.failure = object.error();
    return;
  }
  auto& data = sources.data[SourceKey(secret, name)];
  const json::Value* members = object->Find("data");
  if (!members || !members->is_object()) return;
  for (const auto& [key, value] : members->as_object()) {
    std::string text(value.string_or(""));
    if (secret)
      if (auto decoded = net::Base64Decode(text)) text = std::move(*decoded);
    data[key] = std::move(text);
  }
}

class Resolver {
 public:
  Resolver(const Pod& pod, const Container& container, const PodAddresses& addresses,
           const NodeAllocatable& allocatable, Sources& sources, Variables inherited)
      : pod_(pod),
        container_(container),
        addresses_(addresses),
        allocatable_(allocatable),
        sources_(sources),
        variables_(std::move(inherited)) {}

  Result<Variables> Run() {
    MutexLock lock(sources_.mu);
    if (sources_.failure) return Unexpected(*sources_.failure);
    for (const EnvFromSource& source : container_.env_from) {
      if (const auto& ref = source.config_map_ref)
        FLYBALL_TRY(AddAll(false, ref->name, ref->optional.value_or(false), source.prefix));
      if (const auto& ref = source.secret_ref)
        FLYBALL_TRY(AddAll(true, ref->name, ref->optional.value_or(false), source.prefix));
    }
    for (const EnvVar& variable : container_.env) FLYBALL_TRY(Add(variable));
    return std::move(variables_);
  }

 private:
  void Set(const std::string& name, std::string value) {
    std::erase_if(variables_, [&](const auto& known) { return known.first == name; });
    variables_.emplace_back(name, std::move(value));
  }
  Status AddAll(bool secret, const std::string& name, bool optional, const std::string& prefix)
      FLYBALL_REQUIRES(sources_.mu) {
    const auto found = sources_.data.find(SourceKey(secret, name));
    if (found == sources_.data.end()) return optional ? Status() : Missing(secret, name);
    for (const auto& [key, value] : found->second) Set(prefix + key, value);
    return {};
  }
  static Status Missing(bool secret, const std::string& name) {
    return Unexpected(Error(Reason::kNotFound,
                            std::string(secret ? "secret" : "configmap") + " \"" + name + "\" not found"));
  }
  Status Add(const EnvVar& variable) FLYBALL_REQUIRES(sources_.mu) {
    if (!variable.value_from) {
      Set(variable.name, Expand(variable.value, variables_));
      return {};
    }
    const EnvVarSource& from = *variable.value_from;
    if (from.field_ref) Set(variable.name, FieldValue(pod_, addresses_, from.field_ref->field_path));
    if (const auto& ref = from.resource_field_ref)
      if (const Container* const container = ContainerOf(pod_, *ref, &container_))
        Set(variable.name, ResourceValue(*container, *ref, allocatable_));
    if (const auto& ref = from.config_map_key_ref)
      return AddKey(variable.name, false, ref->name, ref->key, ref->optional.value_or(false));
    if (const auto& ref = from.secret_key_ref)
      return AddKey(variable.name, true, ref->name, ref->key, ref->optional.value_or(false));
    return {};
  }
  Status AddKey(const std::string& variable, bool secret, const std::string& name, const std::string& key,
                bool optional) FLYBALL_REQUIRES(sources_.mu) {
    const auto found = sources_.data.find(SourceKey(secret, name));
    if (found == sources_.data.end()) return optional ? Status() : Missing(secret, name);
    const auto value = found->second.find(key);
    if (value != found->second.end()) {
      Set(variable, value->second);
      return {};
    }
    if (optional) return {};
    return Unexpected(Error(Reason::kNotFound, "couldn't find key " + key + " in " +
                                                   (secret ? "Secret " : "ConfigMap ") +
                                                   pod_.metadata.namespace_ + "/" + name));
  }

  const Pod& pod_;
  const Container& container_;
  const PodAddresses& addresses_;
  const NodeAllocatable& allocatable_;
  Sources& sources_;
  Variables variables_;
};

}  // namespace

void ResolveEnvironment(const Client& client, std::shared_ptr<const Pod> pod, const Container& container,
                        const PodAddresses& addresses, const NodeAllocatable& allocatable,
                        Variables inherited, std::function<void(Result<Variables>)> done) {
  const auto names = NamesIn(container);
  auto sources = std::make_shared<Sources>();
  // The container is kept by its pod; one more than the names, so that nothing is done before all are asked.
  auto left = std::make_shared<std::atomic<std::size_t>>(names.size() + 1);
  auto finish = [sources, left, pod, &container, addresses, allocatable, inherited = std::move(inherited),
                 done = std::move(done)] {
    if (--*left == 0) done(Resolver(*pod, container, addresses, allocatable, *sources, inherited).Run());
  };
  for (const auto& [secret, name] : names) {
    const DynamicClient of = secret ? client.Of<Secret>() : client.Of<ConfigMap>();
    of.GetAsync(pod->metadata.namespace_, name,
                [sources, finish, secret = secret, name = name](const Result<json::Value>& object) {
                  Keep(*sources, secret, name, object);
                  finish();
                });
  }
  finish();
}

std::string Expand(const std::string& text, const Variables& variables) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += text[++i];
      continue;
    }
    const std::size_t end = text[i + 1] == '(' ? text.find(')', i) : std::string::npos;
    if (end == std::string::npos) {
      out += text[i];
      continue;
    }
    const std::string name = text.substr(i + 2, end - i - 2);
    std::string value = text.substr(i, end - i + 1);
    for (const auto& variable : variables)
      if (variable.first == name) value = variable.second;
    out += value;
    i = end;
  }
  return out;
}

}  // namespace flyball::node
