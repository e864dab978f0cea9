// Keeps a page as it would be if it were loaded now. Without it everything can be read and done just as well.
//
// A page says where its news comes from: <div data-live="/events" data-since="...">. What is done with news of a kind is
// for the page's own script to say: listen("card", (data) => ...).

import { tellAges } from "./ages.js";

const listeners = new Map();
const line = document.getElementById("line");

export function listen(kind, listener) {
  listeners.set(kind, listener);
}

function say(text) {
  line.textContent = text;
  line.hidden = !text;
}

// The page anew, where it stands: what was typed and has the focus keeps it.
export async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (answer?.redirected) return location.assign(location.href);
  if (!answer?.ok) return setTimeout(refresh, 5_000);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live], [data-fresh]")) {
    const now = fresh.getElementById(old.id);
    if (!now) continue;
    const focused = old.contains(document.activeElement) ? document.activeElement.closest("[id]").id : "";
    old.replaceWith(document.adoptNode(now));
    if (focused) document.getElementById(focused)?.querySelector("a, button, input, textarea")?.focus();
  }
  start();
}

function follow(live) {
  const source = new EventSource(`${live.dataset.live}?since=${encodeURIComponent(live.dataset.since)}`);
  source.onopen = () => say("");
  source.onerror = () => {
    say("The connection is lost. Trying again …");
    if (source.readyState === EventSource.CLOSED) setTimeout(refresh, 5_000); // refused: it does not try again itself
  };
  source.addEventListener("resync", () => {
    source.close();
    refresh();
  });
  for (const [kind, listener] of listeners) {
    source.addEventListener(kind, (event) => {
      listener(JSON.parse(event.data));
      tellAges();
    });
  }
  addEventListener("pagehide", () => source.close(), { once: true });
}

function start() {
  tellAges();
  document.querySelectorAll("[data-live]").forEach(follow);
}

addEventListener("DOMContentLoaded", start); // by then each page's own script has said what it listens to
setInterval(tellAges, 10_000);
