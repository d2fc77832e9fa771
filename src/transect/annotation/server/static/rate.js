// One picture and one question at a time. An answer is shown as given at once and sent behind the page's back; the
// next picture is there already. Nothing is forgotten: an answer is sent again, under the same key, until it is kept.
"use strict";

const meta = name => document.querySelector(`meta[name="${name}"]`).content;
const at = id => document.getElementById(id);
const csrf = meta("csrf");
const breakEvery = Number(meta("break-every"));
const questions = new Map();
const pictures = new Map();   // address -> a picture that is loaded or on its way
let tasks = [];               // what the rater holds; the first is shown
let unsent = [];              // answers that are not yet kept, in order
let sending = null;           // the promise of the sender, while it works
let progress = { answered: 0, share: 0, paused: false };
let chosen = null;            // the level, while its follow-up is asked
let shownAt = null;
let inARow = 0;
let busy = false;             // while something is taken back

const newKey = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map(byte => byte.toString(16).padStart(2, "0")).join("");
};

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", "x-csrf-token": csrf },
  };
  const reply = await fetch(path, options);
  if (reply.ok) return reply.json();
  const error = new Error(reply.statusText);
  error.status = reply.status;
  error.detail = await reply.json().then(one => typeof one.detail === "string" ? one.detail : "").catch(() => "");
  throw error;
}

const lasting = error => error.status && error.status < 500 && error.status !== 429 && error.status !== 408;

function say(text) { at("status").textContent = text; }

function fetchPictures() {
  const wanted = new Set(tasks.flatMap(task => task.pictures));
  for (const address of wanted) {
    if (!pictures.has(address)) {
      const picture = new Image();
      picture.src = address;
      pictures.set(address, picture);
    }
  }
  for (const address of [...pictures.keys()]) if (!wanted.has(address)) pictures.delete(address);
}

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function levelButton(name, key, example, act, kind) {
  const button = element("button", "", kind);
  button.type = "button";
  if (key) { button.append(element("kbd", key.toUpperCase())); button.dataset.key = key; button.setAttribute("aria-keyshortcuts", key); }
  button.append(element("span", name));
  if (example) { const picture = new Image(); picture.src = example; picture.alt = ""; button.append(picture); }
  button.addEventListener("click", act);
  return button;
}

function showPictures(task, question) {
  const frames = task.pictures.map((address, side) => {
    const frame = element("figure");
    const picture = pictures.get(address);
    const which = task.pictures.length > 1 ? (side ? "second picture" : "first picture") : "picture";
    picture.alt = `The ${which} to judge`;
    picture.onerror = () => { at("message").hidden = false; at("message").textContent = "The picture cannot be loaded. Load this page again; if that does not help, tell the person who invited you."; };
    frame.append(picture);
    if (task.pictures.length > 1) frame.append(element("figcaption", side ? "second" : "first"));
    return frame;
  });
  const texts = task.texts.map(text => {
    const shown = element("blockquote", text);
    shown.tabIndex = 0;  // a long one is scrolled with keys
    shown.setAttribute("aria-label", "The text to judge");
    return shown;
  });
  at("pictures").replaceChildren(...frames, ...texts);
  return Promise.all(task.pictures.map(address => pictures.get(address).decode().catch(() => {})));
}

function showLevels(question) {
  const buttons = chosen === null
    ? question.levels.map((level, place) => levelButton(level.name, level.key, level.example, () => choose(place)))
    : question.follow_up.levels.map((name, place) => levelButton(name, String(place + 1), null, () => choose(place)));
  if (question.skip && chosen === null) buttons.push(levelButton("Cannot tell", "x", null, () => send(null, null), "skip"));
  const text = chosen === null ? question.text : question.follow_up.text;
  if (at("question").textContent !== text) at("question").textContent = text;
  at("question-help").textContent = chosen === null ? question.help : "";
  const focused = at("levels").contains(document.activeElement);
  at("levels").replaceChildren(...buttons);
  if (focused) at("question").focus({ preventScroll: true });
}

function showProgress() {
  const done = progress.answered + unsent.length;
  const share = Math.max(progress.share, done);
  at("progress").max = Math.max(share, 1);
  at("progress").value = done;
  at("progress-text").textContent = `${done} answered, about ${share - done} to go`;
  at("undo").disabled = busy || done === 0;
}

function show() {
  fetchPictures();
  showProgress();
  at("pause").hidden = !(breakEvery && inARow && inARow % breakEvery === 0);
  const task = tasks[0];
  at("task").hidden = !task;
  at("message").hidden = Boolean(task);
  if (!task) {
    shownAt = null;  // the last one may come back
    at("message").textContent = unsent.length ? "Saving your last answer …"
      : progress.paused ? "Rating is paused. Come back later with the same link."
      : "That is all for now. Thank you! You can close this page.";
    at("pictures").replaceChildren();
    return;
  }
  const question = questions.get(task.question);
  showLevels(question);
  if (document.documentElement.dataset.shown !== String(task.id)) shownAt = null;  // an answer before the picture is there has no time
  showPictures(task, question).then(() => {
    if (!tasks[0] || tasks[0].id !== task.id) return;  // it was answered before it was there
    if (shownAt === null) shownAt = performance.now();
    document.documentElement.dataset.shown = task.id;
  });
}

function choose(place) {
  if (!tasks[0] || busy) return;
  const question = questions.get(tasks[0].question);
  if (chosen === null && question.follow_up) {
    chosen = place;
    showLevels(question);
  } else if (chosen === null) send(place, null);
  else send(chosen, place);
}

function send(value, detail) {
  if (!tasks[0] || busy) return;
  const task = tasks.shift();
  const milliseconds = shownAt === null ? null : Math.max(0, Math.round(performance.now() - shownAt));
  unsent.push({ task: task.id, key: newKey(), value, detail, milliseconds });
  chosen = null;
  inARow += 1;
  show();
  sending = sending || sender().finally(() => { sending = null; });
}

async function sender() {
  let wait = 500;
  while (unsent.length) {
    try {
      take(await ask("/api/answers", unsent[0]), () => unsent.shift());
      wait = 500;
      say("");
    } catch (error) {
      if (error.status === 401) { say("You are no longer logged in: open your link again."); tasks = []; show(); return; }
      if (lasting(error)) {
        say(`Your last answer was not saved: ${error.detail || error.message}.`);
        unsent.shift();
        await reload();
        continue;
      }
      say("No connection: your answer waits and is sent again.");
      await new Promise(resolve => setTimeout(resolve, wait));
      wait = Math.min(2 * wait, 15000);
    }
  }
}

function take(work, done) {
  if (done) done();
  progress = work;
  const waiting = new Set(unsent.map(one => one.task));
  const shown = tasks[0] && tasks[0].id;
  tasks = work.tasks.filter(task => !waiting.has(task.id));
  const same = tasks.findIndex(task => task.id === shown);
  if (same > 0) tasks.unshift(...tasks.splice(same, 1));
  if (same < 0 || shown === undefined) show(); else { fetchPictures(); showProgress(); }
}

async function reload() { tasks = []; take(await ask("/api/tasks")); }

async function takeBack() {
  if (busy || at("undo").disabled) return;
  if (chosen !== null) { chosen = null; show(); return; }
  busy = true;
  at("undo").disabled = true;
  const key = newKey();
  try {
    if (sending) await sending;
    tasks = [];
    take(await ask("/api/undo", { key }));
    inARow = 0;
    say("Your last answer is undone.");
  } catch (error) {
    say(error.detail || "The answer could not be undone; try again.");
    await reload().catch(() => {});
  } finally { busy = false; showProgress(); }
}

function toggleHelp() {
  const open = at("instructions").hidden;
  at("instructions").hidden = !open;
  at("help").setAttribute("aria-expanded", String(open));
}

document.addEventListener("keydown", event => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || !at("keys").checked) return;
  if (event.target instanceof HTMLInputElement && event.target.type !== "checkbox") return;
  const key = event.key.toLowerCase();
  const button = [...at("levels").querySelectorAll("button")].find(one => (one.dataset.key || "").toLowerCase() === key);
  if (button && !at("task").hidden) button.click();
  else if (key === "u" || key === "backspace") takeBack();
  else if (key === "h" || key === "?") toggleHelp();
  else return;
  event.preventDefault();
});
at("undo").addEventListener("click", takeBack);
at("help").addEventListener("click", toggleHelp);
window.addEventListener("beforeunload", event => { if (unsent.length) event.preventDefault(); });

(async () => {
  try {
    for (const one of (await ask("/api/questions")).questions) questions.set(one.name, one);
    take(await ask("/api/tasks"));
  } catch (error) {
    at("message").hidden = false;
    at("message").textContent = error.status === 401 ? "You are no longer logged in: open your link again." : "The server cannot be reached. Load this page again.";
  }
})();
