import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

test("package.json exports every file of src/entry under its name, with types, and nothing else but itself", () => {
  const { exports } = JSON.parse(readFileSync(`${ROOT}/package.json`, "utf8"));
  const entries = readdirSync(`${ROOT}/src/entry`).map((file) => file.replace(/\.ts$/, ""));
  const expected = Object.fromEntries(
    entries.map((name) => [
      name === "index" ? "." : `./${name}`,
      { types: `./dist/entry/${name}.d.ts`, default: `./dist/entry/${name}.js` },
    ]),
  );
  expect(exports).toEqual({ ...expected, "./package.json": "./package.json" });
});
