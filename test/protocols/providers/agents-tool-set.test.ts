import { describe, expect, onTestFinished, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import { type DispatchEvent, EventStream } from "../../../src/engine/call/events.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { agentsToolSet } from "../../../src/protocols/providers/openai/agents-tool-set.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { registry } from "../converse.ts";

async function open(more: Partial<DispatchContext> = {}) {
  const sandboxes = await openSandboxes();
  onTestFinished(() => sandboxes[Symbol.asyncDispose]());
  const events = new EventStream();
  const seen: DispatchEvent[] = [];
  events.on((event) => seen.push(event));
  const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "test", events, ...more };
  const { tools, ...others } = agentsToolSet(ctx);
  const execute = (name: string, args: string, signal?: AbortSignal): Promise<string> => {
    const tool = tools.find((tool) => tool.name === name) ?? expect.fail(`no tool ${name}`);
    const toolCall = { callId: "1", arguments: args };
    return tool.execute(JSON.parse(args), undefined, { toolCall, ...(signal && { signal }) });
  };
  return { tools, seen, execute, ...others };
}

describe("agentsToolSet", () => {
  test("offers tools under names that the provider accepts, with the members that the SDK needs", async () => {
    const { tools } = await open();
    const [weather, print] = tools;
    expect(weather).toMatchObject({ name: "weather", strict: false, parameters: { required: ["city"] } });
    expect(print?.name).toBe("_3d-print");
    const { properties, required, additionalProperties } = print?.parameters ?? {};
    expect({ properties, required, additionalProperties }).toEqual({
      properties: {},
      required: [],
      additionalProperties: true,
    });
    const strict = agentsToolSet({ registry } as DispatchContext, { strict: true }).tools[0];
    expect(strict).toMatchObject({ strict: true, parameters: { additionalProperties: false } });
  });

  test("has the given engine dispatch every call", async () => {
    const engine = { dispatch: () => Promise.resolve(null) };
    const ctx = { registry, policy: new HostPolicy(), sandboxes: await openSandboxes(), sessionId: "test" };
    const [weather] = agentsToolSet(ctx, { engine }).tools;
    expect(await weather?.execute({ city: "Rome" })).toBe("Tool call was withdrawn");
  });

  test("dispatches through the engine, and returns results and errors as text", async () => {
    const { execute, seen } = await open();
    expect(await execute("weather", '{"city":"Rome"}')).toBe('{"city":"Rome","celsius":21}');
    expect(await execute("weather", '{"city":5}')).toBe("Invalid arguments: /city must be string");
    expect(await execute("broken", "{}")).toBe("HTTP 500: connection refused");
    expect(await execute("_3d-print", "{}")).toBe("done");
    expect(await execute("picture", '{"type":"image/png"}')).toMatch(/^a pixel\n\[image omitted/);
    expect(seen.filter(({ type }) => type === "tool.started")).toHaveLength(4);
  });

  test("reads numbers from the model's own text", async () => {
    const { execute } = await open();
    expect(await execute("silent", '{"id":12345678901234567890}')).toContain("that a double cannot hold");
    expect(await execute("silent", '{"id":9007199254740992}')).toBe("");
  });

  test("tells the model that a hook aborted a call, and cancels with the SDK's signal", async () => {
    const { execute } = await open({ hooks: { onToolCall: () => "abort" } });
    expect(await execute("weather", '{"city":"Rome"}')).toBe("Tool call was withdrawn");
    const other = await open();
    expect(await other.execute("weather", '{"city":"Rome"}', AbortSignal.abort())).toBe(
      "Tool call was cancelled",
    );
  });

  test("reports a call of an unknown tool, and runs none that the SDK did not find", async () => {
    const { toolErrorFormatter, seen } = await open();
    const find = (toolName: string): Promise<string | undefined> =>
      toolErrorFormatter({ kind: "tool_not_found", toolName, callId: "1" });
    expect(await find("none")).toMatch(/^Tool 'none' not found\. Available: /);
    expect(await find("3d-print")).toBe("Invalid tool call: the SDK refused it");
    expect(await toolErrorFormatter({ kind: "approval_rejected", toolName: "weather" })).toBeUndefined();
    expect(seen.map(({ type }) => type)).toEqual(["tool.failed", "tool.failed"]);
  });

  // The items are those that the runner of `@openai/agents` 0.20.0 writes.
  const call = (callId: string, name: string, args: string) => {
    return { type: "function_call", callId, name, arguments: args, status: "completed" };
  };
  const told = (callId: string, name: string, text: string) => {
    return {
      type: "function_call_result",
      callId,
      name,
      status: "completed",
      output: { type: "text", text },
    };
  };
  const BY_THE_SDK = "An error occurred while parsing tool arguments. Please try again with valid JSON.";

  test("has a call with broken JSON dispatched once, and the model read the engine's answer", async () => {
    const { callModelInputFilter, seen } = await open();
    const said = { type: "message", role: "user", content: "Rome?" };
    const input = [
      said,
      call("1", "weather", '{"city":'),
      call("2", "weather", '{"city":"Rome"}'),
      call("3", "_3d-print", ""),
      call("4", "other", "{"),
      ...["1", "2", "3", "4"].map((id) => told(id, "weather", BY_THE_SDK)),
    ];
    const modelData = { instructions: "Be brief.", input };
    const filtered = await callModelInputFilter({ modelData });
    expect(filtered).toEqual({
      instructions: "Be brief.",
      input: [
        ...input.slice(0, 5),
        told("1", "weather", "Invalid JSON: unexpected end at position 8"),
        told("2", "weather", BY_THE_SDK),
        told("3", "weather", "Invalid tool call: the SDK refused it"),
        told("4", "weather", BY_THE_SDK),
      ],
    });
    expect(await callModelInputFilter({ modelData })).toEqual(filtered);
    expect(seen.map(({ type, callId }) => [type, callId])).toEqual([
      ["tool.failed", "1"],
      ["tool.failed", "3"],
    ]);
    expect(modelData.input).toBe(input);
  });

  test("leaves a conversation without broken JSON as it is", async () => {
    const { callModelInputFilter, seen } = await open();
    const input = [call("1", "weather", "{}"), told("1", "weather", "ok"), null, "text"];
    expect(await callModelInputFilter({ modelData: { input } })).toEqual({ input });
    expect(seen).toEqual([]);
  });
});
