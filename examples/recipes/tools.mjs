import { openSandboxes, RulePolicy, ToolDispatchEngine, ToolRegistry } from "sandgate";

/** Where the calls of these recipes are dispatched: one tool, which runs in QuickJS. */
export const engine = new ToolDispatchEngine();
export const registry = new ToolRegistry().register({
  name: "add",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  sideEffects: "none",
  quickjs: { source: "export default ({ a, b }) => a + b" },
});
export const sandboxes = await openSandboxes();
export const context = {
  registry,
  sandboxes,
  sessionId: "recipe",
  policy: new RulePolicy({
    rules: [{ tools: ["add"], effect: "allow", sandboxes: ["quickjs"], limits: { wallTimeMs: 1_000 } }],
  }),
};
