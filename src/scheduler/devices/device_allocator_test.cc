// Which devices claims get.
#include "scheduler/devices/device_allocator.h"

#include <gtest/gtest.h>

#include "json/yaml/yaml.h"

namespace flyball::scheduler {
namespace {

template <typename T>
std::shared_ptr<const T> FromYaml(const std::string& yaml) {
  auto object = std::make_shared<T>();
  const auto value = json::ParseYaml(yaml);
  EXPECT_TRUE(value) << value.error().ToString();
  const Status read = FromJson(*value, object.get());
  EXPECT_TRUE(read) << read.error().ToString();
  return object;
}

class DeviceAllocatorTest : public ::testing::Test {
 protected:
  DeviceAllocatorTest() {
    node_.metadata.name = "n1";
    node_.metadata.labels = {{"zone", "a"}};
    AddClass("gpus", "");
  }
  void AddClass(const std::string& name, const std::string& spec) {
    inventory_.classes[name] = FromYaml<DeviceClass>("metadata: {name: " + name + "}\nspec: {" + spec + "}");
  }
  void AddSlice(const std::string& devices, const std::string& where = "nodeName: n1",
                const std::string& pool = "{name: p, generation: 1, resourceSliceCount: 1}") {
    inventory_.slices.push_back(FromYaml<ResourceSlice>("spec: {driver: d.example.com, pool: " + pool + ", " +
                                                        where + ", devices: [" + devices + "]}"));
  }
  void AddClaim(const std::string& devices) {
    claims_.push_back(FromYaml<ResourceClaimObject>(
        "metadata: {name: c, namespace: default}\nspec: {devices: " + devices + "}"));
  }
  // "r=x r=z | s=z", a part per claim; "none"; or the error.
  std::string Allocated() {
    DeviceAllocator allocator(inventory_, selectors_, random_);
    const auto found = allocator.Allocate(node_, claims_);
    if (!found) return found.error().message();
    if (!*found) return "none";
    results_ = **found;
    std::string text;
    for (const AllocationResult& result : results_) {
      if (&result != &results_[0]) text += " |";
      for (const auto& device : result.devices.results)
        text += (text.empty() ? "" : " ") + device.request + "=" + device.device;
    }
    return text;
  }
  // One request for `count` devices of the class gpus, with more said about it.
  static std::string Request(const std::string& more, int count = 1) {
    return "{requests: [{name: r, exactly: {deviceClassName: gpus, allocationMode: ExactCount, count: " +
           std::to_string(count) + more + "}}]}";
  }

  Node node_;
  DeviceInventory inventory_;
  DeviceSelectors selectors_;
  Random random_{1};
  std::vector<ClaimPtr> claims_;
  std::vector<AllocationResult> results_;
};

constexpr const char* kTwo =
    "{name: x, attributes: {model: {string: a}}}, {name: z, attributes: {model: {string: b}}}";

TEST_F(DeviceAllocatorTest, TakesTheFirstThatIsFree) {
  AddSlice(kTwo);
  AddClaim(Request(""));
  EXPECT_EQ(Allocated(), "r=x");
  EXPECT_EQ(results_[0].node_selector->node_selector_terms.at(0).match_fields.at(0).values,
            std::vector<std::string>{"n1"});
  inventory_.allocated.insert({"d.example.com", "p", "x"});
  EXPECT_EQ(Allocated(), "r=z");
  inventory_.allocated.insert({"d.example.com", "p", "z"});
  EXPECT_EQ(Allocated(), "none");
}

TEST_F(DeviceAllocatorTest, SelectorsOfClassAndRequestBothCount) {
  AddSlice(kTwo);
  AddClass("gpus", "selectors: [{cel: {expression: 'device.driver == \"d.example.com\"'}}]");
  AddClaim(
      Request(", selectors: [{cel: {expression: 'device.attributes[\"d.example.com\"].model == \"b\"'}}]"));
  EXPECT_EQ(Allocated(), "r=z");
  AddClass("gpus", "selectors: [{cel: {expression: 'device.driver == \"other\"'}}]");
  EXPECT_EQ(Allocated(), "none");
}

TEST_F(DeviceAllocatorTest, AnAttributeNobodyHasIsAnErrorUnlessAskedForCarefully) {
  AddSlice(kTwo);
  AddClaim(Request(", selectors: [{cel: {expression: 'device.attributes[\"other\"].model == \"b\"'}}]"));
  EXPECT_EQ(
      Allocated(),
      "claim default/c: selector #0 on device d.example.com/p/x: CEL runtime error: no such key: model");
  claims_.clear();
  AddClaim(Request(", selectors: [{cel: {expression: 'has(device.attributes[\"other\"].model)'}}]"));
  EXPECT_EQ(Allocated(), "none");
}

TEST_F(DeviceAllocatorTest, CapacityAndVersionsCanBeCompared) {
  AddSlice(
      "{name: x, capacity: {memory: {value: 8Gi}}, attributes: {v: {version: 1.2.0}}}, "
      "{name: z, capacity: {memory: {value: 16Gi}}, attributes: {v: {version: 1.10.0}}}");
  AddClaim(Request(
      ", selectors: [{cel: {expression: 'device.capacity[\"d.example.com\"].memory.isGreaterThan("
      "quantity(\"10Gi\")) && device.attributes[\"d.example.com\"].v.isGreaterThan(semver(\"1.9.0\"))'}}]"));
  EXPECT_EQ(Allocated(), "r=z");
}

TEST_F(DeviceAllocatorTest, GoesBackWhenTheFirstChoiceLeavesTooLittle) {
  AddSlice(kTwo);
  AddClaim(Request(""));
  AddClaim(
      Request(", selectors: [{cel: {expression: 'device.attributes[\"d.example.com\"].model == \"a\"'}}]"));
  EXPECT_EQ(Allocated(), "r=z | r=x");
}

TEST_F(DeviceAllocatorTest, ConstraintsHold) {
  AddSlice(
      "{name: u, attributes: {numa: {int: 0}}}, {name: v, attributes: {numa: {int: 1}}}, "
      "{name: w, attributes: {numa: {int: 1}}}, {name: bare}");
  AddClaim(
      "{requests: [{name: r, exactly: {deviceClassName: gpus, allocationMode: ExactCount, count: 2}}], "
      "constraints: [{matchAttribute: d.example.com/numa}]}");
  EXPECT_EQ(Allocated(), "r=v r=w");
  claims_.clear();
  AddClaim(
      "{requests: [{name: r, exactly: {deviceClassName: gpus, allocationMode: ExactCount, count: 2}}], "
      "constraints: [{distinctAttribute: d.example.com/numa, requests: [r]}]}");
  EXPECT_EQ(Allocated(), "r=u r=v");
}

TEST_F(DeviceAllocatorTest, AllMeansAllAndAtLeastOne) {
  AddSlice(kTwo);
  AddClaim("{requests: [{name: r, exactly: {deviceClassName: gpus, allocationMode: All}}]}");
  EXPECT_EQ(Allocated(), "r=x r=z");
  inventory_.allocated.insert({"d.example.com", "p", "z"});
  EXPECT_EQ(Allocated(), "none");
  inventory_.slices.clear();
  EXPECT_EQ(Allocated(), "none");
  AddSlice("{name: x}", "nodeName: n1", "{name: p, generation: 1, resourceSliceCount: 2}");
  EXPECT_EQ(
      Allocated(),
      "claim default/c, request r: asks for all devices, but resource pool d.example.com/p is currently "
      "being updated");
}

TEST_F(DeviceAllocatorTest, AlternativesAreTriedInOrder) {
  AddSlice(kTwo);
  AddClaim(
      "{requests: [{name: r, firstAvailable: ["
      "{name: many, deviceClassName: gpus, allocationMode: ExactCount, count: 3}, "
      "{name: two, deviceClassName: gpus, allocationMode: ExactCount, count: 2}]}]}");
  EXPECT_EQ(Allocated(), "r/two=x r/two=z");
}

TEST_F(DeviceAllocatorTest, TaintsKeepClaimsAway) {
  AddSlice("{name: x, taints: [{key: k, value: v, effect: NoSchedule}]}, {name: z}");
  AddClaim(Request("", 2));
  EXPECT_EQ(Allocated(), "none");
  claims_.clear();
  AddClaim(Request(", tolerations: [{key: k, operator: Equal, value: v, effect: NoSchedule}]", 2));
  EXPECT_EQ(Allocated(), "r=x r=z");
  EXPECT_EQ(results_[0].devices.results[0].tolerations.size(), 1u);
  inventory_.rules.push_back(FromYaml<DeviceTaintRule>(
      "spec: {deviceSelector: {pool: p, device: z}, taint: {key: other, effect: NoExecute}}"));
  EXPECT_EQ(Allocated(), "none");
}

TEST_F(DeviceAllocatorTest, AdminsSeeDevicesInUse) {
  AddSlice(kTwo);
  inventory_.allocated = {{"d.example.com", "p", "x"}, {"d.example.com", "p", "z"}};
  AddClaim(Request(", adminAccess: true", 2));
  EXPECT_EQ(Allocated(), "r=x r=z");
  EXPECT_EQ(results_[0].devices.results[0].admin_access, true);
}

TEST_F(DeviceAllocatorTest, PartitionsDrawFromTheSameCounters) {
  inventory_.slices.push_back(FromYaml<ResourceSlice>(
      "spec: {driver: d.example.com, pool: {name: p, generation: 1, resourceSliceCount: 2}, nodeName: n1, "
      "sharedCounters: [{name: card, counters: {memory: {value: 10Gi}}}]}"));
  AddSlice(
      "{name: big, consumesCounters: [{counterSet: card, counters: {memory: {value: 8Gi}}}]}, "
      "{name: small, consumesCounters: [{counterSet: card, counters: {memory: {value: 4Gi}}}]}, "
      "{name: tiny, consumesCounters: [{counterSet: card, counters: {memory: {value: 2Gi}}}]}",
      "nodeName: n1", "{name: p, generation: 1, resourceSliceCount: 2}");
  AddClaim(Request("", 2));
  EXPECT_EQ(Allocated(), "r=big r=tiny");
  inventory_.allocated.insert({"d.example.com", "p", "small"});
  EXPECT_EQ(Allocated(), "none");
}

TEST_F(DeviceAllocatorTest, SharedDevicesGiveOutTheirCapacity) {
  AddSlice(
      "{name: x, allowMultipleAllocations: true, capacity: {memory: {value: 10Gi, requestPolicy: {default: "
      "1Gi, "
      "validRange: {min: 1Gi, step: 1Gi}}}}}");
  AddClaim(Request(", capacity: {requests: {memory: 5500Mi}}"));
  AddClaim(Request(""));
  EXPECT_EQ(Allocated(), "r=x | r=x");
  EXPECT_EQ(results_[0].devices.results[0].consumed_capacity.at("memory").ToString(), "6Gi");
  EXPECT_EQ(results_[1].devices.results[0].consumed_capacity.at("memory").ToString(), "1Gi");
  EXPECT_TRUE(results_[0].devices.results[0].share_id);
  for (const AllocationResult& result : results_) inventory_.Take(result);
  claims_.pop_back();
  EXPECT_EQ(Allocated(), "none");
}

TEST_F(DeviceAllocatorTest, OnlyTheNewestGenerationCounts) {
  AddSlice("{name: old}");
  AddSlice("{name: fresh}", "nodeName: n1", "{name: p, generation: 2, resourceSliceCount: 1}");
  AddClaim(Request(""));
  EXPECT_EQ(Allocated(), "r=fresh");
}

TEST_F(DeviceAllocatorTest, TheSliceSaysWhichNodesReachIt) {
  AddSlice("{name: x}", "nodeName: other");
  AddClaim(Request(""));
  EXPECT_EQ(Allocated(), "none");
  inventory_.slices.clear();
  AddSlice(
      "{name: x}",
      "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}");
  EXPECT_EQ(Allocated(), "r=x");
  EXPECT_EQ(results_[0].node_selector->node_selector_terms.at(0).match_expressions.at(0).key, "zone");
  inventory_.slices.clear();
  AddSlice("{name: far, nodeName: other}, {name: near, nodeName: n1}", "perDeviceNodeSelection: true");
  EXPECT_EQ(Allocated(), "r=near");
  inventory_.slices.clear();
  AddSlice("{name: x}", "allNodes: true");
  EXPECT_EQ(Allocated(), "r=x");
  EXPECT_FALSE(results_[0].node_selector);
}

TEST_F(DeviceAllocatorTest, SettingsOfClassesAndClaimsComeAlong) {
  AddSlice(kTwo);
  AddClass("gpus", "config: [{opaque: {driver: d.example.com, parameters: {a: 1}}}]");
  AddClaim(
      "{requests: [{name: r, exactly: {deviceClassName: gpus, allocationMode: ExactCount, count: 1}}, "
      "{name: s, exactly: {deviceClassName: gpus, allocationMode: ExactCount, count: 1}}], "
      "config: [{requests: [s], opaque: {driver: d.example.com, parameters: {b: 2}}}]}");
  EXPECT_EQ(Allocated(), "r=x s=z");
  const auto& config = results_[0].devices.config;
  ASSERT_EQ(config.size(), 2u);
  EXPECT_EQ(config[0].source, "FromClass");
  EXPECT_TRUE(config[0].requests.empty());
  EXPECT_EQ(config[1].source, "FromClaim");
  EXPECT_EQ(config[1].requests, std::vector<std::string>{"s"});
}

TEST_F(DeviceAllocatorTest, AHopelessSearchEnds) {
  std::string devices;
  for (int i = 0; i < 60; ++i)
    devices += (i ? ", " : "") + std::string("{name: d") + std::to_string(i) +
               ", attributes: {num: {int: " + std::to_string(i % 2) + "}}}";
  AddSlice(devices);
  AddClaim(
      "{requests: [{name: r, exactly: {deviceClassName: gpus, allocationMode: ExactCount, count: 16}}, "
      "{name: s, "
      "exactly: {deviceClassName: gpus, allocationMode: ExactCount, count: 15}}, {name: t, exactly: "
      "{deviceClassName: gpus, allocationMode: ExactCount, count: 1, selectors: [{cel: {expression: "
      "'false'}}]}}]}");
  EXPECT_EQ(Allocated(), "node n1: timed out trying to allocate devices");
}

}  // namespace
}  // namespace flyball::scheduler
