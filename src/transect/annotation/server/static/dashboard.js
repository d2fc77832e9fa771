// Reloads the dashboard every ten seconds, unless it is in use.
"use strict";

async function refresh() {
  const main = document.getElementById("dashboard");
  if (document.hidden || main.contains(document.activeElement)) return;
  const reply = await fetch("/admin", { redirect: "follow" });
  if (!reply.ok || new URL(reply.url).pathname !== "/admin") { location.reload(); return; }
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  main.replaceChildren(...page.getElementById("dashboard").childNodes);
}

setInterval(() => refresh().catch(() => {}), 10000);
