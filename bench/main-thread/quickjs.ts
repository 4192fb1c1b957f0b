import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { StallCase } from "./turn-meter.ts";

const engine = new ToolDispatchEngine();
const limits = { wallTimeMs: 5_000, memoryBytes: 64 * 2 ** 20, nestedCalls: 16 };
const policy = { check: () => allow({ sandbox: "quickjs", limits, capabilities: { tools: ["*"] } }) };

/** Tools that nested calls reach. */
const OTHERS = {
  echo: "export default (input) => input",
  large: "export default () => 'x'.repeat(1e6)",
  many: "export default () => Array(9e4).fill(0)",
  failing: "export default () => { throw new Error('x'.repeat(8e6)); }",
};

const guest = (name: string, ...sources: readonly string[]): StallCase => ({
  name: `a guest that ${name}`,
  prepare: async (later) => {
    const sandboxes = later.use(await openSandboxes({ workers: { threads: 2 } }));
    const contexts = sources.map((source) => {
      const registry = new ToolRegistry();
      for (const [name, other] of Object.entries({ ...OTHERS, tool: source })) {
        registry.register({ name, description: "", inputSchema: {}, quickjs: { source: other } });
      }
      return { registry, policy, sandboxes, sessionId: "s" };
    });
    return async () => {
      for (const ctx of contexts) await engine.dispatch({ id: "1", name: "tool", arguments: {} }, ctx);
    };
  },
});

const nested = (name: string, input: string): string =>
  `async (_, { tools }) => (await Promise.all(Array.from({ length: 16 }, () => tools.call("${name}", ${input})
    .catch((error) => error.code)))).length`;

/** What each of them does. */
const GUESTS: readonly (readonly [name: string, source: string])[] = [
  ["does nothing", "() => 1"],
  ["returns empty lists", "() => Array(3e5).fill([])"],
  ["returns as many lists as it may", "() => Array(49_000).fill([])"],
  ["returns as many objects as it may", "() => Array(49_000).fill({})"],
  ["returns as many names as it may", "() => Array.from({ length: 4_999 }, (_, i) => ({ ['name' + i]: 1 }))"],
  [
    "returns as many names in one object as it may",
    "() => Object.fromEntries(Array.from({ length: 4_999 }, (_, i) => ['name' + i, 1]))",
  ],
  [
    "returns objects whose members have all orders",
    `() => {
      const names = [..."abcdefgh"];
      return Array.from({ length: 10_000 }, (_, i) => {
        const left = [...names];
        const object = {};
        for (let k = 8; k > 0; k--) { object[left.splice(i % k, 1)[0]] = 1; i = Math.floor(i / k); }
        return object;
      });
    }`,
  ],
  [
    "returns many indices",
    "() => Object.fromEntries(Array.from({ length: 4_999 }, (_, i) => [i * 7919, 1]))",
  ],
  ["returns many names below 64 KiB", "() => Array.from({ length: 4_500 }, (_, i) => ({ ['n' + i]: 1 }))"],
  ["returns numbers", "() => Array.from({ length: 90_000 }, (_, i) => i / 7)"],
  ["returns a long text", "() => 'x'.repeat(1e6)"],
  ["returns escaped characters", "() => '\\u0001'.repeat(170_000)"],
  ["returns more than it may", "() => 'x'.repeat(2e7)"],
  ["throws a long message", "() => { throw new Error('x'.repeat(2e7)); }"],
  ["throws a message of newlines", "() => { throw new Error('\\n'.repeat(1e6)); }"],
  ["throws a message of control characters", "() => { throw new Error('\\u0001'.repeat(1e6)); }"],
  [
    "throws a long stack",
    "() => { const e = new Error('e'); e.stack = '    at x\\n'.repeat(1e6); throw e; }",
  ],
  ["logs long lines", "() => { for (let i = 0; i < 1e3; i++) console.log('x'.repeat(8e3)); return 1; }"],
  ["logs many lines", "() => { for (let i = 0; i < 1e5; i++) console.log(''); return 1; }"],
  ["calls a tool with large inputs", nested("echo", "'x'.repeat(1e6)")],
  ["calls a tool with inputs of escaped characters", nested("echo", "{ a: '\\u0001'.repeat(170_000) }")],
  ["calls a tool with inputs of many values", nested("echo", "{ a: Array(49e3).fill(0) }")],
  ["calls a tool with inputs of many objects", nested("echo", "{ a: Array(24e3).fill({}) }")],
  [
    "calls a tool with inputs of many members",
    nested("echo", "{ a: Array.from({ length: 4_900 }, (_, i) => ({ ['n' + i]: i })) }"),
  ],
  ["calls a tool with inputs that are refused", nested("echo", "{ a: Array(3e5).fill([]) }")],
  ["calls a tool with large outputs", nested("large", "{}")],
  ["calls a tool with outputs of many values", nested("many", "{}")],
  ["calls a tool that fails", nested("failing", "{}")],
  [
    "calls tools that do not exist",
    nested("x'.repeat(1e6) + '", "{}").replace(`"x'.repeat(1e6) + '"`, "'x'.repeat(1e6)"),
  ],
  [
    "makes many calls that are refused",
    `async (_, { tools }) => {
      const all = []; for (let i = 0; i < 5e4; i++) all.push(tools.call("echo", {}).catch(() => 0)); await Promise.all(all); return 1; }`,
  ],
  [
    "waits with a full heap",
    `async (_, { tools }) => { const a = new Uint8Array(2 ** 24).fill(7); await tools.call("echo", {}); return a[5]; }`,
  ],
];

export const cases: readonly StallCase[] = [
  ...GUESTS.map(([name, source]) => guest(name, `export default ${source}`)),
  guest(
    "has large modules",
    `/*${"x".repeat(1e6)}*/ export default () => 1`,
    `throw new Error("\\n".repeat(1e6)); export default () => 1`,
  ),
];
