// The page of one run, as it goes on: words and deeds as they come, changes when they change. Without it everything can
// be read and done as well; what is added here is comfort. All markup comes from the server, which has escaped it.

import { tellAges } from "./ages.js";

const run = document.getElementById("run");
const here = `/runs/${encodeURIComponent(run.dataset.key)}`; // also where something was refused
const talk = document.getElementById("talk");
const files = document.getElementById("files");
const toEnd = document.getElementById("to-end");
const line = document.getElementById("line");

function made(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

async function fetched(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 200) || answer.statusText);
  return answer.text();
}

function say(text) {
  line.textContent = text;
  line.hidden = !text;
}

// The conversation: it stays at its end unless somebody has gone back to read.

const isAtEnd = () => talk.scrollHeight - talk.scrollTop - talk.clientHeight < 40;
const goToEnd = () => { talk.scrollTop = talk.scrollHeight; toEnd.hidden = true; };

function append({ html, results }) {
  const stays = isAtEnd();
  document.getElementById("no-talk")?.remove();
  talk.append(made(html));
  for (const { of, html: printed } of results) {
    const tools = [...talk.querySelectorAll("[data-tool]")].filter((one) => one.dataset.tool === of);
    tools.at(-1)?.querySelector(".result").replaceChildren(made(printed));
  }
  if (stays) goToEnd();
  else toEnd.hidden = false;
}

talk.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-earlier]");
  if (!link) return;
  event.preventDefault();
  try {
    const height = talk.scrollHeight;
    const html = await fetched(link.dataset.earlier);
    link.closest(".earlier").replaceWith(made(html));
    talk.scrollTop += talk.scrollHeight - height;
    tellAges();
  } catch (problem) {
    say(`The earlier part could not be loaded: ${problem.message}`);
  }
});
talk.addEventListener("scroll", () => { if (isAtEnd()) toEnd.hidden = true; });
toEnd.addEventListener("click", goToEnd);

// The changes: a file is loaded when it is opened, and again when it is not as it was.

async function load(body) {
  body.dataset.loaded = "";
  try {
    body.replaceChildren(made(await fetched(`${body.dataset.load}?part=1&view=${run.dataset.view}`)));
  } catch (problem) {
    delete body.dataset.loaded;
    body.replaceChildren();
    const words = document.createElement("p");
    words.textContent = `It could not be loaded: ${problem.message}`;
    body.append(words);
  }
}

files.addEventListener("toggle", (event) => {
  const body = event.target.querySelector?.(":scope > .file-body");
  if (event.target.open && body && !("loaded" in body.dataset)) load(body);
}, true);

files.addEventListener("click", async (event) => {
  const more = event.target.closest("[data-more], [data-more-files]");
  if (!more) return;
  event.preventDefault();
  const address = more.dataset.moreFiles ?? `${more.getAttribute("href")}&part=1&view=${run.dataset.view}`;
  try {
    const next = made(await fetched(address));
    if (more.dataset.moreFiles) {
      files.querySelector(".files").append(...next.querySelectorAll(".files > li"));
      more.closest(".more").replaceWith(...next.querySelectorAll(":scope > .more"));
      mind();
    } else {
      more.closest(".more").replaceWith(next);
    }
  } catch (problem) {
    say(`The next part could not be loaded: ${problem.message}`);
  }
});

async function renewFiles(print) {
  const fresh = made(await fetched(`${here}/files?view=${run.dataset.view}`));
  for (const now of fresh.querySelectorAll(".files > li")) {
    const old = document.getElementById(now.id);
    if (!old) continue;
    if (old.dataset.print === now.dataset.print) now.replaceWith(old);
    else renewOne(old, now);
  }
  files.replaceChildren(fresh);
  run.dataset.print = print;
  mind();
}

// Open stays open, closed stays closed; what is open shows what is there now.
function renewOne(old, now) {
  const [before, after] = [old.querySelector("details"), now.querySelector("details")];
  if (!before || !after) return;
  after.open = before.open;
  const body = after.querySelector(".file-body");
  if (after.open && !("loaded" in body.dataset)) load(body);
}

// What this person has seen: of each file the print it had, kept by the browser alone.

const store = {
  read(name) {
    try { return JSON.parse(localStorage.getItem(`${name}:${run.dataset.key}`)) ?? {}; } catch { return {}; }
  },
  write(name, value) {
    try { localStorage.setItem(`${name}:${run.dataset.key}`, JSON.stringify(value)); } catch { /* private, or full */ }
  },
};
const seenBefore = store.read("seen");

function mind() {
  const viewed = store.read("viewed");
  for (const one of files.querySelectorAll(".files > li")) {
    const { id, print } = one.dataset;
    const isViewed = viewed[id] === print;
    const known = viewed[id] ?? seenBefore[id];
    one.querySelector(".news").hidden = Object.keys(seenBefore).length === 0 || known === print;
    box(one).checked = isViewed;
  }
  tellAges();
}

function box(one) {
  const found = one.querySelector(".viewed input");
  if (found) return found;
  const label = document.createElement("label");
  label.className = "viewed";
  const input = document.createElement("input");
  input.type = "checkbox";
  label.append(input, "viewed");
  input.setAttribute("aria-label", `viewed: ${one.querySelector(".path").textContent}`);
  one.append(label);
  one.classList.add("can-view");
  input.addEventListener("change", () => {
    const viewed = store.read("viewed");
    if (input.checked) viewed[one.dataset.id] = one.dataset.print;
    else delete viewed[one.dataset.id];
    store.write("viewed", viewed);
    const details = one.querySelector("details");
    if (details && input.checked) details.open = false;
    mind();
  });
  return input;
}

addEventListener("pagehide", () => {
  const seen = {};
  for (const one of files.querySelectorAll(".files > li")) seen[one.dataset.id] = one.dataset.print;
  store.write("seen", { ...store.read("seen"), ...seen });
});

// Remarks on single lines: a click on a line's number begins one in the review's form.

const mindRemarks = () => run.classList.toggle("can-remark", document.getElementById("remarks") !== null);
mindRemarks();
files.addEventListener("click", (event) => {
  const cell = event.target.closest("[data-line]");
  if (!cell || !document.getElementById("remarks")) return;
  const rows = [...document.querySelectorAll("#remarks .remark-row")];
  const isFree = (row) => [...row.querySelectorAll("input, textarea")].every((field) => !field.value);
  let row = rows.find(isFree);
  if (!row) {
    row = rows[0].cloneNode(true);
    rows.at(-1).after(row);
  }
  const [path, number, text] = row.querySelectorAll("input, textarea");
  path.value = cell.closest("table").dataset.path;
  number.value = cell.dataset.line;
  text.value = "";
  document.getElementById("review").open = true;
  text.focus();
});

// What was typed and not sent yet survives a reload.

for (const form of document.querySelectorAll("form[data-keep]")) {
  const area = form.querySelector("textarea");
  const name = `typed-${form.dataset.keep}`;
  if (!area.value && typeof store.read(name).text === "string") area.value = store.read(name).text;
  area.addEventListener("input", () => store.write(name, { text: area.value }));
  form.addEventListener("submit", () => store.write(name, {}));
}

// The rest of the page anew. What has the focus is left alone until it has it no more; what is open stays open.

let isRenewing = false;
let isStale = false;

async function renew() {
  isStale = true;
  if (isRenewing) return;
  isRenewing = true;
  try {
    while (isStale) {
      isStale = false;
      renewFrom(new DOMParser().parseFromString(await fetched(`${here}/fresh`), "text/html"));
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
  } catch (problem) {
    say(`This page could not be brought up to date: ${problem.message}`);
  } finally {
    isRenewing = false;
  }
}

function renewFrom(fresh) {
  const has = (page, id) => page.getElementById(id) !== null;
  const isOther = ["offer", "say-text"].some((id) => has(document, id) !== has(fresh, id));
  const olds = isOther ? [document.getElementById("steer")] : [];
  for (const old of [...olds, ...document.querySelectorAll("[data-fresh]")]) {
    const now = fresh.getElementById(old.id);
    if (!now || !old.isConnected) continue;
    if (old.contains(document.activeElement)) {
      document.activeElement.addEventListener("blur", renew, { once: true });
      continue;
    }
    const [before, after] = [old, now].map((one) => [...one.querySelectorAll("details")]);
    before.forEach((one, at) => { if (after[at]) after[at].open = one.open; });
    if (!old.isEqualNode(now)) old.replaceWith(document.adoptNode(now)); // nobody's click goes to what is gone
  }
  mindRemarks();
  tellAges();
}

// What is told while the page is open.

function follow() {
  const { events, place, state, print, show } = run.dataset;
  const source = new EventSource(`${events}?since=${place}&state=${state}&print=${print}&show=${show}`);
  source.onopen = () => say("");
  source.onerror = () => say("The connection is lost. Trying again …");
  source.addEventListener("talk", (event) => { append(JSON.parse(event.data)); tellAges(); });
  source.addEventListener("changed", renew);
  source.addEventListener("show", (event) => {
    renewFrom(new DOMParser().parseFromString(JSON.parse(event.data).html, "text/html"));
  });
  source.addEventListener("files", (event) => {
    renewFiles(JSON.parse(event.data).print).catch((problem) => say(`The changes could not be loaded: ${problem.message}`));
  });
  addEventListener("pagehide", () => source.close(), { once: true });
}

goToEnd();
mind();
follow();
