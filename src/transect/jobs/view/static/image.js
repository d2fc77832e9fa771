// One image in a dialog: the picture at its own size, the answers, and every column of its tables.

import { answersTable, ask, at, change, complain, element, picture, state, table } from "./page.js";

let turn = 0;

/** step(by): shows the image before or after in the selection; canStep(): whether there is one, a list. */
export function begin(step, canStep) {
  const dialog = at("image");
  dialog.addEventListener("close", () => change(now => { now.delete("open"); now.delete("openrun"); }));
  dialog.addEventListener("keydown", event => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !canStep() || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    step(by);
  });
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
  Object.assign(begin, { step, canStep });
}

/** Show the image that the address names, or none. */
export async function show() {
  const dialog = at("image");
  const [id, run] = [state().get("open"), state().get("openrun")];
  const mine = turn += 1;
  if (!id) { if (dialog.open) dialog.close(); return; }
  let one;
  try { one = await ask(`/api/image?${new URLSearchParams({ run, id })}`); }
  catch (error) { if (mine === turn) { complain(error.message); dialog.close(); } return; }
  if (mine !== turn) return;
  const subject = () => change(now => { now.delete("open"); now.delete("openrun"); now.set("view", "subject"); now.set("of", one.run); now.set("who", one.subject); now.delete("at"); }, { push: true });
  const button = (text, act, more = {}) => element("button", { type: "button", onclick: act, ...more }, text);
  const had = dialog.contains(document.activeElement) ? document.activeElement.id : "";
  dialog.replaceChildren(
    element("div", { className: "row head" },
      element("h2", { id: "image-name" }, one.caption),
      button("Close", () => dialog.close(), { id: "image-close" })),
    element("div", { className: "row" },
      ...(begin.canStep() ? [button("Before", () => begin.step(-1), { id: "image-before" }), button("After", () => begin.step(1), { id: "image-after" })] : []),
      button("This subject", subject, { id: "image-subject" })),
    element("div", { className: "stage" },
      element("figure", {}, element("img", { src: picture(one), alt: `Image ${one.name}`, id: "image-big", onerror: () => broken(one) }), element("figcaption", {}, `${one.run}: ${one.name}`)),
      element("div", { className: "beside" }, answersTable(one.answers))),
    ...one.tables.map(each => element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `Columns: ${each.name}` },
      table(`All columns: ${each.name}`, ["column", "value"], each.columns.map(column => [column.name, column.value])))));
  if (!dialog.open) dialog.showModal();
  (had && at(had) || at("image-close")).focus();
  document.documentElement.dataset.open = one.id;
}

/** Say why a picture cannot be shown: in the server's words, which an <img> does not give. */
async function broken(one) {
  const reply = await fetch(picture(one));
  if (!reply.ok) at("image-big").replaceWith(element("p", { className: "notice bad" }, (await reply.json().catch(() => ({}))).detail || "The picture cannot be read."));
}
