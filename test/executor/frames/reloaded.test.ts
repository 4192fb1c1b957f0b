import { expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { Executor } from "../../../src/executor/executor.ts";
import type { MoreRoutes } from "../../../src/executor/routes.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { CountingTool, dispatchBody, until } from "../harness.ts";
import { callFrame, RawClient } from "./raw-client.ts";

test("a credential that is replaced right after a framed connection was authenticated with it sends no call", async () => {
  const counting = new CountingTool();
  const registry = new ToolRegistry().register(counting.tool);
  const sandboxes = await openSandboxes();
  const shared = { registry, policy: new HostPolicy(), sandboxes };
  let onAdmitted = (): void => {};
  const more: MoreRoutes = {
    register: () => {},
    hasCredentials: false,
    admit: () => onAdmitted(),
    unreadiness: undefined,
    readMetrics: () => [],
    drain: async () => {},
  };
  const options = { ...shared, listen: "127.0.0.1:0", frames: true, token: "the-first-token-of-all" };
  const executor = await Executor.start(options, more);
  onTestFinished(async () => {
    await executor.close();
    await sandboxes.close();
  });
  onAdmitted = () => {
    onAdmitted = () => {};
    executor.reload({ ...shared, token: "the-second-token-of-all" });
  };
  const client = new RawClient(executor, { authorization: "Bearer the-first-token-of-all" });
  const now = await client.hello();
  client.socket.write(callFrame(1, now + 4_000, dispatchBody({ name: "count" }, { timeoutMs: 5_000 })));
  await until(() => client.frames.length > 1 || client.isClosed);
  expect(counting.calls).toBe(0);
  await until(() => client.isClosed);
});
