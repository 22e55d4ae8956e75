//! What programs on kube-rs do with an API server: objects, errors, apply, watches through a restart, a controller.

use std::{io::BufRead, sync::Arc, time::Duration};

use anyhow::{ensure, Context as _, Result};
use futures::StreamExt;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{
        conditions, controller::Action, reflector, wait::await_condition, watcher, Controller, WatchStreamExt,
    },
    Api, Client, Config, CustomResource, CustomResourceExt, ResourceExt,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const NS: &str = "rust";

#[derive(CustomResource, Deserialize, Serialize, Clone, Debug, JsonSchema)]
#[kube(group = "rust.flyball.dev", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
struct GreetingSpec {
    text: String,
}

#[derive(Deserialize, Serialize, Clone, Debug, Default, JsonSchema)]
struct GreetingStatus {
    seen: String,
}

fn ok(what: &str) {
    println!("ok: {what}");
}

async fn eventually<F, Fut>(what: &str, mut holds: F) -> Result<()>
where
    F: FnMut() -> Fut,
    Fut: std::future::Future<Output = bool>,
{
    for _ in 0..600 {
        if holds().await {
            ok(what);
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("never: {what}")
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": value}})).unwrap()
}

async fn objects(client: &Client) -> Result<()> {
    let namespace = serde_json::from_value(json!({"metadata": {"name": NS}}))?;
    Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NS);
    maps.create(&PostParams::default(), &map("crud", "1")).await?;
    let mut read = maps.get("crud").await?;
    ensure!(read.data.as_ref().unwrap()["key"] == "1");
    read.data.as_mut().unwrap().insert("key".into(), "2".into());
    let replaced = maps.replace("crud", &PostParams::default(), &read).await?;
    ensure!(replaced.data.unwrap()["key"] == "2");
    ok("an object is created, read and replaced");
    match maps.replace("crud", &PostParams::default(), &read).await {
        Err(kube::Error::Api(e)) => ensure!(e.code == 409 && e.reason == "Conflict", "{e:?}"),
        other => anyhow::bail!("a conflict was expected: {other:?}"),
    }
    ok("a stale write is a conflict");
    let applied = maps
        .patch("applied", &PatchParams::apply("rust"), &Patch::Apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "b"}})))
        .await?;
    ensure!(applied.managed_fields()[0].manager.as_deref() == Some("rust"));
    ok("an object is applied");
    let list = maps.list(&ListParams::default().limit(1)).await?;
    ensure!(list.items.len() == 1 && list.metadata.continue_.is_some());
    ok("a list comes in pages");
    maps.delete("crud", &DeleteParams::default()).await?;
    ensure!(maps.get_opt("crud").await?.is_none());
    ok("an object is deleted");
    Ok(())
}

async fn reconcile(greeting: Arc<Greeting>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), NS);
    let name = format!("greeting-{}", greeting.name_any());
    let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": greeting.spec.text},
        "metadata": {"name": name, "ownerReferences": [kube::Resource::controller_owner_ref(&*greeting, &())]}});
    maps.patch(&name, &PatchParams::apply("greeter").force(), &Patch::Apply(child)).await?;
    let greetings: Api<Greeting> = Api::namespaced((*client).clone(), NS);
    let status = json!({"status": {"seen": greeting.spec.text}});
    greetings.patch_status(&greeting.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

async fn greet(client: &Client, name: &str, text: &str) -> Result<()> {
    let greetings: Api<Greeting> = Api::namespaced(client.clone(), NS);
    let greeting = Greeting::new(name, GreetingSpec { text: text.into() });
    greetings.create(&PostParams::default(), &greeting).await?;
    let seen = || async {
        let read = greetings.get(name).await;
        read.ok().and_then(|g| g.status).is_some_and(|status| status.seen == text)
    };
    eventually(&format!("the controller writes the status of {name}"), seen).await
}

async fn controller(client: &Client) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = Greeting::crd();
    definitions.create(&PostParams::default(), &definition).await?;
    let name = definition.name_any();
    let established = await_condition(definitions, &name, conditions::is_crd_established());
    tokio::time::timeout(Duration::from_secs(30), established).await.context("never established")??;
    let greetings: Api<Greeting> = Api::namespaced(client.clone(), NS);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NS);
    let running = Controller::new(greetings, watcher::Config::default())
        .owns(maps.clone(), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new(client.clone()))
        .for_each(|_| async {});
    let (store, writer) = reflector::store();
    let following = watcher(maps, watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .for_each(|_| async {});
    let acting = async {
        greet(client, "before", "hello").await?;
        println!("RESTART");
        tokio::task::spawn_blocking(|| std::io::stdin().lock().read_line(&mut String::new())).await??;
        let again = || async { Api::<Namespace>::all(client.clone()).get(NS).await.is_ok() };
        eventually("the server answers again", again).await?;
        greet(client, "after", "hello again").await?;
        let key = reflector::ObjectRef::new("greeting-after").within(NS);
        let followed = || async { store.get(&key).is_some() };
        eventually("a reflector goes on after a restart", followed).await
    };
    tokio::select! {
        () = running => anyhow::bail!("the controller ended"),
        () = following => anyhow::bail!("the watch ended"),
        result = acting => result,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("which kubeconfig?")?;
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    ensure!(client.apiserver_version().await?.minor.starts_with("37"));
    ok("the version is read with the client certificate");
    objects(&client).await?;
    controller(&client).await
}
