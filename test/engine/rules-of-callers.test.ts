import { describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import type { Principal } from "../../src/tool/principal.ts";
import { contextFor, hostTool } from "./helpers.ts";

const engine = new ToolDispatchEngine();
const tools = [
  hostTool(() => "deleted", { name: "delete_page", tags: ["pages"] }),
  hostTool(() => "read", { name: "read_page", sideEffects: "read" }),
];
const policy = new RulePolicy({
  rules: [
    { tools: ["delete_*"], effect: "allow", principals: ["key:admin"], sandboxes: ["host"] },
    { tools: ["read_*"], effect: "allow", sandboxes: ["host"] },
    { tools: ["*"], tags: ["pages"], effect: "deny", roles: ["intern"] },
  ],
});

async function outputOf(name: string, principal?: Principal): Promise<unknown> {
  const ctx = await contextFor(tools, { policy, ...(principal && { principal }) });
  // What a call says about its caller counts for nothing.
  const call = { id: "key:admin", name, arguments: { principal: "key:admin" } };
  const execution = await engine.dispatch(call, ctx);
  return execution?.error?.code ?? execution?.output;
}

describe("rules for callers", () => {
  test("a rule for one principal allows it, and no other caller", async () => {
    expect(await outputOf("delete_page", { id: "key:admin", kind: "service" })).toBe("deleted");
    expect(await outputOf("delete_page", { id: "key:other", kind: "service" })).toBe("permission_denied");
    expect(await outputOf("delete_page")).toBe("permission_denied");
    expect(await outputOf("read_page")).toBe("read");
  });

  test("a rule for roles and tags denies the tools that have the tag", async () => {
    const intern: Principal = { id: "key:admin", kind: "user", roles: ["intern"] };
    expect(await outputOf("delete_page", intern)).toBe("permission_denied");
    expect(await outputOf("read_page", intern)).toBe("read");
  });
});
