// SPDX-License-Identifier: Apache-2.0
// Which cases the roofline and its table show: the choices, what a page begins with, and the line that says how many are
// not shown.

/** `kernel` may be all that the API runs; `commit` is "" for all, or the newest that the other choices leave a case of. */
const allEngines = "*engines", newestCommit = "newest";
const chosen = {level: "dram", device: "", suite: "", kernel: "", commit: ""};

/** How many cases can be told apart in one chart. */
const fewCases = 60;

/** Kernels of a call, and rungs of the ladder; what is neither is not in this build. */
const isRung = name => page.data.what_if.kernels.some(([kernel, , ladder]) => kernel === name && ladder);
const isEngine = name => page.data.what_if.kernels.some(([kernel, , ladder]) => kernel === name && !ladder);

const casesHere = () => page.data.cases.filter(one => one.device === chosen.device);

/**
 * The newest commit with more than ten cases of a suite that can be drawn; without one, with any such case, with any case
 * that can be drawn, and else with any.
 */
function newestOf(cases) {
  const drawn = cases.filter(one => drawable(one.ai.dram) && drawable(one.flops / one.measured));
  const ofSuites = drawn.filter(one => one.suite);
  const counts = new Map();
  const group = one => `${one.commit} ${one.suite}`;
  for (const one of ofSuites) counts.set(group(one), (counts.get(group(one)) ?? 0) + 1);
  const ofLarge = ofSuites.filter(one => counts.get(group(one)) > 10);
  return [ofLarge, ofSuites, drawn, cases].find(some => some.length > 0)?.reduce((last, one) => last && last.written >= one.written ? last : one, undefined)?.commit;
}

function casesLeft() {
  const {suite, kernel, commit} = chosen;
  const engines = new Set(kernel === allEngines ? page.data.what_if.kernels.filter(([name]) => isEngine(name)).map(([name]) => name) : []);
  const left = casesHere().filter(one => (suite === "" || one.suite === suite) &&
    (kernel === "" || (kernel === allEngines ? engines.has(one.kernel) : one.kernel === kernel)));
  if (commit === "") return left;
  const only = commit === newestCommit ? newestOf(left) : commit;
  return left.filter(one => one.commit === only);
}

/**
 * A device begins with all of its cases, if they are few; else with kernels of the API and at their newest commit, as much of
 * this as leaves few, in the suite that has most cases there.
 */
function beginWith(device) {
  Object.assign(chosen, {device, suite: "", kernel: "", commit: ""});
  const narrower = [
    () => casesHere().some(one => isEngine(one.kernel)) && (chosen.kernel = allEngines),
    () => { chosen.commit = newestCommit; },
    () => {
      const counts = new Map();
      for (const {suite, ai, flops, measured} of casesLeft()) {
        if (suite && drawable(ai.dram) && drawable(flops / measured)) counts.set(suite, (counts.get(suite) ?? 0) + 1);
      }
      chosen.suite = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]?.[0] ?? "";
    }];
  const isLarge = casesLeft().length > fewCases;
  for (const step of narrower) {
    if (casesLeft().length > fewCases || (isLarge && step === narrower.at(-1))) step();
  }
}

/** What was chosen last holds: where it leaves no case, the other choices give way. */
function giveWay(kept) {
  const [one, other] = [["commit", newestCommit], ["suite", ""], ["kernel", ""]].filter(([name]) => name !== kept);
  const before = {...chosen};
  for (const wider of [[], [one], [other], [one, other]]) {
    Object.assign(chosen, before, Object.fromEntries(wider));
    if (casesLeft().length > 0) return;
  }
}

/** Whether a device is shown as the page begins. */
function isAsAtFirst() {
  const now = {...chosen};
  beginWith(chosen.device);
  const same = Object.entries(now).every(([name, value]) => chosen[name] === value);
  Object.assign(chosen, now);
  return same;
}

const suiteName = suite => suite || "(single shapes)";

/** Names of kernels as choices of their own: those of a call, rungs, and those that this build does not have. */
function kernelChoices(names) {
  const groups = [["Kernels of the API", isEngine], ["Rungs of the ladder, for teaching", isRung], ["Not in this build", name => !isEngine(name) && !isRung(name)]];
  return groups.map(([title, is]) => [title, names.filter(is).map(name => [name, name])]).filter(([, of]) => of.length > 0);
}

/** After a change of what is chosen: everything that shows it. */
function showChosen(focus) {
  delete tableOnly["cases-table"];
  showFilters();
  showCases();
  byId(focus)?.focus();
}

/** One kernel of the chart alone; once more, and the choice before it is back. */
function chooseAlone(name) {
  const alone = chosen.kernel === name;
  if (!alone) chooseAlone.before = chosen.kernel;
  chosen.kernel = alone ? chooseAlone.before ?? "" : name;
  giveWay("kernel");
  showChosen("choose-kernel");
}

function showFilters() {
  const {cases, roofs} = page.data;
  // A device of which there are ceilings alone has roofs.
  const count = new Map(Object.keys(roofs).map(name => [name, 0]));
  cases.forEach(one => count.set(one.device, (count.get(one.device) ?? 0) + 1));
  const devices = [...count].sort((a, b) => b[1] - a[1]);
  if (!count.has(chosen.device)) beginWith(devices[0]?.[0] ?? "");
  const here = casesHere();
  const kernels = unique(here.map(one => one.kernel));
  // Only levels of which a case of this device has bytes: those of the others nobody counted.
  const counted = levels.filter(({id}) => id === "dram" || here.some(one => one.ai[id] > 0));
  if (!counted.some(({id}) => id === chosen.level)) chosen.level = "dram";
  const changed = name => value => {
    chosen[name] = value;
    if (name === "device") beginWith(value);
    else giveWay(name);
    showChosen(`choose-${name}`);
  };
  const engines = kernels.some(isEngine) && !kernels.every(isEngine) ? [[allEngines, "all of the API"]] : [];
  byId("filters").replaceChildren(
    choice("choose-device", "Device", devices.map(([name, n]) => [name, `${name} (${plural(n, "case")})`]), changed("device"), chosen.device),
    choice("choose-level", "Memory level", counted.map(({id, title}) => [id, title]), changed("level"), chosen.level),
    choice("choose-suite", "Suite", [["", "all"], ...unique(here.map(one => one.suite)).filter(Boolean).map(name => [name, name])], changed("suite"), chosen.suite),
    choice("choose-kernel", "Kernel", [["", "all"], ...engines, ...kernelChoices(kernels)], changed("kernel"), chosen.kernel),
    choice("choose-commit", "Commit", [["", "all"], [newestCommit, "the newest"],
      ...commitsOf(here).map(one => [one.commit, commitText({...one, stale: false}, "case")])], changed("commit"), chosen.commit));
  showShown(here);
}

/** What is shown, how many cases are not, and a button for all of them, or for what the page began with. */
function showShown(here) {
  const left = casesLeft();
  const {device, suite, kernel, commit} = chosen;
  const others = page.data.cases.length - here.length;
  const elsewhere = others > 0 ? ` Other devices have ${plural(others, "case")}.` : "";
  const of = [kernel === allEngines ? "kernels of the API, without rungs of the ladder" : kernel, suite && `suite ${suite}`,
              commit && left.length > 0 && `commit ${commitName(commitsOf(left)[0])}${commit === newestCommit ? ", the newest of a large suite" : ""}`].filter(Boolean);
  const more = here.length - left.length;
  const button = (id, text, press) => make("button", {type: "button", id, click: press}, text);
  byId("roofline-shown").replaceChildren(
    here.length === 0 ? elsewhere.trim() : more > 0 ? `Shown: ${left.length.toLocaleString("en")} of ${plural(here.length, "case")} of ${device}: ${of.join("; ")}. Not shown: ${more.toLocaleString("en")}.${elsewhere} `
      : `Shown: ${here.length === 1 ? "the one case" : `all ${plural(here.length, "case")}`} of ${device}.${elsewhere} `,
    ...(more > 0 ? [button("show-all", `Show all ${here.length.toLocaleString("en")}`, () => {
      Object.assign(chosen, {suite: "", kernel: "", commit: ""});
      showChosen("show-first");
    }), " "] : []),
    ...(!isAsAtFirst() ? [button("show-first", "Back to the first view", () => {
      beginWith(chosen.device);
      showChosen("show-all");
    })] : []));
}
