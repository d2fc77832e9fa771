// One subject's whole transect: a slider for each attribute that was set, the image and the answers, and the grid.

import { addressWith, answersTable, ask, at, change, complain, element, mark, picture, saidWords, state, thumbnail, wordsOf } from "./page.js";

let about = null;
let shown = null;         // what the server said of the subject that is shown
let wanted = 0;           // counts requests, so that a late reply is passed over
const loaded = new Map(); // address -> Image, so that a slider finds its pictures loaded

export function begin(told) { about = told; shown = null; }

export async function show() {
  const parameters = state();
  const run = about.runs.find(one => one.name === (parameters.get("of") || parameters.get("run"))) || about.runs[0];
  const who = parameters.get("who") || run.first;
  if (!shown || shown.run !== run.name || shown.subject !== who) {
    const turn = wanted += 1;
    try {
      const reply = await ask(`/api/subject?${new URLSearchParams({ run: run.name, subject: who })}`);
      if (turn !== wanted) return;
      shown = reply;
      complain("");
    } catch (error) {
      if (turn === wanted) complain(error.message);
      return;
    }
    loaded.clear();
    build();
  }
  place();
}

const sizes = () => shown.axes.map(axis => axis.labels.length);

/** The place on every axis: of the address, else in the middle of nothing: the first cell. */
function places() {
  const given = (state().get("at") || "").split(".").map(Number);
  if (!shown.axes.length) return [Math.min(shown.images.length - 1, Math.max(0, given[0] || 0))];
  return sizes().map((size, axis) => Math.min(size - 1, Math.max(0, given[axis] || 0)));
}

const indexOf = at => shown.axes.length ? at.reduce((index, place, axis) => index * sizes()[axis] + place, 0) : at[0];

function placesOf(index) {
  if (!shown.axes.length) return [index];
  const at = [];
  for (const size of sizes().reverse()) { at.unshift(index % size); index = Math.floor(index / size); }
  return at;
}

function build() {
  const many = about.runs.length > 1;
  const unit = shown.axes.length ? "Subject" : "Person";
  const next = (text, subject) => element("button", { type: "button", disabled: subject === null, onclick: () => change(now => { now.set("of", shown.run); now.set("who", subject); }) }, text);
  const runs = element("select", { onchange: event => change(now => { now.set("of", event.target.value); now.delete("who"); now.delete("at"); }) },
    ...about.runs.map(run => element("option", { value: run.name, selected: run.name === shown.run }, run.name)));
  const number = element("input", { type: "text", inputMode: "numeric", value: shown.subject, size: 12, onchange: event => change(now => { now.set("of", shown.run); now.set("who", event.target.value.trim()); }) });
  at("transect").replaceChildren(
    element("h2", { id: "subject-name" }, `${unit} ${shown.subject}`),
    element("div", { className: "row" },
      many ? element("label", {}, "Run ", runs) : null, element("label", {}, `${unit} `, number),
      next("Previous", shown.before), next("Next", shown.after)),
    element("div", { className: "stage" },
      element("figure", { id: "held" }, element("img", { id: "big", alt: "", width: 512, height: 512 }), element("figcaption", { id: "held-caption" })),
      element("div", { className: "beside" }, ...sliders(), element("div", { id: "held-answers", "aria-live": "polite" }),
        element("p", {}, element("a", { id: "held-link", href: "?" }, "All columns of this image")))),
    grid());
  if (shown.images.length <= 64) for (const one of shown.images) { const image = new Image(); image.src = picture(one); loaded.set(image.src, image); }
}

function sliders() {
  const axes = shown.axes.length ? shown.axes : shown.images.length > 1 ? [{ name: "image", labels: shown.images.map(one => one.name) }] : [];
  return axes.map((axis, number) => {
    const moved = event => change(now => { const places_ = places(); places_[number] = Number(event.target.value); now.set("of", shown.run); now.set("who", shown.subject); now.set("at", places_.join(".")); });
    return element("div", { className: "slider" },
      element("label", { htmlFor: `axis-${number}` }, wordsOf(axis.name)),
      element("input", { type: "range", id: `axis-${number}`, min: 0, max: axis.labels.length - 1, step: 1, disabled: axis.labels.length < 2, oninput: moved }),
      element("output", { htmlFor: `axis-${number}`, id: `level-${number}` }));
  });
}

/** The grid: the first attribute down, all others across. */
function grid() {
  const cell = index => {
    const one = shown.images[index];
    const told = Object.entries(one.answers).map(([target, said]) => `${target}: ${mark(said)} ${saidWords(said)}`).join("; ");
    return element("button", { type: "button", className: "cell", "data-index": index, title: `${one.caption}; ${told}`, "aria-label": `${one.caption}; ${told}`,
      onclick: () => change(now => { now.set("of", shown.run); now.set("who", shown.subject); now.set("at", placesOf(index).join(".")); }) },
      element("img", { src: thumbnail(one), alt: "", loading: "lazy" }),
      element("span", { className: "marks", "aria-hidden": "true" }, ...Object.values(one.answers).map(said => element("span", { className: `mark ${mark(said) === "✗" ? "wrong" : ""}` }, mark(said) || (said.answer === null ? "" : said.answer ? "yes" : "no")))));
  };
  if (!shown.axes.length) return element("div", { className: "cells", role: "group", "aria-label": "All images of this person" }, ...shown.images.map((_, index) => cell(index)));
  const across = shown.images.length / shown.axes[0].labels.length;
  const heading = column => placesOf(column).slice(1).map((place, axis) => `${wordsOf(shown.axes[axis + 1].name)} ${shown.axes[axis + 1].labels[place]}`).join(", ");
  const first = shown.axes[0];
  return element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "All images of this subject" },
    element("table", { className: "transect" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, wordsOf(first.name)), ...Array.from({ length: across }, (_, column) => element("th", { scope: "col" }, heading(column) || "image")))),
      element("tbody", {}, ...first.labels.map((label, row) => element("tr", {}, element("th", { scope: "row" }, label),
        ...Array.from({ length: across }, (_, column) => element("td", {}, cell(row * across + column))))))));
}

/** Show the image at the sliders' places. */
function place() {
  const now = places();
  const one = shown.images[indexOf(now)];
  at("big").src = picture(one);
  at("big").alt = `Image ${one.name}`;
  at("held-caption").textContent = one.caption;
  at("held-answers").replaceChildren(answersTable(one.answers));
  at("held-link").href = addressWith({ open: one.id, openrun: one.run });
  at("held-link").onclick = event => { event.preventDefault(); change(parameters => { parameters.set("open", one.id); parameters.set("openrun", one.run); }, { push: true }); };
  now.forEach((value, number) => {
    const slider = at(`axis-${number}`);
    if (!slider) return;
    const label = shown.axes.length ? shown.axes[number].labels[value] : one.name;
    slider.value = value;
    slider.setAttribute("aria-valuetext", label);
    at(`level-${number}`).textContent = label;
  });
  for (const cell of document.querySelectorAll("button.cell")) cell.setAttribute("aria-pressed", String(Number(cell.dataset.index) === indexOf(now)));
  document.documentElement.dataset.held = one.id;
}
