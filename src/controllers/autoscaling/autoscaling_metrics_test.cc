// The autoscaler with metrics: the real API server, and servers behind it for the three metrics APIs.
#include <map>

#include "api/types/autoscaling.h"
#include "base/run/mutex.h"
#include "controllers/autoscaling/metric_reading.h"
#include "controllers/testing/control_plane_test.h"
#include "json/json.h"

namespace flyball::controllers {
namespace {

// Answers by path, without the query. What is not there is answered with 404.
struct MetricPages {
  Mutex mu;
  std::map<std::string, json::Value> pages FLYBALL_GUARDED_BY(mu);
  std::vector<std::string> asked FLYBALL_GUARDED_BY(mu);  // with the query
};

class AutoscalingMetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pages = pages_;
    plane_.server->ServeLocally("kube-system", "metrics",
                                [pages](std::shared_ptr<net::Request> request,
                                        std::shared_ptr<net::ResponseStream> stream) -> Task<void> {
                                  Answer(*pages, *request, *stream);
                                  co_return;
                                });
    Register("v1beta1.metrics.k8s.io", "metrics.k8s.io", "v1beta1");
    plane_.StartControllers();
    plane_.Create(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m, memory: 100Mi}}}]}
)");
    plane_.Settle();
    plane_.Run(1min);
  }

  static void Answer(MetricPages& pages, const net::Request& request, net::ResponseStream& stream) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    MutexLock lock(pages.mu);
    pages.asked.push_back(request.target);
    const auto found = pages.pages.find(path);
    if (found == pages.pages.end())
      return stream.Send(404, {{"content-type", "text/plain"}}, "404 page not found");
    stream.Send(200, {{"content-type", "application/json"}}, json::Write(found->second));
  }

  void SetPage(const std::string& path, json::Value page) {
    MutexLock lock(pages_->mu);
    pages_->pages[path] = std::move(page);
  }
  // The queries of the requests for this path.
  std::vector<std::string> Asked(const std::string& path) {
    MutexLock lock(pages_->mu);
    std::vector<std::string> queries;
    for (const std::string& target : pages_->asked)
      if (target.starts_with(path + "?")) queries.push_back(target.substr(path.size() + 1));
    return queries;
  }

  void Register(const std::string& name, const std::string& group, const std::string& version) {
    SetPage("/apis/" + group + "/" + version, json::Object{{"kind", "APIResourceList"},
                                                           {"groupVersion", group + "/" + version},
                                                           {"resources", json::Array{}}});
    plane_.Create("{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: " + name +
                  "}, spec: {group: " + group + ", version: " + version +
                  ", groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: "
                  "{namespace: kube-system, name: metrics}}}");
    plane_.Run(1s);
  }

  std::string Now() { return api::FormatTime(plane_.executor.clock().Now()); }

  // Each pod uses that much; those without an entry have no metrics.
  void Use(const std::vector<std::string>& cpu, const std::string& memory = "50Mi") {
    json::Array items;
    const auto pods = plane_.List<Pod>("default");
    for (std::size_t i = 0; i < pods.size() && i < cpu.size(); ++i) {
      json::Object usage{{"cpu", cpu[i]}, {"memory", memory}};
      items.push_back(json::Object{
          {"metadata", json::Object{{"name", pods[i].metadata.name}, {"namespace", "default"}}},
          {"timestamp", Now()},
          {"window", "15s"},
          {"containers", json::Array{json::Object{{"name", "c"}, {"usage", std::move(usage)}}}}});
    }
    SetPage("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods",
            json::Object{{"kind", "PodMetricsList"}, {"items", std::move(items)}});
  }
  // The same for each of them.
  void UseEach(const std::string& cpu) {
    Use(std::vector<std::string>(plane_.List<Pod>("default").size(), cpu));
  }

  void Autoscale(const std::string& metrics, const std::string& more = "") {
    plane_.Create(
        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: "
        "default}, "
        "spec: {minReplicas: 1, maxReplicas: 10, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, "
        "name: "
        "web}, metrics: [" +
        metrics + "]" + more + "}}");
    plane_.Run(1s);
  }
  static std::string Cpu(int utilization) {
    return "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: " +
           std::to_string(utilization) + "}}}";
  }
  // The next evaluation, with the pods it makes running.
  void NextSync() {
    plane_.Run(15s);
    plane_.RunPods();
    plane_.Run(100ms);
  }
  HorizontalPodAutoscalerStatus State() { return plane_.Get<HorizontalPodAutoscaler>("default", "h").status; }
  std::string Said(const std::string& type) {
    const auto status = State();
    const auto* condition = FindCondition(status.conditions, type);
    return condition ? condition->status + " " + condition->reason + ": " + condition->message : "";
  }
  int Size() { return plane_.Get<Deployment>("default", "web").spec.replicas.value_or(-1); }

  const std::shared_ptr<MetricPages> pages_ = std::make_shared<MetricPages>();
  testing::ControlPlane plane_;
};

TEST_F(AutoscalingMetricsTest, AsManyPodsAsTheirUseAsksFor) {
  UseEach("150m");
  Autoscale(Cpu(50));
  EXPECT_EQ(Size(), 4) << "twice as many, or four, are the most at once";
  EXPECT_EQ(Said("ScalingActive"),
            "True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu "
            "resource utilization (percentage of request)");
  EXPECT_EQ(Said("ScalingLimited"),
            "True ScaleUpLimit: the desired replica count is increasing faster than the maximum scale rate");
  EXPECT_EQ(Said("AbleToScale"),
            "True SucceededRescale: the HPA controller was able to update the target scale to 4");
  const auto metric = State().current_metrics.at(0);
  EXPECT_EQ(metric.resource->current.average_utilization, 150);
  EXPECT_EQ(metric.resource->current.average_value->ToString(), "150m");
  const auto events = plane_.EventsOf("default", "h");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0],
            "Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) "
            "above target");
  EXPECT_EQ(Asked("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods").at(0), "labelSelector=app%3Dweb");
}

TEST_F(AutoscalingMetricsTest, WithinTheToleranceNothingChanges) {
  UseEach("54m");
  Autoscale(Cpu(50));
  EXPECT_EQ(Size(), 2);
  EXPECT_EQ(Said("AbleToScale"), "True ReadyForNewScale: recommended size matches current size");
  EXPECT_EQ(Said("ScalingLimited"),
            "False DesiredWithinRange: the desired count is within the acceptable range");
}

TEST_F(AutoscalingMetricsTest, FewerPodsOnlyAfterFiveQuietMinutes) {
  UseEach("10m");
  Autoscale(Cpu(50));
  EXPECT_EQ(Size(), 2);
  EXPECT_EQ(Said("AbleToScale"),
            "True ScaleDownStabilized: recent recommendations were higher than current one, applying the "
            "highest recent recommendation");
  for (int i = 0; i < 22; ++i) {
    UseEach("10m");
    NextSync();
  }
  EXPECT_EQ(Size(), 1);
  EXPECT_EQ(plane_.EventsOf("default", "h").back(),
            "Normal SuccessfulRescale New size: 1; reason: All metrics below target");
}

TEST_F(AutoscalingMetricsTest, PodsThatAreNotReadyHoldScalingUpBack) {
  plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: 3}");
  plane_.Run(2s);
  const auto pods = plane_.List<Pod>("default");
  for (const Pod& pod : pods)
    if (pod.status.phase == "Pending") plane_.SetPod(pod, "Running", false);
  Use({"75m", "75m", "75m"});
  Autoscale(Cpu(50));
  // Two ready pods at 150 %, one that is assumed to use nothing: 100 % in all.
  EXPECT_EQ(Size(), 3);
}

TEST_F(AutoscalingMetricsTest, PodsWithoutMetricsAreAssumedToUseEverythingOnTheWayDown) {
  Use({"10m"});
  Autoscale(Cpu(100), ", behavior: {scaleDown: {stabilizationWindowSeconds: 0}}");
  // (10m + 100m) of 200m: 55 %, so that two are needed.
  EXPECT_EQ(Size(), 2);
}

TEST_F(AutoscalingMetricsTest, ARequestThatIsMissingIsSaid) {
  UseEach("10m");
  Autoscale(
      "{type: Resource, resource: {name: ephemeral-storage, target: {type: Utilization, averageUtilization: "
      "50}}}");
  EXPECT_EQ(
      Said("ScalingActive"),
      "False FailedGetResourceMetric: the HPA was unable to compute the replica count: failed to get "
      "ephemeral-storage utilization: did not receive metrics for targeted pods (pods might be unready)");
}

TEST_F(AutoscalingMetricsTest, TheUseOfOneContainerAndRawValues) {
  UseEach("400m");
  Autoscale(
      "{type: ContainerResource, containerResource: {name: cpu, container: c, target: {type: Utilization, "
      "averageUtilization: 200}}}, {type: Resource, resource: {name: memory, target: {type: AverageValue, "
      "averageValue: 50Mi}}}");
  EXPECT_EQ(Size(), 4);
  const auto metrics = State().current_metrics;
  EXPECT_EQ(metrics.at(0).container_resource->current.average_utilization, 400);
  EXPECT_EQ(metrics.at(1).resource->current.average_value->ToString(), "50Mi");
}

TEST_F(AutoscalingMetricsTest, BehaviourLimitsTheRate) {
  UseEach("500m");
  Autoscale(Cpu(50),
            ", behavior: {scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 60}]}, scaleDown: "
            "{selectPolicy: Disabled}}");
  EXPECT_EQ(Size(), 3);
  plane_.RunPods();
  for (int i = 0; i < 3; ++i) {
    UseEach("500m");
    NextSync();
    EXPECT_EQ(Size(), 3) << "one a minute";
  }
  UseEach("500m");
  NextSync();
  EXPECT_EQ(Size(), 4);
  EXPECT_EQ(Said("ScalingLimited"),
            "True ScaleUpLimit: the desired replica count is increasing faster than the maximum scale rate");
}

TEST_F(AutoscalingMetricsTest, ScalingDownByBehaviour) {
  UseEach("10m");
  plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: 8}");
  plane_.Settle();
  plane_.Run(1min);
  UseEach("10m");
  Autoscale(Cpu(50),
            ", behavior: {scaleDown: {stabilizationWindowSeconds: 0, policies: [{type: Percent, value: 50, "
            "periodSeconds: 15}]}}");
  EXPECT_EQ(Size(), 4);
  EXPECT_EQ(
      Said("ScalingLimited"),
      "True ScaleDownLimit: the desired replica count is decreasing faster than the maximum scale rate");
}

TEST_F(AutoscalingMetricsTest, ATighterToleranceIsKept) {
  UseEach("54m");
  Autoscale(Cpu(50), ", behavior: {scaleUp: {tolerance: \"0.05\"}}");
  EXPECT_EQ(Size(), 3);
}

TEST_F(AutoscalingMetricsTest, NumbersFromOutside) {
  SetPage("/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue",
          *json::Parse(R"({"items":[{"value":"30"},{"value":"10"}]})"));
  Register("v1beta1.external.metrics.k8s.io", "external.metrics.k8s.io", "v1beta1");
  Autoscale(
      "{type: External, external: {metric: {name: queue, selector: {matchLabels: {q: a}}}, target: {type: "
      "AverageValue, averageValue: 10}}}");
  EXPECT_EQ(Size(), 4);
  EXPECT_EQ(State().current_metrics.at(0).external->current.average_value->ToString(), "20");
  EXPECT_EQ(plane_.EventsOf("default", "h").at(0),
            "Normal SuccessfulRescale New size: 4; reason: external metric queue(&LabelSelector{MatchLabels:"
            "map[string]string{q: a,},MatchExpressions:[]LabelSelectorRequirement{},}) above target");
  EXPECT_EQ(Asked("/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue").at(0),
            "labelSelector=q%3Da");
}

TEST_F(AutoscalingMetricsTest, NumbersOfPodsAndOfObjects) {
  const std::string base = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/";
  json::Array items;
  for (const Pod& pod : plane_.List<Pod>("default"))
    items.push_back(json::Object{{"describedObject", json::Object{{"name", pod.metadata.name}}},
                                 {"timestamp", Now()},
                                 {"value", "1500m"}});
  SetPage(base + "pods/*/requests", json::Object{{"items", std::move(items)}});
  SetPage(base + "services/front/hits", *json::Parse(R"({"items":[{"value":"40"}]})"));
  Register("v1beta2.custom.metrics.k8s.io", "custom.metrics.k8s.io", "v1beta2");
  Autoscale(
      "{type: Pods, pods: {metric: {name: requests}, target: {type: AverageValue, averageValue: 1}}}, {type: "
      "Object, object: {metric: {name: hits}, describedObject: {apiVersion: v1, kind: Service, name: front}, "
      "target: {type: Value, value: 20}}}");
  EXPECT_EQ(Size(), 4) << "the metric that asks for most";
  EXPECT_EQ(State().current_metrics.at(0).pods->current.average_value->ToString(), "1500m");
  EXPECT_EQ(State().current_metrics.at(1).object->current.value->ToString(), "40");
}

TEST_F(AutoscalingMetricsTest, OneMetricThatFailsKeepsFromScalingDownButNotUp) {
  UseEach("10m");
  Autoscale(Cpu(50) +
            ", {type: External, external: {metric: {name: queue}, target: {type: Value, value: 1}}}");
  EXPECT_EQ(Said("ScalingActive").substr(0, 29), "False FailedGetExternalMetric");
  EXPECT_EQ(Size(), 2);
  UseEach("100m");
  NextSync();
  EXPECT_EQ(Size(), 4);
}

TEST_F(AutoscalingMetricsTest, TwoAutoscalersOfTheSamePodsDoNothing) {
  UseEach("50m");
  Autoscale(Cpu(50));
  plane_.Create(
      "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: second, namespace: "
      "default}, "
      "spec: {maxReplicas: 10, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: "
      "[" +
      Cpu(50) + "]}}");
  NextSync();
  EXPECT_EQ(Said("ScalingActive"),
            "False AmbiguousSelector: pods by selector app=web are controlled by more than one HPA (e.g. "
            "[default/h default/second])");
}

}  // namespace
}  // namespace flyball::controllers
