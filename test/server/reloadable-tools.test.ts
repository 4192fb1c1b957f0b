import { expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import {
  allow,
  type PolicyDecision,
  type PolicyRequest,
  type RuntimePolicy,
} from "../../src/policy/policy.ts";
import { ReloadableTools } from "../../src/server/admin.ts";

test("The policy of reloadable tools says of itself what the current one says", () => {
  const registry = new ToolRegistry();
  const check: RuntimePolicy["check"] = () => allow({ sandbox: "host" });
  const tools = new ReloadableTools({ registry, policy: { check, revision: "old" } });
  expect(tools.policy).toMatchObject({ revision: "old", sources: undefined, usesHistory: undefined });
  tools.replace({ registry, policy: { check, revision: "new", sources: ["{}"], usesHistory: true } });
  expect(tools.policy).toMatchObject({ revision: "new", sources: ["{}"], usesHistory: true });
  tools.isPaused = true;
  expect(tools.policy.revision).toBeUndefined();
});

test("a policy that takes its time allows nothing if the server is paused meanwhile", async () => {
  const decided = Promise.withResolvers<PolicyDecision>();
  const tools = new ReloadableTools({
    registry: new ToolRegistry(),
    policy: { check: () => decided.promise },
  });
  const checked = tools.policy.check({} as PolicyRequest);
  tools.isPaused = true;
  decided.resolve(allow({ sandbox: "host" }));
  expect(await checked).toMatchObject({ decision: "deny" });
});
