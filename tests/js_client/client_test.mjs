// The JavaScript client against a server that js_client_test.py runs and, when asked on standard output, restarts.
import assert from 'node:assert/strict';
import readline from 'node:readline';
import * as k8s from '@kubernetes/client-node';

const NS = 'javascript';
const config = new k8s.KubeConfig();
config.loadFromFile(process.argv[2]);
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function until(what, check, seconds = 60) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    if (await check()) return;
    if (Date.now() > deadline) throw new Error('never true: ' + what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function refused(code, reason, call) {
  await assert.rejects(call, (error) => {
    assert.equal(error.code, code);
    const status = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
    assert.equal(status.kind, 'Status');
    assert.equal(status.reason, reason);
    return true;
  });
}

const configMap = (name, data = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NS }, data });
const patchAs = (type) => k8s.setHeaderOptions('Content-Type', type);

async function crud() {
  await core.createNamespace({ body: { metadata: { name: NS } } });
  const made = await core.createNamespacedConfigMap({ namespace: NS, body: configMap('a', { k: '1' }) });
  assert.ok(made.metadata.uid);
  assert.ok(made.metadata.creationTimestamp instanceof Date);
  made.data.k = '2';
  const replaced = await core.replaceNamespacedConfigMap({ name: 'a', namespace: NS, body: made });
  assert.equal(replaced.data.k, '2');
  const listed = await core.listNamespacedConfigMap({ namespace: NS, fieldSelector: 'metadata.name=a' });
  assert.deepEqual(listed.items.map((item) => item.metadata.name), ['a']);
  const containers = [{ name: 'c', image: 'i' }];
  const deployment = {
    metadata: { name: 'd' },
    spec: { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: { containers } } },
  };
  await apps.createNamespacedDeployment({ namespace: NS, body: deployment });
  const scale = await apps.readNamespacedDeploymentScale({ name: 'd', namespace: NS });
  scale.spec.replicas = 4;
  await apps.replaceNamespacedDeploymentScale({ name: 'd', namespace: NS, body: scale });
  assert.equal((await apps.readNamespacedDeployment({ name: 'd', namespace: NS })).spec.replicas, 4);
  const gone = await apps.deleteNamespacedDeployment({ name: 'd', namespace: NS });
  assert.equal(gone.status === 'Success' || gone.kind === 'Deployment', true);
}

async function patches() {
  const patch = (type, body) => core.patchNamespacedConfigMap({ name: 'a', namespace: NS, body }, patchAs(type));
  assert.deepEqual((await patch(k8s.PatchStrategy.MergePatch, { data: { k: null, m: '1' } })).data, { m: '1' });
  assert.deepEqual((await patch(k8s.PatchStrategy.StrategicMergePatch, { data: { s: '1' } })).data, { m: '1', s: '1' });
  assert.deepEqual((await patch(k8s.PatchStrategy.JsonPatch, [{ op: 'remove', path: '/data/m' }])).data, { s: '1' });
}

async function errors() {
  await refused(404, 'NotFound', () => core.readNamespacedPod({ name: 'none', namespace: NS }));
  await refused(409, 'AlreadyExists', () => core.createNamespacedConfigMap({ namespace: NS, body: configMap('a') }));
  await refused(422, 'Invalid', () => core.createNamespacedConfigMap({ namespace: NS, body: configMap('Bad_Name') }));
  const stale = await core.readNamespacedConfigMap({ name: 'a', namespace: NS });
  stale.metadata.resourceVersion = '1';
  await refused(409, 'Conflict', () => core.replaceNamespacedConfigMap({ name: 'a', namespace: NS, body: stale }));
}

async function anyObject() {
  const applied = await objects.patch(
    { ...configMap('applied', { a: '1' }) }, undefined, undefined, 'js', false, k8s.PatchStrategy.ServerSideApply);
  assert.deepEqual(applied.metadata.managedFields.map((m) => [m.manager, m.operation]), [['js', 'Apply']]);
  await refused(409, 'Conflict', () =>
    objects.patch(configMap('applied', { a: '2' }), undefined, undefined, 'other', false, k8s.PatchStrategy.ServerSideApply));
  await objects.patch(configMap('applied', { a: '2' }), undefined, undefined, 'other', true, k8s.PatchStrategy.ServerSideApply);
  assert.equal((await objects.read(configMap('applied'))).data.a, '2');

  const group = 'js.example.com';
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } } };
  await objects.create({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'coats.' + group },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'coats', kind: 'Coat' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  });
  const coat = { apiVersion: group + '/v1', kind: 'Coat', metadata: { name: 'long', namespace: NS }, spec: { size: 5 } };
  await until('the new kind is served', () => objects.create(coat).then(() => true, () => false));
  const custom = config.makeApiClient(k8s.CustomObjectsApi);
  const list = await custom.listNamespacedCustomObject({ group, version: 'v1', namespace: NS, plural: 'coats' });
  assert.deepEqual(list.items.map((item) => item.spec.size), [5]);
  await objects.delete(coat);
}

async function watches() {
  const { metadata } = await core.listNamespacedSecret({ namespace: NS });
  await core.createNamespacedSecret({ namespace: NS, body: { metadata: { name: 'w' } } });
  await core.deleteNamespacedSecret({ name: 'w', namespace: NS });
  const seen = [];
  let ended = false;
  const query = { resourceVersion: metadata.resourceVersion, timeoutSeconds: 3, allowWatchBookmarks: true };
  await new k8s.Watch(config).watch(`/api/v1/namespaces/${NS}/secrets`, query,
    (type, object) => { if (type !== 'BOOKMARK') seen.push(type + ' ' + object.metadata.name); },
    () => { ended = true; });
  await until('the watch ends by itself', () => ended);
  assert.deepEqual(seen, ['ADDED w', 'DELETED w']);
}

// An informer that begins again whenever its stream breaks, as its documentation says.
async function informerSurvivesARestart() {
  const list = () => core.listNamespacedConfigMap({ namespace: NS });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${NS}/configmaps`, list);
  const seen = [];
  let stopped = false;
  for (const verb of [k8s.ADD, k8s.UPDATE, k8s.DELETE]) {
    informer.on(verb, (object) => seen.push(verb + ' ' + object.metadata.name));
  }
  const begin = () => informer.start().catch(() => again());
  const again = () => { if (!stopped) setTimeout(begin, 200); };
  informer.on(k8s.ERROR, again);
  await informer.start();
  await until('it has what is there', () => seen.includes('add applied'));
  await core.createNamespacedConfigMap({ namespace: NS, body: configMap('before') });
  await until('it sees what is new', () => seen.includes('add before'));

  console.log('RESTART');
  assert.equal((await answers.next()).value, 'restarted');
  await until('the server answers again', () => list().then(() => true, () => false));
  await core.createNamespacedConfigMap({ namespace: NS, body: configMap('after') });
  await until('it sees what came after the restart', () => seen.includes('add after'));
  await core.deleteNamespacedConfigMap({ name: 'before', namespace: NS });
  await until('and what went', () => seen.includes('delete before'));
  assert.equal(seen.filter((line) => line === 'add before').length, 1, seen);
  stopped = true;
  await informer.stop();
}

for (const part of [crud, patches, errors, anyObject, watches, informerSurvivesARestart]) {
  await part();
  console.log('ok   ' + part.name);
}
process.exit(0);
