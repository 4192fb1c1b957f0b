import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { HostFiles } from "../../../src/sandboxes/host/files/host-files.ts";

test("docs/host-tools.md lists every function of context.files", () => {
  const text = readFileSync(new URL("../../../docs/host-tools.md", import.meta.url), "utf8");
  const listed = Array.from(text.matchAll(/^\| `(\w+)\(/gm), ([, name]) => name);
  // The sandbox calls `end`, and reads what is no function.
  const { constructor: _, end: __, ...members } = Object.getOwnPropertyDescriptors(HostFiles.prototype);
  const functions = Object.entries(members).filter(([, { value }]) => typeof value === "function");
  expect(listed.sort()).toEqual(functions.map(([name]) => name).sort());
});
