// Board: adds, changes and moves cards that the server has rendered.

import { listen } from "./live_updates.js";

const laneOf = (name) => document.querySelector(`.lane[data-lane="${CSS.escape(name)}"]`);
const cardOf = (id) => [...document.querySelectorAll(".card")].find((card) => card.dataset.id === id);

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// Applies the filter of the address, as the server does.
function matches(card) {
  const filter = new URLSearchParams(location.search);
  const project = filter.get("project") ?? "";
  const words = (filter.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const texts = [...card.querySelectorAll(".card-key span, h3, .now")].map((part) => part.textContent.toLowerCase());
  return (!project || project === card.dataset.project) && words.every((word) => texts.join(" ").includes(word));
}

function put({ id, lane: name, before, html }) {
  const fresh = parse(html);
  const old = cardOf(id);
  const hadFocus = old?.contains(document.activeElement);
  const moved = old?.closest(".lane")?.dataset.lane !== name;
  old?.remove();
  if (!matches(fresh)) return;
  const list = laneOf(name).querySelector(".cards");
  const next = before ? cardOf(before) : null;
  list.insertBefore(fresh, next?.parentElement === list ? next : null);
  if (hadFocus) fresh.querySelector("a").focus();
  if (moved) announce(`${fresh.querySelector("h3").textContent}: ${laneOf(name).querySelector("h2").firstChild.textContent}`);
}

function announce(text) {
  document.getElementById("announcement").textContent = text;
}

function count() {
  for (const lane of document.querySelectorAll(".lane")) {
    lane.querySelector(".count").textContent = lane.querySelectorAll(".card").length;
  }
}

listen("card", (data) => {
  put(data);
  count();
});

listen("gone", ({ id }) => {
  cardOf(id)?.remove();
  count();
});

listen("summary", ({ html }) => {
  document.getElementById("summary").innerHTML = html;
});
