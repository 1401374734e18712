// SPDX-License-Identifier: Apache-2.0
// What if: the project's own model and the kernels' counts, compiled to WebAssembly. This file asks
// and shows; it computes no time.

// The shape is one text, in the words of `--shape`. Sliders, choices and suites write it, and show what the model read
// out of it: `answered` is its last answer to a shape that it understood. That has the shape in its canonical words, which
// is what sliders change: a typed one may have others for them, as heads=32/8 for h=32/8.
const whatIf = {model: null, device: "h200", ceilings: {}, kernel: "", text: "", wrong: false, answered: null, timer: 0};

// Of the fields that a slider moves: its steps, and where the answer has it. `fixed` says when the shape has no such single number.
const ragged = (workload, side) => Boolean(workload[`seqlens_${side}`]);
const shapeSliders = [
  {name: "batch", text: "sequences", steps: [1, 2, 4, 8, 16, 32, 64, 128, 256], of: w => w.batch, fixed: w => ragged(w, "q") || ragged(w, "k")},
  {name: "heads", text: "query heads", steps: [1, 2, 4, 8, 16, 24, 32, 40, 64, 128], of: w => w.heads_q},
  {name: "kv", text: "heads of K and V", steps: [1, 2, 4, 8, 16, 24, 32, 40, 64, 128], of: w => w.heads_kv, fixed: w => w.mla},
  {name: "q", text: "queries a sequence", steps: [1, 2, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768], of: w => w.seqlen_q, fixed: w => ragged(w, "q")},
  {name: "k", text: "keys a sequence", steps: [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072], of: w => w.seqlen_k, fixed: w => ragged(w, "k")},
  {name: "d", text: "head dim", steps: [32, 64, 80, 96, 128, 192, 256], of: w => w.headdim, fixed: w => w.mla || w.headdim !== w.headdim_v},
];
const shapeChoices = [
  {name: "dtype", text: "Type", choices: ["fp32", "fp16", "bf16", "e4m3"], of: w => w.dtype},
  {name: "cache", text: "Cache", choices: ["own", "e4m3", "nvfp4"], of: w => w.kv_dtype === w.dtype ? "own" : w.kv_dtype, show: value => value === "own" ? "as the queries" : value},
  {name: "page", text: "Pages", choices: ["0", "16", "64", "256"], of: w => String(w.page_size), show: value => value === "0" ? "none" : value},
  {name: "mask", text: "Mask", choices: ["full", "causal"], of: w => w.mask},
];

const isOther = workload => Boolean(workload.op) && workload.op !== "attention";

/** Whole numbers of an operation's shape in its canonical words, as [{field, at, of, number}]: n=8192x4096 has two. */
function sizesOf(shape) {
  return shape.split(",").flatMap(part => {
    const [field, value] = part.split("=");
    const numbers = /^\d+(x\d+)*$/.test(value ?? "") ? value.split("x") : [];
    return numbers.map((number, at) => ({field, at, of: numbers.length, number: Number(number)}));
  });
}

function withSize(shape, {field, at}, number) {
  return shape.split(",").map(part => {
    const [name, value] = part.split("=");
    return name === field ? `${name}=${value.split("x").map((one, i) => i === at ? number : one).join("x")}` : part;
  }).join(",");
}

/** A shape in its canonical words with one field set; all else stays as it is. */
function withField(shape, name, value, workload) {
  const parts = shape.split(",").map(part => part.trim()).filter(Boolean);
  const put = (key, text) => {
    const at = parts.findIndex(part => part.split("=")[0] === key);
    if (at < 0 && text) parts.push(text);
    else if (at >= 0) parts.splice(at, 1, ...(text ? [text] : []));
  };
  if (isOther(workload)) {
    put(name, `${name}=${value}`);
    return parts.join(",");
  }
  const heads = name === "heads" ? value : workload.heads_q;
  // The next fewer heads of K and V that divide those of Q.
  let kv = Math.min(name === "kv" ? value : workload.heads_kv, heads);
  while (heads % kv !== 0) kv -= 1;
  if (name === "heads" || name === "kv") put("h", workload.mla ? `h=${heads}` : `h=${heads}/${kv}`);
  else if (name === "mask") {
    put("full", "");
    put("causal", value === "causal" ? "causal" : "");
  }
  else if (name === "page") put("page", value === "0" ? "" : `page=${value}`);
  else if (name === "cache") put("kv", value === "own" ? "" : `kv=${value}`);
  else if (name === "dtype") {
    put("dtype", `dtype=${value}`);
    // A cache of the type of Q stays one.
    const own = workload.kv_dtype === workload.dtype || workload.kv_dtype === value;
    put("kv", own ? "" : `kv=${workload.kv_dtype}`);
  } else put({batch: "b"}[name] ?? name, `${{batch: "b"}[name] ?? name}=${value}`);
  return parts.join(",");
}

/** The device with every changed ceiling; `scale` is what the slider multiplies by. */
function assumedDevice() {
  const device = structuredClone(page.data.what_if.devices[whatIf.device]);
  for (const [id, scale] of Object.entries(whatIf.ceilings)) {
    // Bounds go by what the datasheet says, where a kernel goes by less: both are one ceiling.
    for (const rate of [device.rates[id], device.rates[`${id}.datasheet`]]) {
      if (rate) rate.value *= scale;
    }
  }
  return device;
}

function question() {
  const device = assumedDevice();
  return {shape: whatIf.text, device, kernel: whatIf.kernel, cold: true,
          launch_path: device.kind === "cpu" ? "parallel" : "graph"};
}

function ask(asked) {
  return JSON.parse(whatIf.model.ccall("raceline_what_if", "string", ["string"], [JSON.stringify(asked)]));
}

/** `limits` says of a name whether its bar is the limiter's. */
function bars(id, entries, limits) {
  const most = Math.max(...entries.map(([, value]) => value ?? 0), 1e-12);
  return make("div", {id, class: "bars"}, entries.flatMap(([name, value]) => [
    make("span", {}, limits(name) ? make("strong", {}, name) : name),
    make("div", {class: limits(name) ? "bar limit" : "bar", style: `width:${Math.max(0.3, 100 * value / most)}%`, "aria-hidden": "true"}),
    make("span", {}, seconds(value))]));
}

/** Whether a term is the limiter, or a part of it: the parts of launching count as one (src/model/schedule.cpp). */
const limitsAsTerm = limiter => name => name === limiter || (limiter === "launch" && name.startsWith("launch."));

/** Where the limiter has no bar among the terms or among the resources, why, and where it is. */
function limiterText({limiter, terms, resources}) {
  const among = terms.some(([name, value]) => value !== 0 && limitsAsTerm(limiter)(name));
  if (limiter in resources && among) return "";
  const where = among ? "; its bar, with its name in bold, is among the terms" : "";
  if (limiter === "tail" && !among) return "The limiter tail has no bar: units hold no work for so much of the time, which no term counts by itself.";
  if (["tail", "latency", "launch"].includes(limiter)) return `The limiter ${limiter} is no resource and has no ceiling${where}.`;
  return limiter in resources ? `The limiter ${limiter} has no term of its own: its work lies beside others.`
    : `The work of the limiter ${limiter} is not counted by itself here${where}.`;
}

/** Origins of rates that a probe measured on the device itself, in the words of src/device/rate_origin.cpp: this build's, or those of a row or a file of the page. */
const probed = ["committed", "measured here", "rates file"];

/** Where the rates behind an answer come from: those of the kernel that it names, else that of the bound. */
function ratesText(best, bound) {
  const origins = best ? Object.entries(best.rates) : bound.rates ? [[bound.limiter, bound.rates]] : [];
  const stated = origins.filter(([, origin]) => !probed.includes(origin));
  const moved = Object.keys(whatIf.ceilings).length > 0 ? " Ceilings that were moved are assumed." : "";
  if (origins.length === 0) return moved.trim();
  const whose = best ? "rates" : "bound's rates";
  const own = page.data.what_if.own.includes(whatIf.device);
  if (stated.length === 0) return `Its ${whose} were measured on this device${own ? ", as rows of this page say" : ", and are committed"}.${moved}`;
  const which = stated.map(([id, origin]) => `${id} (${origin})`).join(", ");
  return `${stated.length === origins.length ? `None of its ${whose} was measured on this device` : `Not all of its ${whose} were measured on this device`}: ${which}.` +
    `${stated.some(([, origin]) => origin.includes(" of ")) ? " The factor is what the named device was measured to reach of its own." : ""}${moved}`;
}

/** Why no time stands in an answer. The one kernel that was chosen says nothing of the others. */
function noTime(call, refused, rungs) {
  const one = refused.find(({kernel}) => kernel === (whatIf.kernel || call));
  if (one?.reason) return `${one.kernel} does not serve this shape on this device: ${one.reason}. `;
  if (one) return `With these ceilings the time of ${one.kernel} is no number. `;
  if (rungs.length > 0) return "The API has no kernel for this shape on this device; rungs of the ladder, which it does not run, are below. ";
  return `No kernel ${refused.some(one => one.reason) ? "serves this shape on this device" : "has a time that is a number"}. `;
}

/** The kernel that the API runs, or the one that was chosen, and what it takes. */
function verdictOf(best, call) {
  const name = make("strong", {id: "whatif-kernel"}, best.kernel);
  return [...(best.kernel === call ? ["The API runs ", name, " here, which takes "] : [name, " takes "]),
    make("span", {id: "whatif-seconds"}, seconds(best.seconds)), ", limited by ",
    make("strong", {id: "whatif-limiter"}, best.limiter), ` (tile ${best.tile}). `,
    isRung(best.kernel) ? "It is a rung of the ladder: the API runs it only where it is named. " : ""];
}

/** A table of kernels with their times: what the API runs first, the others after it. */
function kernelTable(where, caption, kernels, call) {
  // Below the time of any other: it stays first where others are listed by their time.
  const order = one => one.kernel === call ? -1 : one.seconds;
  sortableTable(where, caption, [
    {...textColumn("kernel", "Kernel"), show: one => one.kernel === call ? make("strong", {}, breakable(one.kernel, "_")) : breakable(one.kernel, "_")},
    numberColumn("seconds", "Time", one => seconds(one.seconds)), textColumn("limiter", "Limiter"), textColumn("tile", "Tile", true),
    ...(call ? [{name: "call", title: "API", of: order, show: one => one.kernel === call ? "runs it" : "—"}] : []),
  ], kernels, {by: call ? "call" : "seconds"});
}

function showAnswer(answer) {
  const where = byId("whatif-answer");
  if (answer.error) {
    where.replaceChildren(make("p", {class: "note", id: "whatif-error"}, answer.error));
    return;
  }
  const {bound, call} = answer;
  const served = answer.kernels.filter(one => Number.isFinite(one.seconds));
  const refused = answer.kernels.filter(one => !Number.isFinite(one.seconds));
  // A rung that was chosen stands alone; else rungs stand apart from what the API has.
  const apart = one => !whatIf.kernel && isRung(one.kernel);
  const engines = served.filter(one => !apart(one)), rungs = served.filter(apart);
  const best = engines.find(one => whatIf.kernel || one.kernel === call);
  const stillOpen = id => Boolean(byId(id)?.open);
  const shorter = best ? engines.filter(one => one.seconds < best.seconds) : [];
  where.replaceChildren(
    make("p", {class: "verdict", id: "whatif-verdict"}, ...(best ? verdictOf(best, call) : [noTime(call, refused, rungs)]),
      ...(bound.limiter ? ["No program is faster than ", make("span", {id: "whatif-bound"}, seconds(bound.seconds)), `, bound by ${bound.limiter}.`] : ["Nothing is known that bounds it."])),
    ...(best?.caveats ?? []).map(caveat => make("p", {class: "note caveat"}, caveat)),
    make("p", {id: "whatif-origin"}, ratesText(best, bound)),
    ...(best ? [make("h3", {}, "Terms of its time"), bars("whatif-terms", best.terms.filter(([, value]) => value !== 0), limitsAsTerm(best.limiter))] : []),
    // A shape without work has none.
    ...(best && Object.keys(best.resources).length > 0
      ? [make("h3", {}, "Work over ceiling, by resource"), bars("whatif-resources", Object.entries(best.resources).sort((a, b) => b[1] - a[1]), name => name === best.limiter)] : []),
    ...(best && limiterText(best) ? [make("p", {id: "whatif-limiter-where"}, limiterText(best))] : []),
    make("h3", {}, "Kernels"),
    ...(shorter.length > 0 ? [make("p", {id: "whatif-shorter"}, `The model's own time of ${shorter.map(one => one.kernel).join(" and of ")} is shorter. ` +
      "The API compares times less the errors of earlier predictions; of kernels that are then nearly as fast it runs the one that keeps the device least busy.")] : []),
    make("div", {id: "whatif-kernels"}),
    ...(rungs.length > 0 ? [make("details", {id: "whatif-rungs", open: stillOpen("whatif-rungs"), toggle: fitTables},
      make("summary", {}, `${plural(rungs.length, "rung")} of the ladder, for teaching; the API does not run ${rungs.length === 1 ? "it" : "them"}`),
      make("div", {id: "whatif-rungs-table"}))] : []),
    make("details", {id: "whatif-others", open: stillOpen("whatif-others")}, make("summary", {}, `${plural(refused.length, "kernel")} that ${refused.length === 1 ? "does" : "do"} not serve it, and why`),
      make("ul", {}, refused.map(one => make("li", {}, make("strong", {}, one.kernel), `${isRung(one.kernel) ? ", a rung" : ""}: ${one.reason ?? "with these ceilings its time is no number"}`)))));
  kernelTable(byId("whatif-kernels"), "Kernels, predicted", engines, call);
  if (rungs.length > 0) kernelTable(byId("whatif-rungs-table"), "Rungs of the ladder, predicted", rungs, null);
}

/** Every control shows the shape that the text is: what the model read, or of a text that it does not understand nothing. */
function showShape() {
  const text = byId("whatif-shape");
  if (text.value !== whatIf.text) text.value = whatIf.text;
  text.setAttribute("aria-invalid", String(whatIf.wrong));
  const workload = whatIf.answered?.workload;
  const suite = byId("whatif-suite");
  suite.value = [...suite.options].some(option => option.value === (whatIf.answered?.shape ?? "")) && !whatIf.wrong ? whatIf.answered?.shape ?? "" : "";
  if (!workload) return;
  const other = isOther(workload);
  showSizes(other);
  for (const {name, steps, of, fixed: isFixed} of shapeSliders) {
    const slider = byId(`whatif-${name}`);
    const still = other || Boolean(isFixed?.(workload));
    slider.disabled = still;
    const said = whatIf.wrong || other ? "—" : still && (name === "q" || name === "k" || name === "batch") ? "as typed" : String(of(workload));
    slider.parentElement.querySelector("output").textContent = said;
    slider.setAttribute("aria-valuetext", said);
    if (!other) slider.value = String(Math.max(0, steps.findLastIndex(step => step <= of(workload))));
  }
  for (const {name, of, choices, show} of shapeChoices) {
    const select = byId(`whatif-${name}`);
    select.disabled = other && name !== "dtype";
    const value = other && name !== "dtype" ? "" : String(of(workload));
    // What the list does not have, as a page of 32, is added: the choice shows what holds.
    const listed = value === "" || choices.includes(value) ? choices : [...choices, value];
    select.replaceChildren(...listed.map(one => make("option", {value: one}, show?.(one) ?? one)));
    select.value = whatIf.wrong ? "" : value;
  }
}

/** An operation's sizes in the place of attention's sliders. */
function showSizes(other) {
  const where = byId("whatif-sizes");
  where.hidden = !other;
  for (const {name} of shapeSliders) byId(`whatif-${name}`).parentElement.hidden = other;
  for (const {name} of shapeChoices) byId(`whatif-${name}`).parentElement.hidden = other && name !== "dtype";
  const sizes = other ? sizesOf(whatIf.answered.shape) : [];
  const id = ({field, at}) => `whatif-size-${field}-${at}`;
  // Made anew for another operation only: a slider that is being moved stays.
  if (where.dataset.of !== sizes.map(id).join()) {
    where.dataset.of = sizes.map(id).join();
    where.replaceChildren(...sizes.map(size => {
      const slider = make("input", {id: id(size), type: "range", min: "0", max: "20", step: "1",
                                    input: () => setShape(withSize(whatIf.answered.shape, size, 2 ** Number(slider.value)))});
      const words = size.of === 2 ? ["rows", "width"][size.at] : size.field;
      return make("label", {for: id(size)}, words, make("output", {for: id(size)}, "—"), slider);
    }));
  }
  for (const size of sizes) {
    const slider = byId(id(size));
    const said = whatIf.wrong ? "—" : String(size.number);
    slider.value = String(Math.round(Math.log2(Math.max(1, size.number))));
    slider.setAttribute("aria-valuetext", said);
    slider.parentElement.querySelector("output").textContent = said;
  }
}

/** At most one question waits: a slider that moves on replaces it. */
function askSoon() {
  clearTimeout(whatIf.timer);
  if (!whatIf.model) return;  // it asks once it is there
  whatIf.timer = setTimeout(askNow, 40);
}

function askNow() {
  clearTimeout(whatIf.timer);
  whatIf.timer = 0;
  const answer = ask(question());
  whatIf.wrong = Boolean(answer.error);
  if (!answer.error) whatIf.answered = answer;
  showShape();
  showAnswer(answer);
  byId("whatif-body").dataset.answered = String(Number(byId("whatif-body").dataset.answered ?? 0) + 1);
}

function stepSlider({name, text, steps}) {
  const id = `whatif-${name}`;
  const slider = make("input", {id, type: "range", min: "0", max: String(steps.length - 1), step: "1", value: "0",
                                input: () => moveField(name, steps[Number(slider.value)])});
  return make("label", {for: id}, text, make("output", {for: id}, "—"), slider);
}

const originOf = rate => page.data.what_if.origins[rate.source] ?? rate.source;

function ceilingSliders() {
  const {rates} = page.data.what_if.devices[whatIf.device];
  return Object.entries(rates).filter(([id]) => !id.endsWith(".datasheet")).map(([id, rate]) => {
    const output = make("output", {}, quantity(rate.value, id));
    const slider = make("input", {id: `ceiling-${id}`, type: "range", min: "-3", max: "3", step: "0.05", value: "0", "aria-valuetext": quantity(rate.value, id), input: () => {
      const scale = 2 ** Number(slider.value);
      if (scale === 1) delete whatIf.ceilings[id];
      else whatIf.ceilings[id] = scale;
      output.textContent = quantity(rate.value * scale, id);
      slider.setAttribute("aria-valuetext", output.textContent);
      origin.textContent = scale === 1 ? originOf(rate) : `assumed: ${digits(scale)} times ${quantity(rate.value, id)}, which is ${originOf(rate)}`;
      askSoon();
    }});
    const origin = make("span", {class: "faint origin"}, originOf(rate));
    return make("label", {for: `ceiling-${id}`}, id, output, slider, origin);
  });
}

function showCeilings() {
  whatIf.ceilings = {};
  byId("whatif-ceilings").replaceChildren(...ceilingSliders());
}

function setShape(text) {
  whatIf.text = text;
  byId("whatif-shape").value = text;
  askSoon();
}

/** Sets a field of the shape; of a text that the model does not understand, of the one before it. */
function moveField(name, value) {
  if (!whatIf.answered) return;  // the model is not there yet
  if (whatIf.timer !== 0) askNow();  // what was set a moment ago counts too
  const output = byId(`whatif-${name}`).parentElement.querySelector("output");
  if (output) output.textContent = String(value);
  byId(`whatif-${name}`).setAttribute("aria-valuetext", String(value));
  setShape(withField(whatIf.answered.shape, name, value, whatIf.answered.workload));
}

function showControls() {
  const {what_if: from} = page.data;
  whatIf.text = "b=64,h=32/8,q=1,k=8192,d=128,dtype=bf16";
  const suites = make("select", {id: "whatif-suite", change: event => event.target.value && setShape(event.target.value)},
    make("option", {value: ""}, "none of them"), from.suites.map(([name, shapes]) => make("optgroup", {label: name}, shapes.map(shape => make("option", {value: shape}, shape)))));
  return make("div", {class: "sliders"},
    make("div", {class: "controls"},
      choice("whatif-device", "Device", Object.keys(from.devices).map(name => [name, name === "cpu" && !from.own.includes(name) ? "cpu (generic)" : name]), value => {
        whatIf.device = value;
        showCeilings();
        askSoon();
      }, whatIf.device),
      choice("whatif-which", "Kernel", [["", "all"], ...kernelChoices(from.kernels.map(([name]) => name))], value => {
        whatIf.kernel = value;
        askSoon();
      }, "")),
    make("label", {for: "whatif-suite"}, "A shape of a suite", suites),
    make("label", {for: "whatif-shape"}, "Shape, which may also be typed",
      make("input", {id: "whatif-shape", style: "grid-column: 1 / 3", value: whatIf.text, input: event => setShape(event.target.value)})),
    ...shapeSliders.map(stepSlider),
    make("div", {id: "whatif-sizes", class: "sliders", hidden: true}),
    make("div", {class: "controls"},
      ...shapeChoices.map(({name, text, choices, show}) => choice(`whatif-${name}`, text, choices.map(one => [one, show?.(one) ?? one]), value => moveField(name, value)))),
    make("details", {id: "whatif-rates"}, make("summary", {}, "Ceilings, from an eighth to eight times"), make("div", {id: "whatif-ceilings"})),
    make("button", {type: "button", id: "whatif-reset", click: () => {
      showCeilings();
      askSoon();
    }}, "Ceilings as they were"));
}

function showWhatIf() {
  const body = byId("whatif-body");
  if (!byId("model")) {
    body.replaceChildren(make("p", {class: "note", id: "whatif-absent"}, "The what-if panel is not in this build: the model was not compiled to WebAssembly. Install emscripten (tools/bootstrap.sh page), configure with -DRACELINE_PAGE_MODEL=ON and build again."));
    return;
  }
  body.replaceChildren(
    make("p", {}, "The project's own model and the kernels' own counts, compiled to WebAssembly. What is named first is the kernel that the API runs on such a device, as ", make("code", {}, "raceline predict"), " names it. Times are the model's, with its calibrated constants; no committed error is taken out of them. Below the answer stands where its rates come from: measured on the device, or a datasheet's. The call is cold and, on a GPU, in a graph."),
    make("div", {class: "what-if"}, showControls(), make("div", {id: "whatif-answer", "aria-live": "polite"}, "Loading the model.")));
  showCeilings();
  whenNear(body, async () => {
    try {
      whatIf.model = await loadModel();
    } catch (error) {
      byId("whatif-answer").replaceChildren(make("p", {class: "note", id: "whatif-refused"},
        `This browser did not start the model, which is WebAssembly: ${error.message}. Nothing of this panel can be answered here.`));
      return;
    }
    askSoon();
  });
}

/** Emscripten would fetch the module out of its own text, which a page without network forbids. */
async function loadModel() {
  const [script, bytes] = [await unpacked("model"), await unpackedBody("module").arrayBuffer()];
  return new Promise((resolve, reject) => {
    new Function(`${script}; return racelineModel;`)()({
      // Emscripten waits for ever where nothing is done.
      instantiateWasm: (imports, done) => {
        WebAssembly.instantiate(bytes, imports).then(({instance}) => done(instance)).catch(reject);
        return {};
      },
    }).then(resolve, reject);
  });
}
