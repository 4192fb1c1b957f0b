import { afterAll, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";

/** The first of two calls: it leaves marks wherever it can. */
const LEAVE = `
  const mark = input.mark;
  globalThis[mark] = mark;
  globalThis.seen = mark;
  Object.prototype.seen = Array.prototype.seen = Function.prototype.seen = Promise.prototype.seen = mark;
  Symbol.for(mark);
  moduleState.seen = mark;
  moduleMap.set(mark, mark);
  cache[mark] = () => mark;
  regex.lastIndex = 3;
  regex.exec("aaaaaa");
  counter += 1;
  JSON.seen = Math.seen = Reflect.seen = console.seen = mark;
  try { Object.defineProperty(Object, "seen", { value: mark }); } catch {}
  new Function("globalThis.fromEval = '" + mark + "'")();
  (function deep(n) { const local = mark + n; if (n > 0) deep(n - 1); return local; })(200);
  const garbage = [];
  for (let i = 0; i < 40; i++) garbage.push(mark.repeat(8) + i, new TextBytes(mark, 256));
  Promise.resolve().then(() => { globalThis.late = mark; });
  registry.register({}, mark);
  weak = new WeakRef({ mark });
`;

/** The second call: it looks for anything that the module did not leave. Large buffers come from fresh memory. */
const LOOK = `
  const found = [];
  const suspicious = (where, text) => { if (String(text).includes("mark-")) found.push(where); };
  for (const name of Object.getOwnPropertyNames(globalThis)) suspicious("global " + name, name);
  for (const [name, object] of Object.entries({ globalThis, Object, Array, Function, Promise, JSON, Math, Reflect, console,
      o: Object.prototype, a: Array.prototype, f: Function.prototype, p: Promise.prototype })) {
    for (const key of Reflect.ownKeys(object)) if (/seen|late|fromEval/.test(String(key))) found.push(name + "." + String(key));
  }
  if (moduleState.seen !== undefined) found.push("module state");
  if (moduleMap.size > 0) found.push("module map");
  if (Object.keys(cache).length > 0) found.push("cache");
  if (regex.lastIndex !== 0) found.push("lastIndex");
  if (counter !== 0) found.push("counter");
  if (weak !== undefined) found.push("weak");
  suspicious("RegExp.$1", [RegExp.$1, RegExp.input, RegExp.lastMatch].join());
  try { null.x; } catch (error) { suspicious("stack", error.stack); }
  for (const size of [16, 64, 512, 4096, 65536, 1 << 20]) {
    for (let i = 0; i < 4; i++) {
      const bytes = new Uint8Array(new ArrayBuffer(size));
      // The first letter of the mark; every byte only where that is quick.
      if (bytes.includes(109) || (size < 1000 && bytes.some((byte) => byte !== 0))) { found.push("buffer of " + size); break; }
    }
  }
  if (new Array(100).some((item) => item !== undefined)) found.push("array");
`;

const source = `
  const moduleState = {}, moduleMap = new Map(), cache = {}, regex = /a+/g;
  let counter = 0, weak;
  const registry = new FinalizationRegistry((held) => { globalThis.late = held; });
  class TextBytes extends Uint8Array {
    constructor(text, size) { super(size); for (let i = 0; i < size; i++) this[i] = text.charCodeAt(i % text.length); }
  }
  export default (input) => { ${LOOK} ${LEAVE} return { found, random: Math.random() }; };
`;

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const engine = new ToolDispatchEngine();
const policy = { check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs: 5_000 } }) };
const registry = new ToolRegistry();
for (const name of ["a", "b"]) {
  registry.register({ name, description: "", inputSchema: {}, quickjs: { source: `${source}// ${name}` } });
}

/** How many pairs of calls each test runs; SANDGATE_RESIDUE_CALLS=3500 runs more than 10,000 in total. */
const CALLS = Number(process.env["SANDGATE_RESIDUE_CALLS"] ?? 200);

test.each<[string, (call: number) => readonly [tool: string, session: string]]>([
  ["the same tool and session", () => ["a", "s"]],
  ["another session", (call) => ["a", `s${call % 2}`]],
  ["another tool", (call) => [call % 2 === 0 ? "a" : "b", "s"]],
])(
  "a call finds nothing of the one before it: %s",
  async (_case, choose) => {
    const numbers = new Set<number>();
    for (let call = 0; call < CALLS; call++) {
      const [name, sessionId] = choose(call);
      const ctx = { registry, policy, sandboxes, sessionId };
      const execution = await engine.dispatch({ id: "1", name, arguments: { mark: `mark-${call}-` } }, ctx);
      const output = execution?.output as { found: string[]; random: number } | null;
      expect(execution?.error).toBeUndefined();
      expect(output?.found).toEqual([]);
      numbers.add(output?.random ?? 0);
    }
    expect(numbers.size).toBe(CALLS);
  },
  120_000,
);
