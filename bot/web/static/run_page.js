// Run page: appends the conversation and renews changed parts. The page also works without scripts. All HTML comes from
// the server, which has escaped it.

import { showAges } from "./relative_times.js";

const run = document.getElementById("run");
const here = `/runs/${encodeURIComponent(run.dataset.key)}`; // the address differs after a refused form
const talk = document.getElementById("talk");
const files = document.getElementById("files");
const toEnd = document.getElementById("to-end");
const connection = document.getElementById("connection");

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

async function load(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 200) || answer.statusText);
  return answer.text();
}

function showProblem(text) {
  connection.textContent = text;
  connection.hidden = !text;
}

// Conversation: it follows the latest line unless the person has scrolled up.

const isAtEnd = () => talk.scrollHeight - talk.scrollTop - talk.clientHeight < 40;
const goToEnd = () => { talk.scrollTop = talk.scrollHeight; toEnd.hidden = true; };

function append({ html, results }) {
  const follows = isAtEnd();
  document.getElementById("no-talk")?.remove();
  talk.append(parse(html));
  for (const { of, html: output } of results) {
    const tools = [...talk.querySelectorAll("[data-tool]")].filter((tool) => tool.dataset.tool === of);
    tools.at(-1)?.querySelector(".result").replaceChildren(parse(output));
  }
  if (follows) goToEnd();
  else toEnd.hidden = false;
}

talk.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-earlier]");
  if (!link) return;
  event.preventDefault();
  try {
    const height = talk.scrollHeight;
    const html = await load(link.dataset.earlier);
    link.closest(".earlier").replaceWith(parse(html));
    talk.scrollTop += talk.scrollHeight - height;
    showAges();
  } catch (problem) {
    showProblem(`Could not load the earlier part: ${problem.message}`);
  }
});
talk.addEventListener("scroll", () => { if (isAtEnd()) toEnd.hidden = true; });
toEnd.addEventListener("click", goToEnd);

// Changes: a diff is loaded when its file is opened, and again when it has changed.

async function loadDiff(body) {
  body.dataset.loaded = "";
  try {
    body.replaceChildren(parse(await load(`${body.dataset.load}?part=1&view=${run.dataset.view}`)));
  } catch (problem) {
    delete body.dataset.loaded;
    body.replaceChildren();
    const message = document.createElement("p");
    message.textContent = `Could not load the diff: ${problem.message}`;
    body.append(message);
  }
}

files.addEventListener("toggle", (event) => {
  const body = event.target.querySelector?.(":scope > .file-body");
  if (event.target.open && body && !("loaded" in body.dataset)) loadDiff(body);
}, true);

files.addEventListener("click", async (event) => {
  const more = event.target.closest("[data-more], [data-more-files]");
  if (!more) return;
  event.preventDefault();
  const address = more.dataset.moreFiles ?? `${more.getAttribute("href")}&part=1&view=${run.dataset.view}`;
  try {
    const next = parse(await load(address));
    if (more.dataset.moreFiles) {
      files.querySelector(".files").append(...next.querySelectorAll(".files > li"));
      more.closest(".more").replaceWith(...next.querySelectorAll(":scope > .more"));
      markFiles();
    } else {
      more.closest(".more").replaceWith(next);
    }
  } catch (problem) {
    showProblem(`Could not load more: ${problem.message}`);
  }
});

async function renewFiles(print) {
  const fresh = parse(await load(`${here}/files?view=${run.dataset.view}`));
  for (const now of fresh.querySelectorAll(".files > li")) {
    const old = document.getElementById(now.id);
    if (!old) continue;
    if (old.dataset.print === now.dataset.print) now.replaceWith(old);
    else renewFile(old, now);
  }
  files.replaceChildren(fresh);
  run.dataset.print = print;
  markFiles();
}

// Keeps an open file open and a closed file closed; an open file shows its current diff.
function renewFile(old, now) {
  const [before, after] = [old.querySelector("details"), now.querySelector("details")];
  if (!before || !after) return;
  after.open = before.open;
  const body = after.querySelector(".file-body");
  if (after.open && !("loaded" in body.dataset)) loadDiff(body);
}

// Viewed files: the browser keeps the fingerprint that each file had.

const store = {
  read(name) {
    try { return JSON.parse(localStorage.getItem(`${name}:${run.dataset.key}`)) ?? {}; } catch { return {}; }
  },
  write(name, value) {
    try { localStorage.setItem(`${name}:${run.dataset.key}`, JSON.stringify(value)); } catch { /* storage is full or forbidden */ }
  },
};
const seenBefore = store.read("seen");

function markFiles() {
  const viewed = store.read("viewed");
  for (const item of files.querySelectorAll(".files > li")) {
    const { id, print } = item.dataset;
    const isViewed = viewed[id] === print;
    const known = viewed[id] ?? seenBefore[id];
    item.querySelector(".news").hidden = Object.keys(seenBefore).length === 0 || known === print;
    viewedBox(item).checked = isViewed;
  }
  showAges();
}

function viewedBox(item) {
  const found = item.querySelector(".viewed input");
  if (found) return found;
  const label = document.createElement("label");
  label.className = "viewed";
  const input = document.createElement("input");
  input.type = "checkbox";
  label.append(input, "viewed");
  input.setAttribute("aria-label", `viewed: ${item.querySelector(".path").textContent}`);
  item.append(label);
  item.classList.add("can-view");
  input.addEventListener("change", () => {
    const viewed = store.read("viewed");
    if (input.checked) viewed[item.dataset.id] = item.dataset.print;
    else delete viewed[item.dataset.id];
    store.write("viewed", viewed);
    const details = item.querySelector("details");
    if (details && input.checked) details.open = false;
    markFiles();
  });
  return input;
}

addEventListener("pagehide", () => {
  const seen = {};
  for (const item of files.querySelectorAll(".files > li")) seen[item.dataset.id] = item.dataset.print;
  store.write("seen", { ...store.read("seen"), ...seen });
});

// Remarks: a click on a line number starts a remark in the review form.

const showRemarks = () => run.classList.toggle("can-remark", document.getElementById("remarks") !== null);
showRemarks();
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

// Drafts: typed text survives a reload.

for (const form of document.querySelectorAll("form[data-keep]")) {
  const area = form.querySelector("textarea");
  const name = `typed-${form.dataset.keep}`;
  if (!area.value && typeof store.read(name).text === "string") area.value = store.read(name).text;
  area.addEventListener("input", () => store.write(name, { text: area.value }));
  form.addEventListener("submit", () => store.write(name, {}));
}

// Other parts: they are replaced when they have changed, but not while they have the focus. Open details stay open.

let isRenewing = false;
let isStale = false;

async function renew() {
  isStale = true;
  if (isRenewing) return;
  isRenewing = true;
  try {
    while (isStale) {
      isStale = false;
      renewFrom(new DOMParser().parseFromString(await load(`${here}/fresh`), "text/html"));
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
  } catch (problem) {
    showProblem(`Could not update this page: ${problem.message}`);
  } finally {
    isRenewing = false;
  }
}

function renewFrom(fresh) {
  const has = (page, id) => page.getElementById(id) !== null;
  const isOther = ["pull-request", "say-text"].some((id) => has(document, id) !== has(fresh, id));
  const olds = isOther ? [document.getElementById("actions")] : [];
  for (const old of [...olds, ...document.querySelectorAll("[data-fresh]")]) {
    const now = fresh.getElementById(old.id);
    if (!now || !old.isConnected) continue;
    if (old.contains(document.activeElement)) {
      document.activeElement.addEventListener("blur", renew, { once: true });
      continue;
    }
    const [before, after] = [old, now].map((part) => [...part.querySelectorAll("details")]);
    before.forEach((details, at) => { if (after[at]) after[at].open = details.open; });
    if (!old.isEqualNode(now)) old.replaceWith(document.adoptNode(now)); // an unchanged part stays, so no click is lost
  }
  showRemarks();
  showAges();
}

// Events while the page is open.

function follow() {
  const { events, place, state, print, show } = run.dataset;
  const source = new EventSource(`${events}?since=${place}&state=${state}&print=${print}&show=${show}`);
  source.onopen = () => showProblem("");
  source.onerror = () => showProblem("Connection lost. Reconnecting…");
  source.addEventListener("talk", (event) => { append(JSON.parse(event.data)); showAges(); });
  source.addEventListener("changed", renew);
  source.addEventListener("show", (event) => {
    renewFrom(new DOMParser().parseFromString(JSON.parse(event.data).html, "text/html"));
  });
  source.addEventListener("files", (event) => {
    renewFiles(JSON.parse(event.data).print).catch((problem) => showProblem(`Could not load the changes: ${problem.message}`));
  });
  addEventListener("pagehide", () => source.close(), { once: true });
}

goToEnd();
markFiles();
follow();
