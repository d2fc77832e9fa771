// What a model was asked in words about each image of the selection, and what it said, as a table.

import { ask, at, complain, element, thumbnail } from "./page.js";

const HEAD = ["image", "prompt", "the model said", "what became of it", "read as"];

let asked = "";

/** Show the first images of a selection. opening(line): how a link opens an image; counted(reply): says how many. */
export async function show(question, opening, counted) {
  if (asked === question.toString()) return;
  asked = question.toString();
  const body = element("tbody", { onkeydown: event => move(event) });
  const more = element("button", { type: "button", onclick: () => load() }, "Show more");
  at("transcripts").replaceChildren(element("table", { className: "texts" }, element("thead", {}, element("tr", {}, ...HEAD.map(text => element("th", { scope: "col" }, text)))), body), more);
  let start = 0;
  async function load() {
    const mine = asked;
    const page = new URLSearchParams(question);
    page.set("start", start);
    try {
      const reply = await ask(`/api/transcripts?${page}`);
      if (mine !== asked) return;
      complain("");
      counted(reply);
      at("nothing").hidden = reply.count !== 0;
      start += reply.lines.length;
      more.hidden = start >= reply.count;
      body.append(...reply.lines.flatMap(line => rows(line, opening)));
    } catch (error) { asked = ""; complain(error.message); }
  }
  await load();
}

/** A row for each text about an image, the picture beside the first. */
function rows(line, opening) {
  const picture = element("a", { className: "shown", ...opening(line) }, element("img", { src: thumbnail(line), alt: "", loading: "lazy" }), element("span", { className: "fine" }, `${line.caption}, subject ${line.subject}`));
  const texts = line.texts.length ? line.texts : [{ prompt: "", text: "", status: "not asked", read: "" }];
  return texts.map((one, place) => element("tr", {},
    place ? null : element("th", { scope: "rowgroup", rowSpan: texts.length }, picture),
    ...[one.prompt, one.text, one.status, one.read].map(text => element("td", {}, text))));
}

/** The arrow keys go from image to image. */
function move(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...event.currentTarget.querySelectorAll("a.shown")];
  const next = links[links.indexOf(document.activeElement) + by];
  if (!by || !next) return;
  event.preventDefault();
  next.focus();
}
