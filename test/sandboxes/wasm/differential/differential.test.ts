import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { isSameEnd } from "./difference.ts";
import { KNOWN_DIFFERENCES } from "./known-differences.ts";
import type { Report } from "./program.ts";

const TYPES = 500;
const SEED = process.env["SANDGATE_DIFFERENTIAL_SEED"] ?? "1";

let report: Report;
beforeAll(async () => {
  const program = fileURLToPath(new URL("program.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, String(TYPES), SEED], {
    maxBuffer: 64 * 1_024 * 1_024,
  });
  report = JSON.parse(stdout);
}, 120_000);

describe("Sandgate's engine and jco's code agree", () => {
  test(`on values of ${TYPES} random types in both directions, and on changed bytes of them`, () => {
    const covered = KNOWN_DIFFERENCES.map(({ covers }) => report.differences.filter(covers).length);
    console.log(`${report.calls} calls with seed ${SEED}, known differences: ${covered.join(", ")}`);
    // For each type: a value to the component, one from it, and six changed ones.
    expect(report.calls).toBe(TYPES * 8);
    expect(report.differences.filter((one) => !KNOWN_DIFFERENCES.some(({ covers }) => covers(one)))).toEqual(
      [],
    );
  });

  test("except where jco's code is known to differ, which it still does", () => {
    for (const [index, { reason, ours, jco, example, covers }] of KNOWN_DIFFERENCES.entries()) {
      const ends = report.examples[index];
      if (ends === undefined) throw new Error(`the example did not run: ${reason}`);
      expect([Object.keys(ends.ours), Object.keys(ends.jco)], reason).toEqual([[ours], [jco]]);
      expect(isSameEnd(ends.ours, ends.jco), `does not differ any more: ${reason}`).toBe(false);
      const [direction, given] =
        "json" in example ? ["put" as const, JSON.stringify(example.json)] : ["get" as const, ""];
      const difference = {
        direction,
        type: example.type.kind === "list" ? "list<u8>" : example.type.kind,
        given,
      };
      expect(covers({ ...difference, ...ends, encoding: example.encoding }), reason).toBe(true);
    }
  });
});
