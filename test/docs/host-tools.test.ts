import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { HostFiles } from "../../src/sandboxes/host/files/host-files.ts";

test("docs/host-tools.md lists every function of context.files", () => {
  const text = readFileSync(new URL("../../docs/host-tools.md", import.meta.url), "utf8");
  const listed = Array.from(text.matchAll(/^\| `(\w+)\(/gm), ([, name]) => name);
  const {
    constructor: _,
    writtenBytes: __,
    end: ___,
    ...functions
  } = Object.getOwnPropertyDescriptors(HostFiles.prototype);
  expect(listed.sort()).toEqual(Object.keys(functions).sort());
});
