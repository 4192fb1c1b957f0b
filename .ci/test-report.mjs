// Reads the JSON reports of vitest: `node .ci/test-report.mjs files|count|names REPORT [REPORT OF A SECOND RUN]`.
// What a second run says of a file replaces what the first one said.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [what, ...reports] = process.argv.slice(2);

/** The failed tests of each file, and how many passed. A file that could not be loaded counts as a failed test. */
const files = new Map();
for (const report of reports) {
  const text = readFileSync(report, "utf8");
  if (text === "") continue;
  for (const { name, status, assertionResults } of JSON.parse(text).testResults) {
    const passed = assertionResults.filter((test) => test.status === "passed").length;
    const failed = assertionResults.filter((test) => test.status === "failed").map((test) => test.fullName);
    if (status === "failed" && failed.length === 0) failed.push("the file");
    files.set(relative("", name), { passed, failed });
  }
}

const all = [...files];
if (what === "files") {
  for (const [file, { failed }] of all) if (failed.length > 0) console.log(file);
} else if (what === "count") {
  const sum = (of) => all.reduce((total, [, results]) => total + of(results), 0);
  console.log(
    sum(({ passed }) => passed),
    sum(({ failed }) => failed.length),
  );
} else {
  for (const [file, { failed }] of all) for (const test of failed) console.log(`${file}: ${test}`);
}
