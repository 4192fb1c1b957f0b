import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { runComponents } from "../sandboxes/wasm/differential/run-components.ts";

const folder = `${process.env["SANDGATE_CORPORA"]}/wasm/hostile`;

/** jco's code replaces invalid UTF-8, which traps by the specification. Fails if a component does not differ any more. */
const KNOWN = ["str-invalid-utf8.wasm"];

/** It computes for about as long as a call may take: which calls end in time depends on the processor. */
const BY_CHANCE = "cpu-1e10.wasm";

test("the components of the corpora end in the same way in Sandgate's engine and in jco's code", async () => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".wasm") && file !== BY_CHANCE);
  const ends = await runComponents(files.map((file) => ({ path: `${folder}/${file}` })));
  for (const { component, tool, ours, jco } of ends) {
    console.log(`${component.slice(folder.length + 1)} ${tool}: ${ours.join(", ")} | ${jco.join(", ")}`);
  }
  expect(ends.length).toBeGreaterThanOrEqual(files.length - 1);
  const differing = ends.filter(({ ours, jco }) => JSON.stringify(ours) !== JSON.stringify(jco));
  expect(differing.map(({ component }) => component.slice(folder.length + 1))).toEqual(KNOWN);
}, 240_000);
