"use strict";
// node measure.js PICTURES COUNT SIZE OUT: 68 landmarks of each picture that shows one face, null for the others, as JSON.
// PICTURES: raw uint8 RGB [COUNT, SIZE, SIZE, 3]. Run in the folder in which `npm ci` installed examples/face_api.
const fs = require("fs");
const path = require("path");

const at = { paths: [process.cwd()] };
const tf = require(require.resolve("@tensorflow/tfjs", at));
const wasm = require(require.resolve("@tensorflow/tfjs-backend-wasm", at));
const faceapi = require(require.resolve("@vladmandic/face-api/dist/face-api.node-wasm.js", at));

const folderOf = (name) => path.dirname(require.resolve(`${name}/package.json`, at));
const LEAST_CONFIDENCE = 0.5;

async function load() {
  wasm.setWasmPaths(path.join(folderOf("@tensorflow/tfjs-backend-wasm"), "dist") + path.sep);
  wasm.setThreadsCount(1);
  await tf.setBackend("wasm");
  await tf.ready();
  const models = path.join(folderOf("@vladmandic/face-api"), "model");
  await faceapi.nets.ssdMobilenetv1.loadFromDisk(models);
  await faceapi.nets.faceLandmark68Net.loadFromDisk(models);
}

async function landmarks(pixels, size) {
  const picture = tf.tensor3d(new Int32Array(pixels), [size, size, 3], "int32");
  const options = new faceapi.SsdMobilenetv1Options({ minConfidence: LEAST_CONFIDENCE });
  const faces = await faceapi.detectAllFaces(picture, options).withFaceLandmarks();
  picture.dispose();
  return faces.length === 1 ? faces[0].landmarks.positions.map((p) => [p.x, p.y]) : null;
}

async function main() {
  const [pictures, count, size, out] = [process.argv[2], +process.argv[3], +process.argv[4], process.argv[5]];
  await load();
  const pixels = fs.readFileSync(pictures);
  const found = [];
  for (let i = 0; i < count; i++) {
    found.push(await landmarks(pixels.subarray(i * size * size * 3, (i + 1) * size * size * 3), size));
  }
  fs.writeFileSync(out, JSON.stringify(found));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
