// Relative times: shows the age of every time that the server wrote.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function age(seconds) {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? UNITS.at(-1);
  return `${Math.max(Math.floor(seconds / size), 0)} ${unit}`;
}

export function showAges() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (!time.title) time.title = time.textContent;
    time.textContent = age((Date.now() - Date.parse(time.dateTime)) / 1000);
  }
}
