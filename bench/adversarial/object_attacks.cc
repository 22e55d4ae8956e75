// Objects with very many of whatever a kind has.
#include "attack.h"

namespace flyball::bench {
namespace {

// Pieces with a number where the text has '#'.
std::string Many(long count, const std::string& text) {
  return Repeated(
      count,
      [&](long i) {
        std::string out;
        for (const char c : text)
          if (c == '#')
            out += Number(i);
          else
            out += c;
        return out;
      },
      ",");
}

Attack Create(std::string name, std::string target, std::string body) {
  return {std::move(name), MakeRequest("POST", std::move(target), std::move(body))};
}

Attack Map(std::string name, const std::string& metadata, const std::string& more = "") {
  return Create(std::move(name), "/api/v1/namespaces/default/configmaps?dryRun=All",
                R"({"metadata":{"name":"x",)" + metadata + "}" + more + "}");
}

Attack Pod(std::string name, const std::string& spec) {
  return Create(std::move(name), "/api/v1/namespaces/default/pods?dryRun=All",
                R"({"metadata":{"name":"x"},"spec":{)" + spec + "}}");
}

const std::string kContainer = R"("containers":[{"name":"c","image":"i"}])";

}  // namespace

std::vector<Attack> ObjectAttacks() {
  return {
      Map("50,000 bad labels", R"("labels":{)" + Many(50'000, "\"-bad#\":\"-bad#-\"") + "}"),
      Map("100,000 labels", R"("labels":{)" + Many(100'000, "\"l#\":\"v#\"") + "}"),
      Map("100,000 annotations", R"("annotations":{)" + Many(100'000, "\"l#\":\"v#\"") + "}"),
      Map("20,000 ownerReferences",
          R"("ownerReferences":[)" +
              Many(20'000, R"({"apiVersion":"v1","kind":"Pod","name":"p#","uid":"u#"})") + "]"),
      Map("40,000 ownerReferences, all the same",
          R"("ownerReferences":[)" +
              Many(40'000, R"({"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"})") + "]"),
      Map("100,000 finalizers", R"("finalizers":[)" + Many(100'000, "\"example.com/f#\"") + "]"),
      Map("100,000 unknown fields", R"("labels":{})", "," + Many(100'000, "\"unknown#\":1")),
      Map("100,000 duplicate fields", R"("labels":{})", "," + Many(100'000, "\"same\":#")),
      Map("one value of 2.9 MB", R"("labels":{})", R"(,"data":{"k":")" + std::string(2'900'000, 'x') + "\"}"),
      Map("one label of 2.9 MB", R"("labels":{"a":")" + std::string(2'900'000, 'x') + "\"}"),
      Map("a value of 2.9 MB that has to be escaped",
          R"("labels":{"a":")" +
              Repeated(
                  1'400'000, [](long) { return std::string("\\n"); }, "") +
              "\"}"),
      Pod("40,000 containers", R"("containers":[)" + Many(40'000, R"({"name":"c#","image":"i"})") + "]"),
      Pod("40,000 containers, all with one name",
          R"("containers":[)" + Many(40'000, R"({"name":"c","image":"i"})") + "]"),
      Pod("40,000 volumes, all mounted", R"("volumes":[)" + Many(40'000, R"({"name":"v#","emptyDir":{}})") +
                                             R"(],"containers":[{"name":"c","image":"i","volumeMounts":[)" +
                                             Many(35'000, R"({"name":"v#","mountPath":"/m#"})") + "]}]"),
      Pod("80,000 ports", R"("containers":[{"name":"c","image":"i","ports":[)" +
                              Many(60'000, R"({"containerPort":#})") + "]}]"),
      Pod("70,000 host ports", R"("containers":[{"name":"c","image":"i","ports":[)" +
                                   Many(50'000, R"({"hostPort":#,"containerPort":#})") + "]}]"),
      Pod("100,000 tolerations",
          kContainer + R"(,"tolerations":[)" + Many(60'000, R"({"key":"k#","operator":"Exists"})") + "]"),
      Pod("60,000 host aliases",
          kContainer + R"(,"hostAliases":[)" + Many(60'000, R"({"ip":"10.0.0.1","hostnames":["h#"]})") + "]"),
      Pod("60,000 resource names", R"("containers":[{"name":"c","image":"i","resources":{"limits":{)" +
                                       Many(60'000, R"("example.com/r#":"1")") + "}}]"),
      Pod("30,000 affinity terms",
          kContainer +
              R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
              Many(20'000, R"({"topologyKey":"k#","labelSelector":{"matchLabels":{"a":"b"}}})") + "]}}"),
      Pod("100,000 values of a node selector term",
          kContainer +
              R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":[)" +
              Many(150'000, "\"v#\"") + "]}]}]}}}"),
      Pod("30,000 topology spread constraints",
          kContainer + R"(,"topologySpreadConstraints":[)" +
              Many(
                  15'000,
                  R"({"maxSkew":1,"topologyKey":"k#","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"b"}}})") +
              "]"),
      Pod("50,000 imagePullSecrets",
          kContainer + R"(,"imagePullSecrets":[)" + Many(60'000, R"({"name":"s#"})") + "]"),
      Pod("100,000 arguments",
          R"("containers":[{"name":"c","image":"i","args":[)" + Many(200'000, "\"a#\"") + "]}]"),
      Pod("50,000 readiness gates", kContainer + R"(,"readinessGates":[)" +
                                        Many(50'000, R"({"conditionType":"example.com/c#"})") + "]"),
      Pod("40,000 sysctls", kContainer + R"(,"securityContext":{"sysctls":[)" +
                                Many(40'000, R"({"name":"net.x#","value":"1"})") + "]}"),
      Pod("20,000 resource claims", kContainer + R"(,"resourceClaims":[)" +
                                        Many(20'000, R"({"name":"c#","resourceClaimName":"r"})") + "]"),
      Create("Service with 40,000 ports", "/api/v1/namespaces/default/services?dryRun=All",
             R"({"metadata":{"name":"x"},"spec":{"ports":[)" +
                 Many(40'000, R"({"name":"p#","port":#,"targetPort":#})") + "]}}"),
      Create("Deployment whose selector has 60,000 expressions",
             "/apis/apps/v1/namespaces/default/deployments?dryRun=All",
             R"({"metadata":{"name":"x"},"spec":{"selector":{"matchExpressions":[)" +
                 Many(40'000, R"({"key":"k#","operator":"Exists"})") +
                 R"(]},"template":{"metadata":{"labels":{"a":"b"}},"spec":{)" + kContainer + "}}}}"),
      Create("NetworkPolicy with 30,000 peers",
             "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies?dryRun=All",
             R"({"metadata":{"name":"x"},"spec":{"podSelector":{},"ingress":[{"from":[)" +
                 Many(30'000, R"({"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}})") + "]}]}}"),
      Create(
          "Ingress with 25,000 rules", "/apis/networking.k8s.io/v1/namespaces/default/ingresses?dryRun=All",
          R"({"metadata":{"name":"x"},"spec":{"rules":[)" +
              Many(
                  15'000,
                  R"({"host":"h#.example.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}})") +
              "]}}"),
      Create("EndpointSlice with 60,000 endpoints",
             "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?dryRun=All",
             R"({"metadata":{"name":"x"},"addressType":"IPv4","endpoints":[)" +
                 Many(60'000, R"({"addresses":["10.0.0.1"]})") + "]}"),
      Create("Endpoints with 100,000 addresses", "/api/v1/namespaces/default/endpoints?dryRun=All",
             R"({"metadata":{"name":"x"},"subsets":[{"addresses":[)" + Many(100'000, R"({"ip":"10.0.0.1"})") +
                 R"(],"ports":[{"port":1}]}]})"),
      Create("LimitRange with 50,000 limits", "/api/v1/namespaces/default/limitranges?dryRun=All",
             R"({"metadata":{"name":"x"},"spec":{"limits":[)" +
                 Many(40'000, R"({"type":"example.com/t#","max":{"cpu":"1"}})") + "]}}"),
      Create("ResourceQuota with 100,000 resources", "/api/v1/namespaces/default/resourcequotas?dryRun=All",
             R"({"metadata":{"name":"x"},"spec":{"hard":{)" +
                 Many(60'000, R"("requests.example.com/r#":"1")") + "}}}"),
      Create(
          "HorizontalPodAutoscaler with 20,000 metrics",
          "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers?dryRun=All",
          R"({"metadata":{"name":"x"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3,"metrics":[)" +
              Many(
                  15'000,
                  R"({"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}})") +
              "]}}"),
      Create(
          "webhook configuration with 10,000 webhooks",
          "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All",
          R"({"metadata":{"name":"x"},"webhooks":[)" +
              Many(
                  10'000,
                  R"({"name":"w#.example.com","clientConfig":{"url":"https://a.b"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]})") +
              "]}"),
      Create(
          "StatefulSet with 10,000 claim templates",
          "/apis/apps/v1/namespaces/default/statefulsets?dryRun=All",
          R"({"metadata":{"name":"x"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{)" +
              kContainer + R"(}},"volumeClaimTemplates":[)" +
              Many(
                  10'000,
                  R"({"metadata":{"name":"v#"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})") +
              "]}}"),
      Create(
          "PodDisruptionBudget with 150,000 selector values",
          "/apis/policy/v1/namespaces/default/poddisruptionbudgets?dryRun=All",
          R"({"metadata":{"name":"x"},"spec":{"minAvailable":1,"selector":{"matchExpressions":[{"key":"a","operator":"In","values":[)" +
              Many(150'000, "\"v#\"") + "]}]}}}"),
      Create("Node with 100,000 taints", "/api/v1/nodes?dryRun=All",
             R"({"metadata":{"name":"x"},"spec":{"taints":[)" +
                 Many(60'000, R"({"key":"k#","effect":"NoSchedule"})") + "]}}"),
      Create("Node with 60,000 images", "/api/v1/nodes?dryRun=All",
             R"({"metadata":{"name":"x"},"status":{"images":[)" +
                 Many(60'000, R"({"names":["i#"],"sizeBytes":1})") + "]}}"),
      Create("Secret with 100,000 entries", "/api/v1/namespaces/default/secrets?dryRun=All",
             R"({"metadata":{"name":"x"},"stringData":{)" + Many(100'000, "\"k#\":\"v\"") + "}}"),
      Create(
          "FlowSchema with 20,000 rules", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?dryRun=All",
          R"({"metadata":{"name":"x"},"spec":{"priorityLevelConfiguration":{"name":"catch-all"},"rules":[)" +
              Many(
                  10'000,
                  R"({"subjects":[{"kind":"User","user":{"name":"u#"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true}]})") +
              "]}}"),
      Create(
          "Event with a message of 2.9 MB", "/api/v1/namespaces/default/events?dryRun=All",
          R"({"metadata":{"name":"x","namespace":"default"},"involvedObject":{"namespace":"default"},"message":")" +
              std::string(2'900'000, 'm') + "\"}"),
      Create(
          "certificate request of 2.9 MB",
          "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All",
          R"({"metadata":{"name":"x"},"spec":{"signerName":"example.com/s","usages":["client auth"],"request":")" +
              std::string(2'800'000, 'Q') + "\"}}"),
  };
}

}  // namespace flyball::bench
