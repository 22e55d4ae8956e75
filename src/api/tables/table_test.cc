#include "api/tables/table.h"

#include <gtest/gtest.h>

#include <map>

#include "api/testing/recordings.h"
#include "api/values/time.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kNow = ParseTime("2024-05-01T12:00:00Z")->ToTimePoint();

json::Value TableJson(std::string_view text) {
  auto v = json::Parse(text);
  EXPECT_TRUE(v) << text;
  return v ? *v : json::Value();
}

json::Value Table(const KindInfo& kind, const json::Value& object,
                  IncludeObject include = IncludeObject::kNone) {
  return TableJson(TableFormat(kind).SingleTable(object, {.now = kNow, .include_object = include}));
}

// The cells of one object, as JSON text.
std::string Cells(std::string_view group, std::string_view version, std::string_view kind,
                  std::string_view object) {
  const auto* info = FindBuiltinKind(group, version, kind);
  if (info == nullptr) return "no such kind";
  return json::Write(Table(*info, TableJson(object))["rows"].as_array()[0]["cells"]);
}

// Ready, Status and Restarts.
std::string TablePod(std::string_view rest) {
  const auto* info = FindBuiltinKind("", "v1", "Pod");
  const auto table = Table(*info, TableJson(R"({"metadata":{"name":"p"},)" + std::string(rest) + "}"));
  const auto& cells = table["rows"].as_array()[0]["cells"].as_array();
  return std::string(cells[1].as_string()) + ' ' + std::string(cells[2].as_string()) + ' ' +
         std::string(cells[3].as_string());
}

TEST(TableTest, ARevisionSaysWhoseItIs) {
  EXPECT_EQ(
      Cells("apps", "v1", "ControllerRevision",
            R"({"metadata":{"name":"web-1","creationTimestamp":"2024-05-01T11:00:00Z","ownerReferences":[
                  {"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","controller":true}]},"revision":3})"),
      R"(["web-1","statefulset.apps/web",3,"60m"])");
  EXPECT_EQ(Cells("apps", "v1", "ControllerRevision",
                  R"({"metadata":{"name":"x","creationTimestamp":"2024-05-01T11:59:00Z"},"revision":1})"),
            R"(["x","<none>",1,"60s"])");
}

TEST(HumanDuration, AsUpstream) {
  const std::pair<Duration, const char*> cases[] = {
      {seconds(-5), "<invalid>"}, {seconds(-1), "0s"},         {seconds(0), "0s"},
      {seconds(119), "119s"},     {seconds(120), "2m"},        {seconds(200), "3m20s"},
      {minutes(9), "9m"},         {minutes(10), "10m"},        {minutes(179), "179m"},
      {minutes(180), "3h"},       {minutes(200), "3h20m"},     {hours(8), "8h"},
      {hours(47), "47h"},         {hours(48), "2d"},           {hours(51), "2d3h"},
      {hours(24 * 8), "8d"},      {hours(24 * 700), "700d"},   {hours(24 * 730), "2y"},
      {hours(24 * 740), "2y10d"}, {hours(24 * 365 * 8), "8y"}, {hours(24 * 365 * 9 + 999), "9y"},
  };
  for (const auto& [duration, text] : cases) EXPECT_EQ(HumanDuration(duration), text);
}

TEST(Table, EveryBuiltinKindFillsItsColumns) {
  for (const auto& kind : BuiltinKinds()) {
    const auto table = Table(kind, TableJson(R"({"metadata":{"name":"x"}})"));
    const auto& row = table["rows"].as_array()[0];
    // Upstream prints the age of an IPAddress without a column for it.
    const std::size_t extra = kind.kind == "IPAddress" ? 1 : 0;
    EXPECT_EQ(table["columnDefinitions"].size() + extra, row["cells"].size())
        << kind.group << '/' << kind.kind;
    EXPECT_TRUE(row["object"].is_null());
  }
}

TEST(Table, PodStatus) {
  EXPECT_EQ(TablePod(R"("spec":{"containers":[{}]},"status":{"phase":"Pending"})"), "0/1 Pending 0");
  EXPECT_EQ(TablePod(R"("spec":{"containers":[{}]},"status":{"phase":"Failed","reason":"Evicted"})"),
            "0/1 Evicted 0");
  EXPECT_EQ(TablePod(R"("spec":{"containers":[{}]},"status":{"phase":"Pending","conditions":[
      {"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]})"),
            "0/1 SchedulingGated 0");
  EXPECT_EQ(TablePod(R"("spec":{"containers":[{},{}]},"status":{"phase":"Running","containerStatuses":[
      {"ready":true,"state":{"running":{}}},
      {"restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},
       "lastState":{"terminated":{"finishedAt":"2024-05-01T11:55:00Z"}}}]})"),
            "1/2 CrashLoopBackOff 3 (5m ago)");
  EXPECT_EQ(TablePod(R"("spec":{"containers":[{}]},"status":{"phase":"Succeeded","containerStatuses":[
      {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]})"),
            "0/1 Completed 0");
  EXPECT_EQ(TablePod(R"("spec":{"containers":[{}]},"status":{"phase":"Failed","containerStatuses":[
      {"state":{"terminated":{"exitCode":3}}}]})"),
            "0/1 ExitCode:3 0");
  EXPECT_EQ(TablePod(R"("spec":{"containers":[{},{}]},"status":{"phase":"Running","containerStatuses":[
      {"state":{"terminated":{"reason":"Completed"}}},{"ready":true,"state":{"running":{}}}]})"),
            "1/2 NotReady 0");
}

TEST(Table, PodInitContainers) {
  EXPECT_EQ(TablePod(R"("spec":{"initContainers":[{"name":"a"},{"name":"b"}],"containers":[{}]},
      "status":{"phase":"Pending","initContainerStatuses":[
        {"name":"a","state":{"terminated":{"exitCode":0}}},{"name":"b","state":{"running":{}}}]})"),
            "0/1 Init:1/2 0");
  EXPECT_EQ(TablePod(R"("spec":{"initContainers":[{"name":"a"}],"containers":[{}]},
      "status":{"phase":"Pending","initContainerStatuses":[
        {"name":"a","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})"),
            "0/1 Init:CrashLoopBackOff 2");
  EXPECT_EQ(TablePod(R"("spec":{"initContainers":[{"name":"a"}],"containers":[{}]},
      "status":{"phase":"Pending","initContainerStatuses":[
        {"name":"a","state":{"terminated":{"exitCode":1,"signal":9}}}]})"),
            "0/1 Init:Signal:9 0");
  EXPECT_EQ(TablePod(R"("spec":{"initContainers":[{"name":"a","restartPolicy":"Always"}],"containers":[{}]},
      "status":{"phase":"Running","initContainerStatuses":[
        {"name":"a","ready":true,"started":true,"restartCount":1,"state":{"running":{}}}],
      "containerStatuses":[{"ready":true,"state":{"running":{}}}]})"),
            "2/2 Running 1");
}

TEST(Table, PodBeingDeleted) {
  const std::string deleting =
      R"("metadata":{"name":"p","deletionTimestamp":"2024-05-01T12:00:00Z"},"spec":{"containers":[{}]},)";
  const auto status = [&](std::string_view s) {
    const auto table =
        Table(*FindBuiltinKind("", "v1", "Pod"), TableJson('{' + deleting + std::string(s) + '}'));
    return std::string(table["rows"].as_array()[0]["cells"].as_array()[2].as_string());
  };
  EXPECT_EQ(status(R"("status":{"phase":"Running"})"), "Terminating");
  EXPECT_EQ(status(R"("status":{"phase":"Running","reason":"NodeLost"})"), "Unknown");
  EXPECT_EQ(status(R"("status":{"phase":"Succeeded"})"), "Succeeded");
}

TEST(Table, FinishedPodsCarryACondition) {
  const auto table = Table(*FindBuiltinKind("", "v1", "Pod"),
                           TableJson(R"({"metadata":{"name":"p"},"status":{"phase":"Succeeded"}})"));
  EXPECT_EQ(table["rows"].as_array()[0]["conditions"].as_array()[0]["reason"], json::Value("Succeeded"));
}

TEST(Table, Services) {
  EXPECT_EQ(
      Cells("", "v1", "Service", R"({"metadata":{"name":"s","creationTimestamp":"2024-05-01T11:00:00Z"},
      "spec":{"type":"LoadBalancer","clusterIPs":["10.0.0.1"],"externalIPs":["9.9.9.9"],
              "ports":[{"port":80,"protocol":"TCP","nodePort":30080},{"port":53,"protocol":"UDP"}]},
      "status":{"loadBalancer":{"ingress":[{"ip":"1.1.1.1"},{"hostname":"a.example"}]}}})"),
      R"(["s","LoadBalancer","10.0.0.1","1.1.1.1,a.example,9.9.9.9","80:30080/TCP,53/UDP","60m","<none>"])");
  EXPECT_EQ(Cells("", "v1", "Service", R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer"}})"),
            R"(["s","LoadBalancer","<none>","<pending>","<none>","<unknown>","<none>"])");
  EXPECT_EQ(Cells("", "v1", "Service", R"({"metadata":{"name":"s"},"spec":{"type":"ExternalName",
      "externalName":"x.example"}})"),
            R"(["s","ExternalName","<none>","x.example","<none>","<unknown>","<none>"])");
}

TEST(Table, EndpointsAreCutAfterThree) {
  EXPECT_EQ(Cells("", "v1", "Endpoints", R"({"metadata":{"name":"e"},"subsets":[
      {"addresses":[{"ip":"1.1.1.1"},{"ip":"::1"}],"ports":[{"port":80},{"port":443}]}]})"),
            R"(["e","1.1.1.1:80,[::1]:80,1.1.1.1:443 + 1 more...","<unknown>"])");
  EXPECT_EQ(Cells("", "v1", "Endpoints", R"({"metadata":{"name":"e"}})"), R"(["e","<none>","<unknown>"])");
}

TEST(Table, Jobs) {
  EXPECT_EQ(
      Cells("batch", "v1", "Job", R"({"metadata":{"name":"j","creationTimestamp":"2024-05-01T11:59:00Z"},
      "spec":{"completions":3,"selector":{"matchLabels":{"a":"b"}},
              "template":{"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"k"}]}}},
      "status":{"succeeded":3,"startTime":"2024-05-01T11:59:00Z","completionTime":"2024-05-01T11:59:09Z",
                "conditions":[{"type":"Complete","status":"True"}]}})"),
      R"(["j","Complete","3/3","9s","60s","c,d","i,k","a=b"])");
}

TEST(Table, Events) {
  EXPECT_EQ(
      Cells("", "v1", "Event", R"({"metadata":{"name":"e"},"type":"Normal","reason":"R","message":" hi\n",
      "involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec"},"source":{"component":"c","host":"h"},
      "firstTimestamp":"2024-05-01T11:00:00Z","lastTimestamp":"2024-05-01T11:59:00Z","count":4})"),
      R"(["60s","Normal","R","pod/p","spec","c, h","hi","60m",4,"e"])");
  EXPECT_EQ(Cells("events.k8s.io", "v1", "Event", R"({"metadata":{"name":"e"},"type":"Normal","reason":"R",
      "note":"hi","regarding":{"kind":"Pod","name":"p"},"reportingController":"c","eventTime":
      "2024-05-01T11:59:50.000000Z"})"),
            R"(["10s","Normal","R","pod/p","","c","hi","10s",1,"e"])");
}

TEST(Table, AutoscalerMetrics) {
  EXPECT_EQ(Cells("autoscaling", "v2", "HorizontalPodAutoscaler", R"({"metadata":{"name":"h"},
      "spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":5,"metrics":[
        {"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":50}}},
        {"type":"Pods","pods":{"target":{"averageValue":"100m"}}},{"type":"X"}]},
      "status":{"currentReplicas":2,"currentMetrics":[{"resource":{"current":{"averageUtilization":12}}}]}})"),
            R"(["h","Deployment/d","cpu: 12%/50%, <unknown>/100m + 1 more...","<unset>",5,2,"<unknown>"])");
}

TEST(Table, CustomKinds) {
  static constexpr ColumnInfo kColumns[] = {
      {"Ready", "string", "", "", R"(.status.conditions[?(@.type=="Ready")].status)"},
      {"Size", "integer", "", "", ".spec.size"},
      {"Ratio", "number", "", "", ".spec.ratio"},
      {"On", "boolean", "", "", ".spec.on"},
      {"Hosts", "string", "", "", ".spec.hosts"},
      {"Since", "date", "", "", ".spec.since", 1},
      {"Wrong", "integer", "", "", ".spec.hosts"},
  };
  const KindInfo kind = {.group = "g", .version = "v1", .kind = "K", .columns = kColumns, .custom = true};
  const auto table = Table(kind, TableJson(R"({"metadata":{"name":"n"},
      "spec":{"size":2.0,"ratio":1,"on":true,"hosts":["b","a"],"since":"2024-05-01T11:00:00Z"},
      "status":{"conditions":[{"type":"Ready","status":"True"}]}})"));
  EXPECT_EQ(json::Write(table["rows"].as_array()[0]["cells"]),
            R"(["n","True",2,1,true,"[\"b\",\"a\"]","60m",null])");
  EXPECT_EQ(table["columnDefinitions"].as_array()[6]["priority"], json::Value(1));

  const KindInfo bare = {.group = "g", .version = "v1", .kind = "K", .custom = true};
  EXPECT_EQ(
      json::Write(Table(bare, TableJson(R"({"metadata":{"name":"n"}})"))["rows"].as_array()[0]["cells"]),
      R"(["n",null])");
}

TEST(Table, LaterWatchEventsHaveNoColumns) {
  const auto* kind = FindBuiltinKind("", "v1", "ConfigMap");
  const auto table = TableJson(TableFormat(*kind).SingleTable(
      TableJson(R"({"metadata":{"name":"n","resourceVersion":"7"}})"), {.now = kNow, .with_columns = false}));
  EXPECT_TRUE(table["columnDefinitions"].is_null());
  EXPECT_EQ(table["metadata"], TableJson(R"({"resourceVersion":"7"})"));
  EXPECT_EQ(table["rows"].as_array()[0]["object"],
            TableJson(R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",
                     "metadata":{"name":"n","resourceVersion":"7"}})"));
}

// Finds the kind a recorded path is about.
const KindInfo* KindOfPath(std::string_view path) {
  path = path.substr(0, path.find('?'));
  std::string group, version, rest;
  std::vector<std::string> parts;
  for (std::size_t i = 1; i <= path.size();) {
    const auto slash = std::min(path.find('/', i), path.size());
    parts.emplace_back(path.substr(i, slash - i));
    i = slash + 1;
  }
  std::size_t at = 1;
  if (parts[0] == "apis") group = parts[at++];
  version = parts[at++];
  if (at + 2 < parts.size() && parts[at] == "namespaces") at += 2;
  for (const auto& kind : BuiltinKinds())
    if (kind.group == group && kind.version == version && kind.plural == parts[at]) return &kind;
  return nullptr;
}

// Recordings hold placeholders for what differs from run to run.
bool SameCell(const json::Value& want, const json::Value& got) {
  if (want.string_or("").find("<uid>") != std::string_view::npos) return got.is_string();
  return want == got || want == json::Value("<age>") || want == json::Value("<time>");
}

// The columns and cells of every Table in a recording, from the objects its other answers show.
void CheckRecordedTables(const json::Value& scenarios) {
  int compared = 0;
  for (const auto& scenario : scenarios.as_array()) {
    std::map<std::string, json::Value> objects;
    for (const auto& step : scenario["steps"].as_array()) {
      const auto& body = step["expect"]["body"];
      const auto* kind = KindOfPath(step["path"].as_string());
      if (kind == nullptr) continue;
      const std::string prefix =
          std::string(kind->group) + '/' + std::string(kind->version) + '/' + std::string(kind->kind) + '/';
      if (body["kind"].string_or("") == kind->kind)
        objects[prefix + std::string(body["metadata"]["name"].string_or(""))] = body;
      if (body["kind"].string_or("") != "Table") continue;
      for (const auto& row : body["rows"].as_array()) {
        if (!row["object"].is_object()) continue;
        const auto it = objects.find(prefix + std::string(row["object"]["metadata"]["name"].string_or("")));
        if (it == objects.end()) continue;
        const auto table = Table(*kind, it->second);
        const auto& want_columns = body["columnDefinitions"].as_array();
        const auto& columns = table["columnDefinitions"].as_array();
        ASSERT_EQ(want_columns.size(), columns.size()) << prefix;
        for (std::size_t i = 0; i < columns.size(); ++i)
          for (const char* member : {"name", "type", "format", "priority"})
            EXPECT_EQ(want_columns[i][member], columns[i][member]) << prefix << i;
        const auto& got = table["rows"].as_array()[0]["cells"].as_array();
        const auto& want = row["cells"].as_array();
        ASSERT_EQ(want.size(), got.size()) << prefix;
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(SameCell(want[i], got[i]))
              << prefix << " want " << json::Write(want[i]) << " got " << json::Write(got[i]);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 0);
}

TEST(Table, AsRecordedForEveryKind) {
  const json::Value recording = ReadRecording("cases/1-kinds");
  CheckRecordedTables(recording);
}

}  // namespace
}  // namespace flyball::api
