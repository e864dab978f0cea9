// How long ago, where the server wrote when.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function age(seconds) {
  const [size, letter] = UNITS.find(([size]) => seconds >= size) ?? UNITS.at(-1);
  return `${Math.max(Math.floor(seconds / size), 0)} ${letter}`;
}

export function tellAges() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (!time.title) time.title = time.textContent;
    time.textContent = age((Date.now() - Date.parse(time.dateTime)) / 1000);
  }
}
