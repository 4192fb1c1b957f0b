import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { Server } from "../../src/server/server.ts";
import { callOn } from "../sandboxes/remote/executor-client/setting.ts";
import { type ClientName, startServer, TestClient, TOKENS, WITH_EXECUTOR, WritingTool } from "./harness.ts";

/** Opens sandboxes whose calls go to the executor of a server. */
async function openClient(name: ClientName, frames: boolean): Promise<Sandboxes> {
  const sandboxes = await openSandboxes({ remote: { token: TOKENS[name], frames } });
  onTestFinished(() => sandboxes.close());
  return sandboxes;
}

/** Waits until calls go over a framed connection, which have less to send. */
async function untilFramed(server: Server, sandboxes: Sandboxes): Promise<void> {
  for (;;) {
    const { receipt } = await callOn(`http://${server.address}`, "write_note", sandboxes);
    if ((receipt.used.bytesUp ?? 0) < 340) return;
    await sleep(20);
  }
}

describe.each([false, true])("a client of the executor of a server (framed: %s)", (frames) => {
  test("learns that nothing ran while the server is paused", async () => {
    const tool = new WritingTool();
    const server = await startServer([tool.tool], { frames, ...WITH_EXECUTOR });
    const sandboxes = await openClient("heidi", frames);
    if (frames) await untilFramed(server, sandboxes);
    const ran = tool.inputs.length;
    await new TestClient(server, "frank").json("POST", "/v1/pause");
    const { error } = await callOn(`http://${server.address}`, "write_note", sandboxes, {
      limits: { wallTimeMs: 400 },
    });
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(error?.message).toContain("paused");
    expect(tool.inputs).toHaveLength(ran);
  });

  test("whose call waits for the end of the pause gets its result", async () => {
    const tool = new WritingTool();
    const server = await startServer([tool.tool], { frames, ...WITH_EXECUTOR });
    const sandboxes = await openClient("heidi", frames);
    if (frames) await untilFramed(server, sandboxes);
    const frank = new TestClient(server, "frank");
    await frank.json("POST", "/v1/pause");
    const called = callOn(`http://${server.address}`, "write_note", sandboxes, {
      limits: { wallTimeMs: 10_000 },
    });
    await sleep(100);
    await frank.json("POST", "/v1/resume");
    expect(await called).toMatchObject({ success: true });
  });

  test("learns that nothing ran if it may not call tools", async () => {
    const tool = new WritingTool();
    const server = await startServer([tool.tool], { frames, ...WITH_EXECUTOR });
    const sandboxes = await openClient("erin", frames);
    const { error } = await callOn(`http://${server.address}`, "write_note", sandboxes, {
      limits: { wallTimeMs: 5_000 },
    });
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(tool.inputs).toEqual([]);
  });
});

test("a client of the executor reads the tools that it may call, also while the server is paused", async () => {
  const policy = Object.assign(new HostPolicy(), {
    mayAllow: ({ name }: { readonly name: string }, principal?: { readonly id: string }) =>
      name !== "secret" || principal?.id === "alice",
  });
  const tools = [new WritingTool("open").tool, new WritingTool("secret").tool];
  const server = await startServer(tools, { ...WITH_EXECUTOR, policy });
  const names = async (): Promise<readonly string[]> => {
    const listed = await new TestClient(server, "heidi").json<{
      readonly tools: readonly { name: string }[];
    }>("GET", "/v1/tools");
    return listed.tools.map(({ name }) => name);
  };
  expect(await names()).toEqual(["open"]);
  await new TestClient(server, "frank").json("POST", "/v1/pause");
  expect(await names()).toEqual(["open"]);
});
