// SPDX-License-Identifier: Apache-2.0
// Answers questions with the WebAssembly build, for tests/page/agreement.py:
//   node answers.js raceline_model.js <questions >answers
// A line of JSON each.
const lines = require("node:fs").readFileSync(0, "utf8").split("\n").filter(Boolean);
require(process.argv[2])().then(model => {
  for (const line of lines) {
    console.log(model.ccall("raceline_what_if", "string", ["string"], [line]));
  }
});
