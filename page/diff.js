// SPDX-License-Identifier: Apache-2.0
// Two runs beside each other, as `raceline diff` has them: any two files or commits of the page.

const diffChosen = {before: "", after: ""};

/** What can be compared: files and commits that hold timed cases, {id, title, written, cases}. */
function diffSides() {
  const sides = new Map();
  const add = (id, title, one) => {
    const side = sides.get(id) ?? {id, title, written: one.written, cases: []};
    side.cases.push(one);
    if (one.written < side.written) side.written = one.written;
    sides.set(id, side);
  };
  for (const one of page.data.cases) {
    if (one.row) add(`file ${one.row[0]}`, page.data.files[one.row[0]].path, one);
    add(`commit ${one.commit}`, `commit ${one.commit}`, one);
  }
  return [...sides.values()].sort((a, b) => a.written < b.written ? -1 : a.written > b.written ? 1 : a.id < b.id ? -1 : 1);
}

/** Of a side: by case, then by tile, the one that was timed last. */
function casesBySame({cases}) {
  const all = new Map();
  for (const one of cases) {
    if (!all.has(one.same)) all.set(one.same, new Map());
    const known = all.get(one.same).get(one.tile);
    if (!known || known.written <= one.written) all.get(one.same).set(one.tile, one);
  }
  return all;
}

/** By the rule of src/report/receipt_diff.cpp, whose thresholds are in the data. */
function compared(before, after) {
  const {no_effect, tolerance} = page.data.diff;
  const [ratio, low, high] = [before.measured / after.measured, before.low / after.high, before.high / after.low];
  const change = low > 1 && ratio > 1 + no_effect ? "faster" : high < 1 && ratio < 1 / (1 + no_effect) ? "slower" : "same";
  const prediction = after.predicted === undefined ? "none" : Math.abs(after.predicted / after.measured - 1) <= tolerance ? "hit" : "missed";
  return {before, after, ratio, low, high, change, prediction};
}

/** Cases of one name are paired by tile, or where each side ran a single tile whatever it was. */
function diffOf(before, after) {
  const [old, fresh] = [casesBySame(before), casesBySame(after)];
  const diff = {cases: [], only_before: 0, only_after: 0};
  for (const same of new Set([...old.keys(), ...fresh.keys()])) {
    const [was, is] = [old.get(same) ?? new Map(), fresh.get(same) ?? new Map()];
    if (was.size === 1 && is.size === 1) {
      diff.cases.push(compared([...was.values()][0], [...is.values()][0]));
      continue;
    }
    for (const [tile, one] of was) {
      if (is.has(tile)) diff.cases.push(compared(one, is.get(tile)));
      else diff.only_before += 1;
    }
    diff.only_after += [...is.keys()].filter(tile => !was.has(tile)).length;
  }
  return diff;
}

/** At first: the two files of the page; else the two commits that have most cases in common, of equal ones the latest. */
function firstDiff(sides) {
  const files = sides.filter(({id}) => id.startsWith("file"));
  if (page.data.files.length === 2 && files.length === 2) {
    return files.map(({id}) => id).sort();  // in the order in which they were named
  }
  const commits = sides.filter(({id}) => id.startsWith("commit"));
  const names = commits.map(({cases}) => new Set(cases.map(one => one.same)));
  let most = 0, first = [sides[0].id, sides[1].id];
  for (let after = commits.length - 1; after > 0; after--) {
    for (let before = after - 1; before >= 0; before--) {
      const common = [...names[before]].filter(same => names[after].has(same)).length;
      if (common > most) [most, first] = [common, [commits[before].id, commits[after].id]];
    }
  }
  return first;
}

const tileChange = ({before, after}) => before.tile === after.tile ? after.tile : `${before.tile} → ${after.tile}`;
const errorOf = one => one.predicted === undefined ? undefined : one.predicted / one.measured - 1;
const errorColumn = (name, title, of) => ({name, title, number: true, bySize: true, of: pair => errorOf(of(pair)) === undefined ? undefined : Math.abs(errorOf(of(pair))),
                                           show: pair => errorOf(of(pair)) === undefined ? "—" : rowLink(signedPercent(errorOf(of(pair))), of(pair).row)});

function showDiff() {
  const sides = diffSides();
  // A file and the one commit that it was written at are no two runs.
  if (!["file", "commit"].some(kind => sides.filter(({id}) => id.startsWith(kind)).length > 1)) return;
  byId("diff").hidden = false;
  document.querySelector('nav a[href="#diff"]').hidden = false;
  if (!diffChosen.before) [diffChosen.before, diffChosen.after] = firstDiff(sides);
  const changed = name => value => {
    diffChosen[name] = value;
    delete tableOnly["diff-table"];
    showDiff();
    byId(`diff-${name}`).focus();
  };
  const [before, after] = [diffChosen.before, diffChosen.after].map(id => sides.find(side => side.id === id));
  const names = new Set(before.cases.map(one => one.same));
  const sideText = side => `${side.title} (${side.written.slice(0, 10)}, ${plural(side.cases.length, "case")})`;
  // Of what may stand after, those that share a case come first.
  const shares = side => side.cases.some(one => names.has(one.same));
  byId("diff-controls").replaceChildren(
    choice("diff-before", "Before", sides.map(side => [side.id, sideText(side)]), changed("before"), diffChosen.before),
    choice("diff-after", "After", [...sides.filter(shares), ...sides.filter(side => !shares(side))].map(side =>
      [side.id, `${sideText(side)}${shares(side) ? "" : ", no case in common"}`]), changed("after"), diffChosen.after));
  const diff = diffOf(before, after);
  const count = (member, word, what) => {
    const some = diff.cases.filter(one => one[member] === word);
    return rowsLink(String(some.length), "diff-table", what, some);
  };
  byId("diff-said").replaceChildren(...(diff.cases.length === 0 ? ["No case was timed on both sides."] : [
    `Of ${plural(diff.cases.length, "case")} that both timed, `, count("change", "faster", "became faster"), " became faster, ", count("change", "slower", "became slower"), " slower, and ",
    count("change", "same", "did not change"), ` did not change (the interval holds 1, or it is within ${percent(page.data.diff.no_effect)}); `,
    count("prediction", "missed", "mispredicted after"), ` are mispredicted after, by more than ${percent(page.data.diff.tolerance)}.`]),
    ` ${diff.only_before} stand before alone, ${diff.only_after} after alone.`);
  const ways = unique(diff.cases.map(one => one.after.way));
  const call = callColumn(ways);
  sortableTable(byId("diff-table"), "Cases of two runs", [
    // In this order, as a narrow window shows the first three at least.
    {name: "shape", title: "Shape", wide: true, of: one => one.after.shape, show: one => breakable(one.after.shape)},
    {name: "ratio", title: "Before / after", number: true, of: one => one.ratio, show: one => rowLink([`${fixed(one.ratio, 3)} `, make("wbr"), `(${fixed(one.low, 3)} to ${fixed(one.high, 3)})`], one.after.row)},
    textColumn("change", "Change"),
    {name: "kernel", title: "Kernel", of: one => one.after.kernel, show: one => breakable(one.after.kernel, "_")},
    // Cases of one name that were launched in several ways are several.
    ...(ways.length > 1 ? [{...call, of: one => call.of(one.after), show: one => call.show(one.after)}] : []),
    {name: "before", title: "Before", number: true, of: one => one.before.measured, show: one => rowLink(seconds(one.before.measured), one.before.row)},
    {name: "after", title: "After", number: true, of: one => one.after.measured, show: one => rowLink(seconds(one.after.measured), one.after.row)},
    errorColumn("error_before", "Error before", one => one.before), errorColumn("error_after", "Error after", one => one.after),
    textColumn("prediction", "Prediction"),
    {name: "tile", title: "Tile", wide: true, of: tileChange, show: one => breakable(tileChange(one) || "—")},
    {name: "device", title: "Device", of: one => one.after.device, show: one => one.after.device},
  ], diff.cases, {by: "ratio", least: 3});
}
