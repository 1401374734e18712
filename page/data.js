// SPDX-License-Identifier: Apache-2.0
// What the page carries, compressed: base64 of gzip in script elements.

const page = {data: null, vega: null, charts: {}, blocks: new Map(), redrawing: false};

async function unpacked(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** The text of one line of a receipt file, as it stands there; undefined if the file has no such line. */
async function rowText(file, line) {
  let number = -1;
  page.data.blocks.forEach(([of, first], i) => {
    if (of === file && first <= line) number = i;
  });
  if (number < 0) return undefined;
  if (!page.blocks.has(number)) {
    page.blocks.set(number, unpacked(`rows-${number}`).then(text => text.split("\n")));
  }
  const lines = await page.blocks.get(number);
  const text = lines[line - page.data.blocks[number][1]];
  return text === "" ? undefined : text;
}

/** Vega as its package ships it: modules that ask each other by name. */
async function loadVega() {
  const texts = JSON.parse(await unpacked("vega"));
  const loaded = {};
  const require = asked => {
    const name = asked === "vega-selections" ? "vega-selection" : asked;
    if (!loaded[name]) {
      const module = {exports: loaded[name] = {}};
      if (!texts[name]) throw new Error(`this page has no module ${name}`);
      new Function("exports", "module", "require", texts[name])(module.exports, module, require);
    }
    return loaded[name];
  };
  const {transforms} = require("vega-dataflow");
  for (const name of ["vega-transforms", "vega-view-transforms", "vega-encode"]) {
    Object.assign(transforms, require(name));
  }
  return {parse: require("vega-parser").parse, View: require("vega-view").View};
}
