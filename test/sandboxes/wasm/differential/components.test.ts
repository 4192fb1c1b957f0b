import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { contractComponent } from "../../../fixtures/wasm/contract-component.ts";
import { filesComponent } from "../../../fixtures/wasm/files-component.ts";
import { outsideComponent } from "../../../fixtures/wasm/outside-component.ts";
import { echoComponent, typedComponent } from "../../../fixtures/wasm/typed-component.ts";
import { wasiComponent } from "../../../fixtures/wasm/wasi-component.ts";
import { watComponent } from "../../../fixtures/wasm/wat-component.ts";
import type { ComponentToRun } from "./components-program.ts";
import { KNOWN_TOOL_DIFFERENCES } from "./known-differences.ts";
import { runComponents } from "./run-components.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-components-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, binary: Uint8Array): ComponentToRun {
  const path = join(folder, `${name}.wasm`);
  writeFileSync(path, binary);
  return { path };
}

/** These fixtures run tools that they do not describe: those of which their sources compare the name. */
function built(name: string, path: string): ComponentToRun {
  const source = readFileSync(new URL(`../../../fixtures/wasm/assembly/${name}.ts`, import.meta.url), "utf8");
  const tools = Array.from(source.matchAll(/\bname == "([a-z_]+)"/g), ([, tool = ""]) => tool);
  return { path, tools: tools.filter((tool) => !ENDLESS.has(tool)) };
}

/** Tools that only end at their deadline, or how far they get depends on the machine. */
const ENDLESS = new Set(["sleep_for_ever", "spin", "loop", "sleep"]);

test("the components of the fixtures end in the same way in both engines", async () => {
  const arithmetic = typedComponent(
    "export add: func(a: s32, b: s32) -> s32; export fail: func(); export err: func(a: u32) -> result<u32, u32>;",
    `(func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func (export "fail") unreachable)
    (func (export "err") (param i32) (result i32)
      (i32.store8 (i32.const 16) (i32.const 1))
      (i32.store (i32.const 20) (local.get 0))
      i32.const 16)`,
  );
  const ends = await runComponents([
    built("contract", await contractComponent()),
    built("files", await filesComponent()),
    built("outside", await outsideComponent()),
    built("wasi", await wasiComponent()),
    written("echo", await echoComponent("string")),
    written("wat", await watComponent()),
    written("arithmetic", await arithmetic),
  ]);
  const calls = ends.flatMap(({ ours }) => ours);
  const completed = calls.filter((end) => end.includes('"completed"'));
  console.log(`${ends.length} tools, ${calls.length} calls, of which ${completed.length} completed`);
  expect(completed.length).toBeGreaterThan(20);
  expect(calls).not.toContain("refused");
  const differing = ends.filter(({ ours, jco }) => JSON.stringify(ours) !== JSON.stringify(jco));
  const known = new Set(Object.keys(KNOWN_TOOL_DIFFERENCES));
  expect(differing.filter(({ tool }) => !known.has(tool))).toEqual([]);
  expect(new Set(differing.map(({ tool }) => tool))).toEqual(known);
});
