// A small HTTP server around face-api (https://github.com/vladmandic/face-api), as a stand-in for a commercial one.
//
// POST a PNG to /analyze: {"faces": [{"box": [x0, y0, x1, y1], "score", "age", "female", "expressions": {…}}]}, largest
// face first, or {"faces": []} where none is found. Everything runs on this machine (WebAssembly, no native code); the
// server listens on the loopback address alone and keeps nothing.
"use strict";

const http = require("node:http");
const path = require("node:path");
const { PNG } = require("pngjs");
const tf = require("@tensorflow/tfjs");
const wasm = require("@tensorflow/tfjs-backend-wasm");
const faceapi = require("@vladmandic/face-api/dist/face-api.node-wasm.js");

const LARGEST_BODY = 8 * 1024 * 1024;
const MOST_PIXELS = 1024 * 1024;
const LEAST_CONFIDENCE = Number(process.env.LEAST_CONFIDENCE || 0.5);

async function load() {
  const folder = path.dirname(require.resolve("@tensorflow/tfjs-backend-wasm/package.json"));
  wasm.setWasmPaths(path.join(folder, "dist") + path.sep);
  await tf.setBackend("wasm");
  await tf.ready();
  const models = path.join(path.dirname(require.resolve("@vladmandic/face-api/package.json")), "model");
  const nets = faceapi.nets;
  for (const net of [nets.ssdMobilenetv1, nets.faceLandmark68Net, nets.faceExpressionNet, nets.ageGenderNet]) {
    await net.loadFromDisk(models);
  }
}

// Width and height stand in the header: a small file must not unpack into gigabytes.
function size(png) {
  const signature = "89504e470d0a1a0a";
  if (png.length < 24 || png.subarray(0, 8).toString("hex") !== signature) throw new Refused("expected a PNG");
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  if (width * height > MOST_PIXELS) throw new Refused(`expected at most ${MOST_PIXELS} pixels`);
}

function pixels(png) {
  size(png);
  let image;
  try {
    image = PNG.sync.read(png);
  } catch {
    throw new Refused("expected a sound PNG");
  }
  const rgb = new Int32Array(image.width * image.height * 3);
  for (let i = 0; i < image.width * image.height; i++) {
    for (let c = 0; c < 3; c++) rgb[3 * i + c] = image.data[4 * i + c];
  }
  return tf.tensor3d(rgb, [image.height, image.width, 3], "int32");
}

async function analyze(png) {
  const image = pixels(png);
  try {
    const options = new faceapi.SsdMobilenetv1Options({ minConfidence: LEAST_CONFIDENCE });
    const found = await faceapi.detectAllFaces(image, options).withFaceLandmarks().withFaceExpressions().withAgeAndGender();
    const faces = found.map((face) => {
      const { left, top, right, bottom } = face.detection.box;
      const female = face.gender === "female" ? face.genderProbability : 1 - face.genderProbability;
      return { box: [left, top, right, bottom], score: face.detection.score, age: face.age, female, expressions: { ...face.expressions } };
    });
    faces.sort((a, b) => area(b.box) - area(a.box));
    return { faces };
  } finally {
    image.dispose();
  }
}

function area([left, top, right, bottom]) {
  return (right - left) * (bottom - top);
}

class Refused extends Error {}

async function body(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > LARGEST_BODY) throw new Refused("expected a smaller picture");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function handle(request, response) {
  const reply = (status, content) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(content));
  };
  try {
    if (request.url !== "/analyze" || request.method !== "POST") return reply(404, { error: "expected POST /analyze" });
    return reply(200, await analyze(await body(request)));
  } catch (error) {
    if (error instanceof Refused) return reply(422, { error: error.message });
    console.error(error);
    return reply(500, { error: "internal" });
  }
}

async function main() {
  await load();
  const server = http.createServer(handle);
  // Node hangs up after five idle seconds: a client that was just about to ask would have to ask, and pay, again.
  server.keepAliveTimeout = 120_000;
  server.headersTimeout = 125_000;
  server.listen(Number(process.env.PORT || 8422), "127.0.0.1", () => {
    console.log(`face-api answers on http://127.0.0.1:${server.address().port}/analyze`);
  });
}

main();
