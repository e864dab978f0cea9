// The board: cards come, change and move; the server has rendered them.

import { listen } from "./live.js";

const lane = (name) => document.querySelector(`.lane[data-lane="${CSS.escape(name)}"]`);
const card = (id) => [...document.querySelectorAll(".card")].find((one) => one.dataset.id === id);

function made(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// As the server chose what this page shows.
function isMeant(one) {
  const asked = new URLSearchParams(location.search);
  const project = asked.get("project") ?? "";
  const words = (asked.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const told = [...one.querySelectorAll(".card-key span, h3, .now")].map((part) => part.textContent.toLowerCase());
  return (!project || project === one.dataset.project) && words.every((word) => told.join(" ").includes(word));
}

function put({ id, lane: name, before, html }) {
  const fresh = made(html);
  const old = card(id);
  const hadFocus = old?.contains(document.activeElement);
  const moved = old?.closest(".lane")?.dataset.lane !== name;
  old?.remove();
  if (!isMeant(fresh)) return;
  const list = lane(name).querySelector(".cards");
  const next = before ? card(before) : null;
  list.insertBefore(fresh, next?.parentElement === list ? next : null);
  if (hadFocus) fresh.querySelector("a").focus();
  if (moved) announce(`${fresh.querySelector("h3").textContent}: ${lane(name).querySelector("h2").firstChild.textContent}`);
}

function announce(text) {
  document.getElementById("said").textContent = text;
}

function count() {
  for (const one of document.querySelectorAll(".lane")) {
    one.querySelector(".count").textContent = one.querySelectorAll(".card").length;
  }
}

listen("card", (data) => {
  put(data);
  count();
});

listen("gone", ({ id }) => {
  card(id)?.remove();
  count();
});

listen("summary", ({ html }) => {
  document.getElementById("summary").innerHTML = html;
});
