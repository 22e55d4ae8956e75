// How a container of a pod gets to run once its image is there: environment, start; or is found running.
#include "node/pod/pod_worker.h"
#include "node/runtime/native_runtime.h"

namespace flyball::node {
namespace {

void AddAllocation(const DeviceAllocation& allocation, ContainerConfig& config) {
  for (const auto& [name, value] : allocation.environment) config.env.emplace_back(name, value);
  for (const DeviceMount& mount : allocation.mounts)
    config.mounts.push_back(
        {.source = mount.host_path, .target = mount.container_path, .read_only = mount.read_only});
  for (const DeviceNode& device : allocation.devices)
    config.devices.push_back({device.host_path, device.container_path, device.permissions});
  config.runtime_annotations = allocation.annotations;
}

bool IsOfJob(const Pod& pod) {
  for (const OwnerReference& owner : pod.metadata.owner_references)
    if (owner.kind == "Job" && owner.controller.value_or(false)) return true;
  return false;
}

}  // namespace

void PodWorker::PrepareEnvironment(ContainerUnit& unit) {
  const Container& spec = SpecOf(unit);
  auto done = [weak = weak_from_this(), context = keep_, &unit, pod = pod_](Result<Variables> variables) {
    context->strand.Post([weak, &unit, pod, variables = std::move(variables)] {
      if (const auto self = weak.lock()) self->Launch(unit, pod, variables);
    });
  };
  Variables inherited = context_.service_variables ? context_.service_variables(*pod_) : Variables();
  if (spec.env.empty() && spec.env_from.empty()) return Launch(unit, pod_, inherited);
  ResolveEnvironment(context_.client, pod_, spec, {pod_ips_, context_.host_ips}, context_.allocatable,
                     std::move(inherited), std::move(done));
}

ContainerConfig PodWorker::ConfigOf(const ContainerUnit& unit, const PodPtr& pod,
                                    const Variables& variables) const {
  const Container& spec = SpecOf(unit);
  ContainerConfig config{.pod_namespace = pod->metadata.namespace_,
                         .pod_name = pod->metadata.name,
                         .pod_uid = pod->metadata.uid,
                         .name = unit.name,
                         .attempt = unit.starts,
                         .image = spec.image,
                         .working_dir = spec.working_dir,
                         .stdin = spec.stdin,
                         .stdin_once = spec.stdin_once,
                         .tty = spec.tty,
                         .env = variables,
                         .annotations = pod->metadata.annotations,
                         .runs_to_completion = (unit.init && !unit.sidecar) || IsOfJob(*pod),
                         .pod = pod,
                         .spec = std::make_shared<const Container>(spec)};
  config.network_namespace = network_namespace_;
  config.pod_ips = pod_ips_;
  config.dns = context_.dns;
  for (const std::string& word : spec.command) config.command.push_back(Expand(word, variables));
  for (const std::string& word : spec.args) config.args.push_back(Expand(word, variables));
  return config;
}

UniqueFunction<void(ContainerExit)> PodWorker::WhenExited(ContainerUnit& unit, int starts) {
  return [weak = weak_from_this(), context = keep_, &unit, starts](const ContainerExit& exit) {
    context->strand.Post([weak, &unit, starts, exit] {
      const auto self = weak.lock();
      if (!self) return;
      if (unit.launching && unit.starts + 1 == starts)
        unit.early_exit = exit;
      else if (unit.starts == starts)
        self->Exited(unit, unit.runtime_id, exit);
    });
  };
}

void PodWorker::Launch(ContainerUnit& unit, const PodPtr& pod, const Result<Variables>& variables) {
  if (state_ != State::kRunning || unit.state != ContainerUnit::State::kStarting) return;
  if (!variables) return CannotStart(unit, "CreateContainerConfigError", variables.error());
  auto config = std::make_shared<const ContainerConfig>(ConfigOf(unit, pod, *variables));
  auto exited = std::make_shared<UniqueFunction<void(ContainerExit)>>(WhenExited(unit, unit.starts + 1));
  unit.launching = true;
  const auto expand = [values = *variables](const std::string& text) { return Expand(text, values); };
  OnRuntime(
      [config, exited, expand, volumes = context_.volumes,
       devices = context_.devices](ContainerRuntime& runtime) -> Result<std::string> {
        if (!volumes || IsHostImage(config->image)) return runtime.Start(*config, std::move(*exited));
        ContainerConfig mounted = *config;
        FLYBALL_ASSIGN(mounted.mounts, volumes->MountsOf(*config->pod, *config->spec, expand));
        if (devices) {
          FLYBALL_ASSIGN(const DeviceAllocation allocation, devices->Prepare(*config->pod, *config->spec));
          AddAllocation(allocation, mounted);
        }
        return runtime.Start(mounted, std::move(*exited));
      },
      [&unit](PodWorker& self, const Result<std::string>& id) { self.Started(unit, id); });
}

void PodWorker::Started(ContainerUnit& unit, const Result<std::string>& id) {
  unit.launching = false;
  if (!id) {
    if (state_ == State::kTerminating) {
      unit.state = ContainerUnit::State::kWaiting;
      return CheckStopped();
    }
    if (state_ != State::kRunning) return;
    if (id.error().HasCause(kStartErrorCause)) return EndedBeforeStart(unit, id.error());
    const bool users = id.error().Is(Reason::kBadRequest);
    return CannotStart(unit, users ? "CreateContainerConfigError" : "RunContainerError", id.error());
  }
  if (unit.ended) unit.previous = std::exchange(unit.ended, std::nullopt);
  if (unit.starts > 0) ++unit.restarts;
  ++unit.starts;
  unit.runtime_id = *id;
  unit.id = std::string(context_.runtime.name()) + "://" + *id;
  unit.state = ContainerUnit::State::kRunning;
  unit.started_at = Now();
  unit.resources = SpecOf(unit).resources;
  unit.image = SpecOf(unit).image;
  unit.started = unit.ready = unit.stopping = false;
  context_.recorder.Normal(TargetOf(unit), "Created", "Created container: " + unit.name);
  context_.recorder.Normal(TargetOf(unit), "Started", "Started container " + unit.name);
  BeginProbes(unit);
  AfterStart(unit);
  if (const auto exit = std::exchange(unit.early_exit, std::nullopt))
    return Exited(unit, unit.runtime_id, *exit);
  // The pod was stopped meanwhile.
  if (state_ == State::kTerminating) return StopRunning();
  const auto grace = pod_->spec.termination_grace_period_seconds.value_or(30);
  if (state_ != State::kRunning)
    StopUnit(unit, std::chrono::seconds(grace), "Stopping container " + unit.name);
  Sync();
}

// Its first process could not be executed: it counts as a start that has ended, as with the kubelet.
void PodWorker::EndedBeforeStart(ContainerUnit& unit, const Error& error) {
  constexpr int kCannotStartCode = 128;
  if (unit.ended) unit.previous = std::exchange(unit.ended, std::nullopt);
  if (unit.starts > 0) ++unit.restarts;
  ++unit.starts;
  unit.started_at = api::Time::From(TimePoint{});  // as upstream: it never ran
  context_.recorder.Warning(TargetOf(unit), "Failed", "Error: " + error.message());
  Exited(unit, {}, {.exit_code = kCannotStartCode, .reason = "StartError", .message = error.message()});
}

void PodWorker::AdoptUnits() {
  if (std::exchange(adopted_, true) || state_ == State::kEnded) return;
  for (const auto& unit : units_) {
    const auto known = context_.runtime.Adopt(pod_->metadata.uid, unit->name, {});
    if (!known) continue;
    const std::string id = std::string(context_.runtime.name()) + "://" + known->id;
    const bool lost = unit->ended && unit->ended->reason == kContainerLost;
    if (unit->ended && unit->ended->container_id == id && !lost) continue;
    if (unit->id != id && unit->ended && !lost) unit->previous = unit->ended;
    unit->ended.reset();
    unit->starts = known->attempt + 1;
    unit->restarts = known->attempt;
    unit->runtime_id = known->id;
    unit->id = id;
    unit->state = ContainerUnit::State::kRunning;
    unit->started_at = api::Time::From(known->started_at);
    unit->resources = SpecOf(*unit).resources;
    context_.runtime.Adopt(pod_->metadata.uid, unit->name, WhenExited(*unit, unit->starts));
    BeginProbes(*unit);
  }
  RefreshVolumes();
}

void PodWorker::CannotStart(ContainerUnit& unit, const std::string& reason, const Error& error) {
  context_.recorder.Warning(TargetOf(unit), "Failed", "Error: " + error.message());
  WaitFor(unit, reason, error.message());
}

void PodWorker::WaitFor(ContainerUnit& unit, const std::string& reason, const std::string& message) {
  unit.state = ContainerUnit::State::kPullWait;
  unit.waiting_reason = reason;
  unit.waiting_message = message;
  Retry(unit, BackoffAfter(++unit.pull_failures));
  WriteStatus();
}

}  // namespace flyball::node
