// SPDX-License-Identifier: Apache-2.0
// Where each ceiling and each constant of the model comes from.

const provenanceChosen = {device: ""};

function showProvenance() {
  const {rates, constants} = page.data.provenance;
  const devices = Object.keys(rates);
  if (devices.length === 0) {
    byId("provenance-body").replaceChildren(make("p", {class: "note"}, "These receipts hold no timed case of a device that this build knows, so that no ceiling stands behind them."));
    return;
  }
  if (!devices.includes(provenanceChosen.device)) provenanceChosen.device = devices.includes(chosen.device) ? chosen.device : devices[0];
  byId("provenance-controls").replaceChildren(choice("provenance-device", "Device", devices.map(name => [name, name]), value => {
    provenanceChosen.device = value;
    showProvenance();
    byId("provenance-device").focus();
  }, provenanceChosen.device));
  const here = constants.filter(one => one.device === provenanceChosen.device);
  const of = here.filter(one => one.constants.length > 0), without = here.filter(one => one.constants.length === 0);
  byId("provenance-body").replaceChildren(
    make("h3", {}, "Ceilings"), make("div", {id: "rates-table"}),
    make("h3", {}, "Constants of the model, by kernel"),
    make("p", {}, "A calibrated one was fitted to measurements of the kernel that it predicts, and has a stand-in that was not."),
    ...(without.length ? [make("p", {}, `Counts of the code and rates of the device alone, no named constant: ${without.map(one => one.kernel).join(", ")}.`)] : []),
    ...of.map(one => make("details", {}, make("summary", {}, make("strong", {}, one.kernel), `, ${plural(one.constants.length, "constant")}, ${one.constants.filter(c => c.origin === "calibrated").length} calibrated`), make("div", {}))));
  const unstated = page.data.roofs[provenanceChosen.device]?.unstated && rates[provenanceChosen.device].length === 0;
  if (unstated) byId("rates-table").replaceChildren(make("p", {class: "note", id: "rates-unstated"}, `${unstatedText}, so that none stand here.`));
  else sortableTable(byId("rates-table"), `Ceilings of ${provenanceChosen.device}`, [
    textColumn("resource", "Resource"),
    numberColumn("value", "Value", one => rowLink(quantity(one.value, one.resource), one.row)),
    numberColumn("datasheet", "Datasheet", one => quantity(one.datasheet, one.resource)),
    textColumn("origin", "Origin"),
    {name: "source", title: "How", long: true, of: one => one.source, show: one => [one.source, one.note && !one.source.includes(one.note) ? `; ${one.note}` : ""].join("")},
    numberColumn("clock_hz", "Clock", one => one.clock_hz > 0 ? rowLink(si(one.clock_hz, "Hz"), one.row) : "—"),
  ], rates[provenanceChosen.device], {by: "resource"});
  byId("provenance-body").querySelectorAll("details").forEach((details, i) => {
    details.addEventListener("toggle", () => {
      const where = details.querySelector("div");
      if (!details.open || where.childElementCount > 0) return;
      sortableTable(where, `Constants of ${of[i].kernel}`, [
        textColumn("name", "Constant"), numberColumn("value", "Value", one => digits(one.value)), textColumn("origin", "Origin"),
        numberColumn("stand_in", "Stand-in", one => digits(one.stand_in)),
        {name: "source", title: "From", long: true, of: one => one.source, show: one => one.stand_in_source ? `${one.source}; without: ${one.stand_in_source}` : one.source},
      ], of[i].constants, {by: "name"});
    });
  });
}
