/** Prints what web APIs add to a template and to a call that does not use them: `node bench/quickjs/web-apis.ts`. */
import { GUEST_GLOBALS } from "../../src/sandboxes/quickjs/driver/globals.ts";
import { ourTemplate } from "./in-thread.ts";

const NAMES = [
  "",
  "setTimeout",
  "crypto",
  "TextEncoder",
  "structuredClone",
  "URL",
  "Blob",
  "AbortSignal",
  "Intl",
  "fetch",
  "ReadableStream",
  "CompressionStream",
  "globalThis",
  GUEST_GLOBALS.join(" "),
];
const ROUNDS = 15;
const CALLS = 3_000;

const tools = await Promise.all(
  NAMES.map(async (name) => ({
    name,
    ...(await ourTemplate(`/* ${name} */ export default (input) => input;`)),
  })),
);
const times = new Map(tools.map(({ name }) => [name, [] as number[]]));
for (let round = 0; round <= ROUNDS; round++) {
  for (const { name, call } of tools) {
    const from = performance.now();
    for (let n = 0; n < CALLS; n++) call();
    // The first round warms up.
    if (round > 0) times.get(name)?.push(((performance.now() - from) * 1_000) / CALLS);
  }
}
for (const { name, bytes } of tools) {
  const label = name === "" ? "nothing" : name.includes(" ") ? "everything" : name;
  const sorted = (times.get(name) ?? []).toSorted((a, b) => a - b);
  const [best = 0, median = 0] = [sorted[0], sorted[ROUNDS >> 1]];
  console.log(
    label.padEnd(18),
    `${Math.round(bytes / 1_024)} KiB`,
    `${median.toFixed(1)} µs, at best ${best.toFixed(1)}`,
  );
}
