// The page as a whole: which view is shown, what fills it, and what stands above it.

import { addressWith, ask, at, brief, change, complain, element, onChange, state, thumbnail, verdict, wordsOf } from "./page.js";
import * as filters from "./filters.js";
import * as image from "./image.js";
import * as subject from "./subject.js";
import { Tiles } from "./tiles.js";
import * as transcripts from "./transcripts.js";

let about = null;

const viewOf = parameters => ["subject", "pairs", "transcripts"].includes(parameters.get("view")) ? parameters.get("view") : "images";

/** The parameters that the server needs: filters, order, and what stands side by side. */
function question(parameters) {
  const asked = new URLSearchParams();
  for (const [key, value] of parameters) if (!["view", "open", "openrun", "of", "who", "at"].includes(key)) asked.append(key, value);
  const targets = filters.targetsOf(about, parameters);
  if (targets.length && !targets.some(one => one.name === asked.get("target"))) asked.set("target", targets[0].name);
  if (viewOf(parameters) === "pairs") for (const [key, value] of Object.entries(sides(parameters))) asked.set(key, value);
  else for (const key of ["by", "left", "right", "beside"]) asked.delete(key);
  return asked;
}

/** What can be compared: runs, and each attribute that was set, with its levels by value. */
function comparable() {
  const found = new Map();
  if (about.runs.length > 1) found.set("run", about.runs.map(run => [run.name, run.name]));
  for (const run of about.runs) for (const [name, levels] of Object.entries(run.levels)) {
    const known = new Map(found.get(name));
    for (const level of levels) known.set(String(level.value), level.label);
    if (known.size > 1) found.set(name, [...known]);
  }
  return found;
}

/** What stands side by side: as the address says, else the first attribute's first and last level. */
function sides(parameters) {
  const found = comparable();
  const by = found.has(parameters.get("by")) ? parameters.get("by") : [...found.keys()].find(key => key !== "run") || [...found.keys()][0];
  const values = (found.get(by) || []).map(([value]) => value);
  const chosen = (name, other) => values.includes(parameters.get(name)) ? parameters.get(name) : other;
  return { by: by || "", left: chosen("left", values[0] || ""), right: chosen("right", values[values.length - 1] || "") };
}

const tiles = new Tiles(at("tiles"), {
  fetchPage: start => { const asked = question(state()); asked.set("start", start); return ask(`/api/${viewOf(state())}?${asked}`); },
  draw: line => line.left ? drawPair(line) : drawTile(line),
  wide: () => viewOf(state()) === "pairs",
  tall: () => !["", "order", "score"].includes(state().get("sort") || ""),
  received: reply => {
    complain(reply.error ? reply.error.message : "");
    at("nothing").hidden = reply.count !== 0;
    document.documentElement.dataset.count = reply.error ? "" : reply.count;
    document.documentElement.dataset.generation = tiles.generation;
    counted(reply.error ? null : reply);
    if (at("whose") && reply.targets) at("whose").textContent = reply.targets[0] === reply.targets[1] ? `Answers of ${reply.targets[0]}` : `Answers of ${reply.targets[0]} on the left, of ${reply.targets[1]} on the right`;
  },
});

function frame(line) {
  const shown = element("img", { alt: "", "data-src": thumbnail(line), draggable: false });
  shown.onerror = () => shown.replaceWith(element("span", { className: "broken" }, "cannot be read"));
  return shown;
}

function opening(line) {
  return { href: addressWith({ open: line.id, openrun: line.run }), onclick: event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    change(now => { now.set("open", line.id); now.set("openrun", line.run); }, { push: true });
  } };
}

function drawTile(line) {
  const number = line.by === null || state().get("sort") === "score" ? null : element("span", { className: "fine" }, `${state().get("sort").startsWith("effect") ? "effect" : "disagreement"} ${brief(line.by)}`);
  return element("a", { className: "tile", ...opening(line) }, element("span", { className: "frame" }, frame(line)),
    element("span", { className: "caption" }, line.caption), element("span", { className: "line" }, line.said ? verdict(line.said) : ""),
    element("span", { className: "fine whose" }, `subject ${line.subject}`), number);
}

function drawPair(line) {
  const { by, left, right } = sides(state());
  const changed = line.difference === null ? "" : `, difference ${brief(line.difference)}`;
  const named = value => by === "run" ? value : `${wordsOf(by)} ${new Map(comparable().get(by)).get(value)}`;
  const side = (one, value) => element("a", { className: "side", ...opening(one) }, element("span", { className: "fine" }, named(value)), element("span", { className: "frame" }, frame(one)), verdict(one.said), element("span", { className: "unseen" }, `, ${one.caption}`));
  return element("div", { className: "tile pair" }, element("span", { className: "two" }, side(line.left, left), side(line.right, right)),
    element("span", { className: "caption" }, line.left.caption), element("span", { className: "fine" }, `subject ${line.left.subject}${changed}`));
}

/** How many of how many, in the header. */
function counted(reply) {
  const words = reply === null ? "" : viewOf(state()) === "pairs"
    ? `${reply.count.toLocaleString("en")} pairs${reply.alone ? `, ${reply.alone.toLocaleString("en")} without partner` : ""}`
    : `${reply.count.toLocaleString("en")} of ${about.images.toLocaleString("en")} images`;
  at("count").textContent = words;
}

function notices() {
  const parts = about.runs.filter(run => run.unfinished).map(run => element("p", { className: "notice" }, `${run.name} is not finished: ${run.unfinished}. `,
    element("button", { type: "button", onclick: lookAgain }, "Look again")));
  if (about.left_out.length) parts.push(element("details", { className: "notice" }, element("summary", {}, about.left_out.length === 1 ? "One other folder is not shown" : `${about.left_out.length} other folders are not shown`),
    ...about.left_out.map(one => element("p", {}, `${one.name}: ${one.reason}`))));
  at("notices").replaceChildren(...parts);
}

async function lookAgain() {
  try { about = await ask("/api/again", { method: "POST" }); start(); }
  catch (error) { complain(error.message); }
}

/** What is compared, above the pairs. */
function controls() {
  const parameters = state();
  const found = comparable();
  const pairs = viewOf(parameters) === "pairs";
  at("controls").hidden = !pairs;
  if (!pairs) return;
  if (!found.size) { at("controls").replaceChildren(element("p", { className: "notice" }, "Nothing was set in this run, and there is no other run to compare it with.")); return; }
  const now = sides(parameters);
  const forget = after => { for (const key of ["left", "right", "beside"]) after.delete(key); };
  const target = question(parameters).get("target");
  const others = [...new Set(about.runs.filter(run => now.by === "run" ? run.name === now.right : run.levels[now.by]).flatMap(run => run.targets))];
  const beside = others.includes(parameters.get("beside")) ? parameters.get("beside") : others.includes(target) ? target : others[0];
  at("controls").replaceChildren(element("div", { className: "row" },
    filters.chooser("by", "Compare", [...found.keys()].map(key => [key, key === "run" ? "two runs" : wordsOf(key)]), now.by, forget),
    filters.chooser("left", "left", found.get(now.by), now.left), filters.chooser("right", "right", found.get(now.by), now.right),
    others.length > 1 ? filters.chooser("beside", "target on the right", others.map(name => [name, name]), beside) : ""),
    element("p", { id: "whose", className: "fine" }));
}

function exports() {
  for (const link of document.querySelectorAll("#export a")) link.href = `/export.${link.dataset.kind}?${question(state())}`;
}

/** Show what the address says. before: the parameters that were shown; null shows everything anew. */
function render(parameters, before) {
  const view = viewOf(parameters);
  at("heading").textContent = { images: "Images", pairs: "Pairs", subject: "One subject", transcripts: "Transcripts" }[view];
  for (const link of at("views").children) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    link.href = addressWith({ view: link.dataset.view === "images" ? null : link.dataset.view, open: null, openrun: null });
  }
  document.body.dataset.view = view;
  at("transcripts").hidden = view !== "transcripts";
  at("tiles").hidden = view === "subject" || view === "transcripts" || (view === "pairs" && !comparable().size);
  at("transect").hidden = view !== "subject";
  at("nothing").hidden = true;
  filters.draw(at("filters"), about);
  controls();
  exports();
  if (view === "subject") { at("count").textContent = ""; subject.show(); }
  else if (view === "transcripts") transcripts.show(question(parameters), opening, counted);
  else if (!before || viewOf(before) !== view || question(before).toString() !== question(parameters).toString()) restart();
  image.show();
}

function restart() {
  scrollTo(0, 0);
  if (!at("tiles").hidden) tiles.restart(); else at("count").textContent = "";
}

/** The image before or after the open one, in the order of the selection. */
async function step(by) {
  const id = state().get("open"), of = state().get("openrun");
  const here = tiles.line(tiles.current);
  if (!here || here.id !== id || here.run !== of) {
    const asked = question(state());
    asked.set("of", of);
    asked.set("id", id);
    const { place } = await ask(`/api/place?${asked}`).catch(() => ({ place: null }));
    if (place === null) return;
    tiles.current = place;
  }
  const next = tiles.current + by;
  if (next < 0 || next >= tiles.count) return;
  const line = await tiles.lineWhenLoaded(next);
  if (!line) return;
  tiles.current = next;
  change(now => { now.set("open", line.id); now.set("openrun", line.run); });
}

function start() {
  at("name").textContent = about.name;
  document.title = about.name;
  at("views").querySelector("[data-view=transcripts]").hidden = !about.targets.some(target => target.words);
  notices();
  subject.begin(about);
  render(state(), null);
}

at("views").addEventListener("click", event => {
  const view = event.target.dataset?.view;
  if (!view || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  change(now => { now.set("view", view === "images" ? "" : view); now.delete("open"); now.delete("openrun"); }, { push: true });
});
at("toggle").addEventListener("click", () => {
  const open = document.body.classList.toggle("filtering");
  at("toggle").setAttribute("aria-expanded", String(open));
});
at("filters").addEventListener("submit", event => event.preventDefault());
document.addEventListener("click", event => { if (!at("export").contains(event.target)) at("export").open = false; });
document.addEventListener("keydown", event => { if (event.key === "Escape") at("export").open = false; });

onChange(render);
image.begin(step, () => viewOf(state()) === "images");
(async () => {
  try { about = await ask("/api/about"); start(); document.documentElement.dataset.ready = "1"; }
  catch (error) { complain(error.message); }
})();
