import { expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { openExecutorCalls } from "../../../src/executor/executor.ts";
import { completeLimits } from "../../../src/executor/limits.ts";
import { HttpServer } from "../../../src/http/http-server.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { CountingTool, dispatchBody, until } from "../harness.ts";
import { callFrame, RawClient } from "./raw-client.ts";

test("a credential that is replaced right after a framed connection was authenticated with it sends no call", async () => {
  const counting = new CountingTool();
  const registry = new ToolRegistry().register(counting.tool);
  const sandboxes = await openSandboxes();
  let onAdmitted = (): void => {};
  const limits = completeLimits();
  const calls = openExecutorCalls(
    { registry, policy: new HostPolicy(), sandboxes },
    { limits, frames: true, refuseIfPaused: () => onAdmitted() },
  );
  const executor = await HttpServer.start(
    {
      listen: "127.0.0.1:0",
      credentials: { token: "the-first-token-of-all" },
      hasOtherCredentials: false,
      limits,
      backlog: calls.backlog,
      processId: calls.dispatcher.processId,
    },
    [calls.routes],
  );
  onTestFinished(async () => {
    await executor.close();
    await sandboxes.close();
  });
  onAdmitted = () => {
    onAdmitted = () => {};
    executor.reload({ token: "the-second-token-of-all" }, {});
  };
  const client = new RawClient(executor, { authorization: "Bearer the-first-token-of-all" });
  const now = await client.hello();
  client.socket.write(callFrame(1, now + 4_000, dispatchBody({ name: "count" }, { timeoutMs: 5_000 })));
  await until(() => client.frames.length > 1 || client.isClosed);
  expect(counting.calls).toBe(0);
  await until(() => client.isClosed);
});
