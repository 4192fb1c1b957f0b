import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { allow } from "../../../src/policy/policy.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const FACE = "\u{1f600}";

test("No text of an execution has half a surrogate pair", async () => {
  const throwing = (message: string) =>
    hostTool(() => {
      throw new Error(message);
    });
  const named = { id: "1", name: `${"x".repeat(63)}${FACE}`, arguments: {} };
  const texts = [
    (await dispatchTool(await contextFor([throwing(`${"x".repeat(4_095)}${FACE}`)]))).error?.message,
    (await dispatchTool(await contextFor([throwing("a\ud800")]))).error?.message,
    (await dispatchTool(await contextFor([hostTool(() => "a\ud800")]))).output,
    (await new ToolDispatchEngine().dispatch(named, await contextFor([])))?.error?.message,
    (
      await dispatchTool(
        await contextFor([hostTool(() => 1, { inputSchema: { additionalProperties: false } })]),
        {
          [`${"x".repeat(63)}${FACE}`]: 1,
        } as JsonObject,
      )
    ).error?.message,
  ];
  expect(texts.map((text) => typeof text === "string" && text.isWellFormed())).toEqual(texts.map(() => true));
});

test("An endpoint's number beyond a double fails the call, or arrives as its digits", async () => {
  const server = createServer((_request, response) =>
    response.end('{"id":9007199254740993,"name":"\\ud800"}'),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const net = [{ origin, addresses: ["127.0.0.1/32"] }];
  const policy = { check: () => allow({ sandbox: "remote", capabilities: { net } }) };
  const tool = (response?: object) => ({
    name: "tool",
    description: "",
    inputSchema: {},
    remote: { http: { url: `${origin}/`, ...(response && { response }) } },
  });
  try {
    const refused = await dispatchTool(await contextFor([tool()], { policy }));
    expect(refused.error?.message).toMatch(
      /^Tool returned an invalid output: an integer that a double cannot hold/,
    );
    const given = await dispatchTool(await contextFor([tool({ bigNumbers: "string" })], { policy }));
    expect(given.output).toEqual({ id: "9007199254740993", name: "\ufffd" });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("names that a model chose are quoted on one line and without invisible characters", async () => {
  const schema = { type: "object", additionalProperties: false };
  const ctx = await contextFor([hostTool(() => null, { inputSchema: schema })]);
  const unknown = { id: "1", name: "a\nTool \u200b\u2066'b' found", arguments: {} };
  const extra = { id: "2", name: "tool", arguments: { "k\u202e\u200b\nyyy": 1 } };
  for (const call of [unknown, extra]) {
    const { error } = (await new ToolDispatchEngine().dispatch(call, ctx)) as ToolExecution;
    expect(error?.message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(error?.message).toContain("\ufffd");
  }
});
