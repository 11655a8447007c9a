// Prints failures as they come, and a closing line with the counts.
"use strict";

const { inspect } = require("node:util");

module.exports = async function* report(events) {
  let passed = 0;
  let failed = 0;
  for await (const { type, data } of events) {
    const leaf = data?.details?.type !== "suite";
    if (type === "test:pass" && leaf) {
      passed += 1;
    } else if (type === "test:fail" && (leaf || !hasFailingTests(data.details.error))) {
      failed += 1;
      const error = data.details.error;
      const cause = error.cause ?? error;
      // Errors cross a process border, so they may have lost their prototype.
      const text = typeof cause?.stack === "string" ? cause.stack : inspect(cause, { depth: 2 });
      yield `FAILED ${data.file ?? ""} ${data.name}\n  ${text.replaceAll("\n", "\n  ")}\n`;
    } else if (type === "test:stderr" || type === "test:stdout") {
      yield data.message;
    }
  }
  yield `${passed} passed, ${failed} failed\n`;
};

// A suite fails with its tests; count it only when its own hooks failed.
function hasFailingTests(error) {
  return error.failureType === "subtestsFailed";
}
