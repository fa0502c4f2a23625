// Runs graphs of KHR_interactivity in Babylon.js without a screen: node babylon.mjs JOBS OUT
// JOBS: [[path, seconds], ...]; OUT: {path: {variables: [...] by index, said: [lines]}}
import fs from "node:fs";
import * as B from "@babylonjs/core";
import "@babylonjs/loaders/glTF/2.0/index.js";

const RATE = 60;

function plain(value) {
  if (typeof value === "number") return Number.isFinite(value) ? (Object.is(value, -0) ? "-0" : value) : String(value);
  if (value === null || value === undefined || typeof value === "boolean") return value ?? null;
  if (typeof value.value === "number") return plain(value.value); // FlowGraphInteger
  if (value.asArray) return Array.from(value.asArray(), plain);
  if (value.m) return Array.from(value.m, plain);
  return String(value);
}

async function run(path, seconds) {
  const engine = new B.NullEngine({ renderWidth: 64, renderHeight: 64, textureSize: 64 });
  engine.getDeltaTime = () => 1000 / RATE;
  const scene = new B.Scene(engine);
  new B.FreeCamera("camera", new B.Vector3(0, 0, -5), scene);
  const said = [];
  const warn = B.Logger.Warn, error = B.Logger.Error;
  B.Logger.Warn = B.Logger.Error = (line) => said.push(String(line).slice(0, 400));
  const url = "data:;base64," + fs.readFileSync(path).toString("base64");
  await B.AppendSceneAsync(url, scene, { pluginExtension: path.endsWith(".glb") ? ".glb" : ".gltf" });
  await scene.whenReadyAsync(true);
  await new Promise((done) => setTimeout(done, 300)); // the graph's start looks every 100 ms
  for (let frame = 0; frame < seconds * RATE; frame++) {
    scene.render();
    await new Promise((done) => setTimeout(done, 1000 / RATE)); // its delays go by the clock
  }
  B.Logger.Warn = warn;
  B.Logger.Error = error;
  const variables = [];
  for (const coordinator of B.FlowGraphCoordinator.SceneCoordinators.get(scene) ?? []) {
    for (const graph of coordinator.flowGraphs) {
      for (const context of graph._executionContexts) {
        for (const [name, value] of Object.entries(context._userVariables)) {
          variables.push([name, plain(value)]);
        }
      }
    }
  }
  engine.dispose();
  return { variables, said };
}

const [jobs, out] = process.argv.slice(2);
const found = {};
for (const [path, seconds] of JSON.parse(fs.readFileSync(jobs, "utf8"))) {
  try {
    found[path] = await run(path, seconds);
  } catch (error) {
    found[path] = { variables: [], said: [String(error).slice(0, 400)] };
  }
}
fs.writeFileSync(out, JSON.stringify(found));
process.exit(0);
