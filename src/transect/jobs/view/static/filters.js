// The form on the left: runs, target, answers, attributes, order. Each control reads and writes the address.

import { change, element, state, wordsOf } from "./page.js";

const ANSWERS = [["yes", "yes"], ["no", "no"], ["none", "no answer"]];
const VERDICTS = [["right", "right"], ["wrong", "wrong"], ["unknown", "no stated truth"]];

/** Parameters that filter; what else is in the address says how things are shown. */
export const filtering = parameters => [...parameters].filter(([key]) => ["run", "answer", "verdict", "subject"].includes(key) || /^(where|from|to)\./.test(key));

/** The targets that can be chosen: of the one run that is chosen, else all. */
export function targetsOf(about, parameters) {
  const runs = parameters.getAll("run");
  const own = runs.length === 1 ? about.runs.find(run => run.name === runs[0])?.targets : null;
  const inWords = parameters.get("view") === "transcripts";
  return about.targets.filter(target => (!own || own.includes(target.name)) && (!inWords || target.words));
}

export function draw(form, about) {
  const parameters = state();
  const targets = targetsOf(about, parameters);
  const target = targets.find(one => one.name === parameters.get("target")) || targets[0];
  const set = about.facets.filter(facet => facet.set);
  const other = about.facets.filter(facet => !facet.set);
  const used = name => [...parameters.keys()].some(key => [`where.${name}`, `from.${name}`, `to.${name}`].includes(key));
  const focused = document.activeElement?.id;
  const more = form.querySelector("details")?.open;
  form.replaceChildren(
    element("button", { type: "button", id: "clear", disabled: !filtering(parameters).length, onclick: () => change(now => { for (const [key] of filtering(now)) now.delete(key); }) }, "Clear filters"),
    about.runs.length > 1 ? boxes("run", "Run", about.runs.map(run => [run.name, run.name, run.images])) : "",
    targets.length ? chooser("target", "Target", targets.map(one => [one.name, shortName(one.name, targets) + wrongOf(one)]), target.name) : "",
    target && shortName(target.name, targets) !== target.name ? element("p", { className: "fine whole" }, target.name) : "",
    target ? boxes("answer", "Answer", withCounts(ANSWERS, target).filter(([key]) => key === "none" || target.answer)) : "",
    target?.judged ? boxes("verdict", "Verdict", withCounts(VERDICTS, target)) : "",
    ...set.map(facet => filter(facet)),
    field("subject", "Subject", "text"),
    other.length ? element("details", { open: more || other.some(facet => used(facet.name)) }, element("summary", {}, "Other attributes"), ...other.map(facet => filter(facet))) : "",
    sorting(about, target));
  if (focused) document.getElementById(focused)?.focus();
}

/** The target's name behind its library, where that is its own; the whole name stands below the list. */
function shortName(name, targets) {
  const short = one => one.split(":").pop().replace(/^haarcascade_/, "");
  return targets.filter(one => short(one.name) === short(name)).length > 1 ? name : short(name);
}

/** How many wrong answers a target has, where only such are looked at, so that none of several is overlooked. */
const wrongOf = target => state().getAll("verdict").join() === "wrong" && target.judged ? ` (${target.counts.wrong.toLocaleString("en")} wrong)` : "";

const withCounts = (options, target) => options.map(([key, words]) => [key, words, target.counts[key]]);

function filter(facet) {
  const unit = facet.unit ? `, ${facet.unit}` : "";
  if (facet.levels.length) return boxes(`where.${facet.name}`, facet.words + unit, facet.levels.map(level => [String(level.value), level.label, level.images]));
  return element("fieldset", {}, element("legend", {}, facet.words + unit), element("div", { className: "row" },
    field(`from.${facet.name}`, "from", "number", facet.low), field(`to.${facet.name}`, "to", "number", facet.high)));
}

/** Boxes of which any may be ticked; none is the same as all. */
function boxes(name, words, options) {
  const chosen = state().getAll(name);
  const tick = (value, on) => change(now => { const rest = now.getAll(name).filter(one => one !== value); now.delete(name); for (const one of on ? [...rest, value] : rest) now.append(name, one); });
  return element("fieldset", {}, element("legend", {}, wordsOf(words)), ...options.map(([value, text, count]) => element("label", { className: "box" },
    element("input", { type: "checkbox", id: `filter-${name}=${value}`, name, value, checked: chosen.includes(value), onchange: event => tick(value, event.target.checked) }),
    element("span", {}, text), count === undefined ? null : element("span", { className: "fine" }, count.toLocaleString("en")))));
}

export function chooser(name, words, options, chosen, after = () => {}) {
  return element("label", { className: "field" }, words, element("select", { id: `filter-${name}`, name, onchange: event => change(now => { now.set(name, event.target.value); after(now); }) },
    ...options.map(([value, text]) => element("option", { value, selected: value === chosen }, text))));
}

function field(name, words, type, hint) {
  const shown = hint === undefined ? "" : String(Number(hint.toPrecision(4)));
  return element("label", { className: "field" }, words, element("input", { type, id: `filter-${name}`, name, step: type === "number" ? "any" : undefined, inputMode: type === "text" ? "numeric" : undefined, placeholder: shown, value: state().get(name) || "", onchange: event => change(now => now.set(name, event.target.value.trim())) }));
}

function sorting(about, target) {
  const pairs = state().get("view") === "pairs";
  const measure = target?.score ? "score" : "answer";
  const options = [["order", "as in the run"]];
  if (target) options.push(["score", pairs ? `difference in ${measure}` : measure]);
  if (target) options.push(...about.sorts.map(sort => [sort, `effect of ${wordsOf(sort.slice(7))} on the subject's ${measure}`]));
  if (target?.beside.length) options.push(["disagreement", "disagreement of targets"]);
  const down = state().get("down") === "1";
  return element("fieldset", {}, element("legend", {}, "Order"),
    chooser("sort", "by", options, state().get("sort") || "order"),
    element("label", { className: "box" }, element("input", { type: "checkbox", id: "filter-down", checked: down, onchange: event => change(now => now.set("down", event.target.checked ? "1" : "")) }), element("span", {}, "largest first")));
}
