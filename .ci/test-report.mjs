// Reads the JSON reports of vitest: `node .ci/test-report.mjs files|count|names|slowest REPORT [REPORT OF A SECOND RUN]`.
// What a second run says of a file replaces what the first one said.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [what, ...reports] = process.argv.slice(2);

/** The failed tests of each file, and how many passed. A file that could not be loaded counts as a failed test. */
const files = new Map();
for (const report of reports) {
  const text = readFileSync(report, "utf8");
  if (text === "") continue;
  for (const { name, status, message, assertionResults, startTime, endTime } of JSON.parse(text)
    .testResults) {
    const passed = assertionResults.filter((test) => test.status === "passed").length;
    const failed = assertionResults
      .filter((test) => test.status === "failed")
      .map(({ fullName, failureMessages }) => `${fullName}: ${firstLines(failureMessages.join("\n"))}`);
    if (status === "failed" && failed.length === 0) failed.push(`the file: ${firstLines(message ?? "")}`);
    files.set(relative("", name), { passed, failed, seconds: (endTime - startTime) / 1_000 });
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
} else if (what === "slowest") {
  const slowest = all.sort(([, one], [, other]) => other.seconds - one.seconds).slice(0, 20);
  for (const [file, { seconds }] of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`);
} else {
  for (const [file, { failed }] of all) for (const test of failed) console.log(`${file}: ${test}`);
}

function firstLines(message) {
  return message.split("\n").slice(0, 3).join(" ").slice(0, 300);
}
