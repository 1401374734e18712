// SPDX-License-Identifier: Apache-2.0
// What if: the project's own model and the kernels' counts, compiled to WebAssembly. This file asks
// and shows; it computes no time.

const whatIf = {model: null, device: "h200", ceilings: {}, kernel: "", shape: {}, wanted: null, timer: 0};

// Of the fields that a slider moves: its steps.
const shapeSliders = [
  ["batch", "sequences", [1, 2, 4, 8, 16, 32, 64, 128, 256]],
  ["heads", "query heads", [1, 2, 4, 8, 16, 24, 32, 40, 64, 128]],
  ["kv", "heads of K and V", [1, 2, 4, 8, 16, 24, 32, 40, 64, 128]],
  ["q", "queries a sequence", [1, 2, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]],
  ["k", "keys a sequence", [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072]],
  ["d", "head dim", [32, 64, 80, 96, 128, 192, 256]],
];

function shapeText({batch, heads, kv, q, k, d, dtype, cache, page: pages, mask}) {
  const parts = [`b=${batch}`, `h=${heads}/${Math.min(kv, heads)}`, `q=${q}`, `k=${k}`, `d=${d}`, `dtype=${dtype}`];
  if (cache) parts.push(`kv=${cache}`);
  if (pages) parts.push(`page=${pages}`);
  if (mask) parts.push(mask);
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
  return {shape: byId("whatif-shape").value, device, kernel: whatIf.kernel, cold: true,
          launch_path: device.kind === "cpu" ? "parallel" : "graph"};
}

function ask(asked) {
  return JSON.parse(whatIf.model.ccall("raceline_what_if", "string", ["string"], [JSON.stringify(asked)]));
}

function bars(entries, limit) {
  const most = Math.max(...entries.map(([, value]) => value), 1e-12);
  return make("div", {class: "bars"}, entries.flatMap(([name, value]) => [
    make("span", {}, name === limit ? make("strong", {}, name) : name),
    make("div", {class: name === limit ? "bar limit" : "bar", style: `width:${Math.max(0.3, 100 * value / most)}%`, "aria-hidden": "true"}),
    make("span", {}, seconds(value))]));
}

function showAnswer(answer) {
  const where = byId("whatif-answer");
  if (answer.error) {
    where.replaceChildren(make("p", {class: "note", id: "whatif-error"}, answer.error));
    return;
  }
  const served = answer.kernels.filter(one => one.seconds !== undefined);
  const best = served[0];
  const {bound} = answer;
  const verdict = best
    ? [make("strong", {id: "whatif-kernel"}, best.kernel), " takes ", make("span", {id: "whatif-seconds"}, seconds(best.seconds)), ", limited by ",
       make("strong", {id: "whatif-limiter"}, best.limiter), ` (tile ${best.tile}). `]
    : ["No kernel serves this shape on this device. "];
  where.replaceChildren(
    make("p", {class: "verdict", id: "whatif-verdict"}, ...verdict,
      bound.limiter ? `No program is faster than ${seconds(bound.seconds)}, bound by ${bound.limiter}.` : "Nothing is known that bounds it."),
    ...(best ? [make("h3", {}, "Terms of its time"), bars(best.terms.filter(([, value]) => value !== 0), null),
                make("h3", {}, "Work over ceiling, by resource"), bars(Object.entries(best.resources).sort((a, b) => b[1] - a[1]), best.limiter)] : []),
    make("h3", {}, "Kernels"), make("div", {id: "whatif-kernels"}),
    make("details", {id: "whatif-others"}, make("summary", {}, `${plural(answer.kernels.length - served.length, "kernel")} that do not serve it, and why`),
      make("ul", {}, answer.kernels.filter(one => one.reason).map(one => make("li", {}, make("strong", {}, one.kernel), `: ${one.reason}`)))));
  sortableTable(byId("whatif-kernels"), "Kernels, predicted", [
    textColumn("kernel", "Kernel"), numberColumn("seconds", "Time", one => seconds(one.seconds)), textColumn("limiter", "Limiter"),
    textColumn("tile", "Tile", true),
  ], served, {by: "seconds"});
}

/** At most one question waits: a slider that moves on replaces it. */
function askSoon() {
  clearTimeout(whatIf.timer);
  if (!whatIf.model) return;  // it asks once it is there
  whatIf.timer = setTimeout(() => {
    showAnswer(ask(question()));
    byId("whatif-body").dataset.answered = String(Number(byId("whatif-body").dataset.answered ?? 0) + 1);
  }, 40);
}

function stepSlider(id, text, steps, value, changed) {
  const output = make("output", {for: id}, String(value));
  const slider = make("input", {id, type: "range", min: "0", max: String(steps.length - 1), step: "1", value: String(Math.max(0, steps.indexOf(value))),
                                "aria-valuetext": String(value), input: () => {
    const now = steps[Number(slider.value)];
    output.textContent = String(now);
    slider.setAttribute("aria-valuetext", String(now));
    changed(now);
  }});
  return make("label", {for: id}, text, output, slider);
}

function ceilingSliders() {
  const {rates} = page.data.what_if.devices[whatIf.device];
  return Object.entries(rates).filter(([id]) => !id.endsWith(".datasheet")).map(([id, rate]) => {
    const output = make("output", {}, quantity(rate.value, id));
    const slider = make("input", {id: `ceiling-${id}`, type: "range", min: "-3", max: "3", step: "0.05", value: "0", "aria-valuetext": quantity(rate.value, id), input: () => {
      const scale = 2 ** Number(slider.value);
      whatIf.ceilings[id] = scale;
      output.textContent = quantity(rate.value * scale, id);
      slider.setAttribute("aria-valuetext", output.textContent);
      askSoon();
    }});
    return make("label", {for: `ceiling-${id}`}, id, output, slider);
  });
}

function showCeilings() {
  whatIf.ceilings = {};
  byId("whatif-ceilings").replaceChildren(...ceilingSliders());
}

function setShape(text) {
  byId("whatif-shape").value = text;
  askSoon();
}

function showControls() {
  const {what_if: from} = page.data;
  whatIf.shape = {batch: 64, heads: 32, kv: 8, q: 1, k: 8192, d: 128, dtype: "bf16", cache: "", page: "", mask: ""};
  const move = name => value => {
    whatIf.shape[name] = value;
    setShape(shapeText(whatIf.shape));
  };
  const pick = (name, label, choices) => choice(`whatif-${name}`, label, choices, move(name), whatIf.shape[name]);
  const named = names => names.map(name => [name, name]);
  const suites = make("select", {id: "whatif-suite", change: event => event.target.value && setShape(event.target.value)},
    make("option", {value: ""}, "choose"), from.suites.map(([name, shapes]) => make("optgroup", {label: name}, shapes.map(shape => make("option", {value: shape}, shape)))));
  return make("div", {class: "sliders"},
    make("div", {class: "controls"},
      choice("whatif-device", "Device", named(Object.keys(from.devices)), value => {
        whatIf.device = value;
        showCeilings();
        askSoon();
      }, whatIf.device),
      choice("whatif-which", "Kernel", [["", "all"], ...from.kernels.map(([name]) => [name, name])], value => {
        whatIf.kernel = value;
        askSoon();
      }, "")),
    ...shapeSliders.map(([name, text, steps]) => stepSlider(`whatif-${name}`, text, steps, whatIf.shape[name], move(name))),
    make("div", {class: "controls"},
      pick("dtype", "Type", named(["fp32", "fp16", "bf16", "e4m3"])),
      pick("cache", "Cache", [["", "as the type"], ...named(["fp16", "bf16", "e4m3", "nvfp4"])]),
      pick("page", "Pages", [["", "none"], ...named(["16", "64", "256"])]),
      pick("mask", "Mask", [["", "full"], ["causal", "causal"]])),
    make("label", {for: "whatif-suite"}, "A shape of a suite", suites),
    make("label", {for: "whatif-shape"}, "Shape, which may also be typed",
      make("input", {id: "whatif-shape", style: "grid-column: 1 / 3", value: shapeText(whatIf.shape), input: askSoon})),
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
    make("p", {}, "The project's own model and the kernels' own counts, compiled to WebAssembly. Times are the model's, with its calibrated constants; no committed error is taken out of them. The call is cold and, on a GPU, in a graph."),
    make("div", {class: "what-if"}, showControls(), make("div", {id: "whatif-answer", "aria-live": "polite"}, "Loading the model.")));
  showCeilings();
  whenNear(body, async () => {
    whatIf.model = await loadModel();
    askSoon();
  });
}

/** Emscripten would fetch the module out of its own text, which a page without network forbids. */
async function loadModel() {
  const script = await unpacked("model");
  const [, module] = script.match(/data:application\/octet-stream;base64,([A-Za-z0-9+/=]+)/);
  const bytes = Uint8Array.from(atob(module), letter => letter.charCodeAt(0));
  return new Function(`${script}; return racelineModel;`)()({
    instantiateWasm: (imports, done) => {
      WebAssembly.instantiate(bytes, imports).then(({instance}) => done(instance));
      return {};
    },
  });
}
