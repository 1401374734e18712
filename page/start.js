// SPDX-License-Identifier: Apache-2.0
// The beginning: what the page rests on, then every part, and the colours.

function showMissing() {
  const {files, indexes, refused, notes, broken, version, commit, made, cases} = page.data;
  byId("made").textContent = `Written ${made.slice(0, 10)} by raceline ${version} of commit ${commit.slice(0, 12)}`;
  const missing = [];
  if (files.length === 0 && indexes > 0) missing.push("No receipt file is on this page but an index of files that left the tree: their times stand in the scorecard and the ladder, and there is no row to draw.");
  else if (files.length === 0 && refused.length === 0) missing.push("No receipt file was given, and there is none.");
  // The sentence names its file.
  for (const [path, why] of refused) missing.push(why.includes(path) ? `${why}. Nothing of it is on this page.` : `${path}: ${why}. Nothing of it is on this page.`);
  for (const file of files) {
    if (file.lines === 0 && file.rows === 0 && !file.unfinished) missing.push(`${file.path}: no rows, the file is empty.`);
    if (file.copies > 0) missing.push(`${file.path}: ${plural(file.copies, "row")} of it stand in another file as well, and count once.`);
    if (file.unfinished) missing.push(`${file.path}: its last line is unfinished and left out; a run was cut off there${file.rows === 0 && file.lines === 0 ? ", so that it has no row" : ""}.`);
  }
  if (files.some(file => file.rows > 0) && cases.length === 0) missing.push("No timed case stands in these rows: the charts are empty.");
  const findings = files.flatMap((file, i) => firstOf(file.path, file.findings).map(([line, what]) =>
    make("li", {}, file.path, ...(line > 0 ? [", ", rowLink(`line ${line}`, [i, line])] : []), `: ${what}`)));
  const places = new Set(files.flatMap(file => file.findings.map(([line]) => `${file.path} ${line}`)));
  const others = broken.filter(([file, line]) => !places.has(`${file} ${line}`))
    .map(([file, line, what]) => make("li", {}, `${file}${line > 0 ? `, line ${line}` : ""}: ${what}`));
  const all = [...missing.map(text => make("li", {}, text)), ...notes.map(text => make("li", {}, `${text}.`)), ...findings, ...others];
  byId("missing-body").replaceChildren(
    make("p", {}, `${plural(files.reduce((sum, file) => sum + file.rows, 0), "sound row")} of ${plural(files.length, "receipt file")}, ${plural(cases.length, "timed case")}.`),
    all.length > 0 ? make("div", {class: "note", id: "missing-list"}, make("strong", {}, "What is missing or wrong"), make("ul", {}, all)) : make("p", {id: "missing-none"}, "Nothing is missing: every line is a sound row, and each chain of hashes is whole."),
    make("details", {}, make("summary", {}, "The files"), make("ul", {}, files.map(file => make("li", {}, `${file.path}: ${plural(file.rows, "sound row")}`)))));
}

/** A file of which every line is broken need not say so line by line. */
function firstOf(path, findings) {
  const most = 20;
  const more = findings.length - most;
  return more > 0 ? [...findings.slice(0, most), [0, `${plural(more, "further finding")}; raceline report --check ${path} lists them`]] : findings;
}

function applyTheme() {
  const wish = byId("theme").value;
  const dark = wish === "" ? matchMedia("(prefers-color-scheme: dark)").matches : wish === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

/** In other colours or another width; what a reader sorted, turned to and opened stays so. */
function showCharts() {
  const rungs = () => [...byId("ladder-body").querySelectorAll("details.rung")];
  const open = new Set(rungs().filter(rung => rung.open).map(rung => rung.dataset.rung));
  page.redrawing = true;
  showRoofline();
  showScorecard();
  showLadder();
  showPeers();
  page.redrawing = false;
  for (const rung of rungs()) rung.open = open.has(rung.dataset.rung);
}

function listen() {
  const recolour = () => {
    applyTheme();
    showCharts();
  };
  byId("theme").addEventListener("change", recolour);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  let width = innerWidth, timer = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => {
      showCharts();
      fitTables();
    }, 150);
  });
  listenForRows();
}

async function start() {
  const began = performance.now();
  try {
    applyTheme();
    [page.data, page.vega] = [JSON.parse(await unpacked("data")), await loadVega()];
    page.data.cases = casesOfColumns(page.data.cases, page.data.texts);
    showMissing();
    showFilters();
    listen();
    showCases();
    showScorecard();
    showLadder();
    showPeers();
    showDiff();
    showProvenance();
    showRowsSection();
    showWhatIf();
    // For tests, and for a reader's own console.
    window.raceline = {page, chosen, casesLeft, isRung, whatIf, placeOf, near, scoredRows, rowText, tellCase, seconds, ask, assumedDevice, diffChosen, palettes, signedPercent, ratioPlaces, secondsLabels, opened_ms: performance.now() - began};
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    byId("failure").hidden = false;
    byId("failure").textContent = `This page cannot show its data: ${error.message}`;
    throw error;
  }
}
