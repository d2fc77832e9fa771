// What all parts of the page share: its state, which is the address; questions to the server; elements.

export const at = id => document.getElementById(id);

/** An element with attributes (properties where it has them) and children, which are elements or texts. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null));
  return made;
}

/** The address's parameters; every change of them is a change of the page, and the other way round. */
export const state = () => new URLSearchParams(location.search);

const listeners = [];
export const onChange = listener => listeners.push(listener);

/** Change the address by a function of its parameters. push: the browser's Back undoes it. */
export function change(edit, { push = false } = {}) {
  const before = state();
  const after = new URLSearchParams(before);
  edit(after);
  for (const [key, value] of [...after]) if (value === "") after.delete(key);
  if (after.toString() === before.toString()) return;
  const address = after.toString() ? `?${after}` : location.pathname;
  history[push ? "pushState" : "replaceState"](null, "", address);
  announce(before);
}

let last = state();
function announce(before) {
  last = state();
  for (const listener of listeners) listener(last, before);
}
addEventListener("popstate", () => announce(last));

/** The address with some parameters changed, for a link. */
export function addressWith(changes) {
  const after = state();
  for (const [key, value] of Object.entries(changes)) value === null ? after.delete(key) : after.set(key, value);
  return after.toString() ? `?${after}` : "?";
}

/** What the server says, as a value. Throws an Error with its words. */
export async function ask(address, options = {}) {
  const reply = await fetch(address, options).catch(() => { throw new Error("The page is no longer served: start transect view again."); });
  if (reply.ok) return reply.json();
  const said = await reply.json().then(one => one.detail, () => "");
  throw new Error(reply.status === 401 ? "Open the address that transect view printed." : said || `The server answers ${reply.status}.`);
}

/** Show what went wrong, or nothing more with "". */
export function complain(text) {
  const box = at("complaint");
  if (box) box.remove();
  if (text) at("notices").append(element("p", { id: "complaint", className: "notice bad", role: "alert" }, text));
}

/** A number with three digits that count, and no zeros behind them. */
export const brief = number => String(Number(number.toPrecision(3))).replace("-", "−");

/** What a target said, in a few words: whether it is right is a mark and a word, never a color alone. */
export function saidWords(said) {
  if (!said) return "";
  if (!said.asked) return said.reason;
  const score = said.score === null ? "" : said.answer === null ? `score ${brief(said.score)}` : brief(said.score);
  const answer = said.answer === null ? "" : said.answer ? "yes" : "no";
  const words = [answer, score].filter(Boolean).join(" ");
  return words || `no answer: ${said.reason || "none"}`;
}

export const mark = said => !said || !said.asked ? "" : said.answer === null && said.score === null ? "∅" : said.right === null ? "" : said.right ? "✓" : "✗";
const VERDICTS = { "✓": "right", "✗": "wrong", "∅": "no answer" };

/** The mark and the words as one element. */
export function verdict(said) {
  const sign = mark(said);
  const name = VERDICTS[sign];
  return element("span", { className: `said ${name ? name.replace(" ", "-") : ""}` },
    sign ? element("span", { className: "mark", title: name, "aria-hidden": "true" }, sign) : null,
    sign && sign !== "∅" ? element("span", { className: "unseen" }, `${name}: `) : null,
    saidWords(said));
}

export const thumbnail = one => `/thumbnails/${one.row}/${one.digest}`;
export const picture = one => `/pictures/${one.row}/${one.digest}`;
export const wordsOf = name => name.replaceAll("_", " ");

/** A table of two columns or more. head: texts; rows: lists of texts or elements, the first the row's heading. */
export function table(caption, head, rows) {
  return element("table", {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...head.map(text => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map(([first, ...others]) => element("tr", {},
      element("th", { scope: "row" }, first), ...others.map(one => element("td", {}, one))))));
}

/** The answers of all targets about one image. */
export function answersTable(answers) {
  const right = said => said.right === null ? (said.asked && said.answer === null && said.score === null ? "no answer" : "not stated") : said.right ? "right" : "wrong";
  const rows = Object.entries(answers).map(([target, said]) => [target, verdict(said), right(said)]);
  return rows.length ? table("Answers", ["target", "answer, score", "verdict"], rows) : element("p", {}, "No target was asked.");
}
