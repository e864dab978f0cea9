// Live updates: follows the event stream that a page names, <div data-live="/events" data-since="...">, and hands each
// event to the page's own script: listen("card", (data) => ...). Every page also works without scripts.

import { showAges } from "./relative_times.js";

const listeners = new Map();
const connection = document.getElementById("connection");

export function listen(kind, listener) {
  listeners.set(kind, listener);
}

function showConnection(text) {
  connection.textContent = text;
  connection.hidden = !text;
}

// Loads the page again and replaces its live parts. A focused element keeps the focus.
export async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (answer?.redirected) return location.assign(location.href);
  if (!answer?.ok) return setTimeout(refresh, 5_000);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live], [data-fresh]")) {
    const replacement = fresh.getElementById(old.id);
    if (!replacement) continue;
    const focused = old.contains(document.activeElement) ? document.activeElement.closest("[id]").id : "";
    old.replaceWith(document.adoptNode(replacement));
    if (focused) document.getElementById(focused)?.querySelector("a, button, input, textarea")?.focus();
  }
  start();
}

function follow(live) {
  const source = new EventSource(`${live.dataset.live}?since=${encodeURIComponent(live.dataset.since)}`);
  source.onopen = () => showConnection("");
  source.onerror = () => {
    showConnection("Connection lost. Reconnecting…");
    if (source.readyState === EventSource.CLOSED) setTimeout(refresh, 5_000); // a refused stream does not reconnect
  };
  source.addEventListener("resync", () => {
    source.close();
    refresh();
  });
  for (const [kind, listener] of listeners) {
    source.addEventListener(kind, (event) => {
      listener(JSON.parse(event.data));
      showAges();
    });
  }
  addEventListener("pagehide", () => source.close(), { once: true });
}

function start() {
  showAges();
  document.querySelectorAll("[data-live]").forEach(follow);
}

addEventListener("DOMContentLoaded", start); // the page's own script has added its listeners by then
setInterval(showAges, 10_000);
