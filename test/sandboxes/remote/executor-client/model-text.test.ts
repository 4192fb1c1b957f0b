import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { toToolResult } from "../../../../src/engine/call/messages.ts";
import { Redaction } from "../../../../src/redaction/redaction.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { contentText } from "../../../../src/tool/content.ts";
import { hostTool } from "../../../engine/helpers.ts";
import { startExecutor } from "../../../executor/harness.ts";
import { callOn, execution, RawPeer, type RemoteCall, response } from "./setting.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

const PAGE = { title: "Home", links: ["a", "b"] };
const page = hostTool(() => PAGE, { modelText: ({ title }: typeof PAGE) => `The page ${title}` });

/** Returns what the model reads of a call of the tool of an executor, and the call's output. */
async function read(url: string, options: RemoteCall = {}, on = sandboxes) {
  const { output, ...more } = await callOn(url, "tool", on, options);
  return { output, text: contentText(toToolResult({ output, ...more }).content) };
}

async function serve(tool = page): Promise<string> {
  return `http://${(await startExecutor([tool])).address}`;
}

describe("what a tool on an executor writes for the model", () => {
  test("is read in place of JSON, and the output stays for code", async () => {
    expect(await read(await serve())).toEqual({ output: PAGE, text: "The page Home" });
  });

  test("arrives in a stream", async () => {
    const { EventStream } = await import("../../../../src/engine/call/events.ts");
    const events = new EventStream();
    events.on(() => {});
    expect((await read(await serve(), { context: { events } })).text).toBe("The page Home");
  });

  test("arrives over a framed connection", async () => {
    const { address } = await startExecutor([page], { frames: true });
    const framed = await openSandboxes({ remote: { frames: true } });
    onTestFinished(() => framed.close());
    await read(`http://${address}`, { id: "first" }, framed);
    await sleep(200);
    const { text } = await read(`http://${address}`, { id: "second" }, framed);
    expect(text).toBe("The page Home");
  });

  test("is cut on the executor if it is long, whatever the limit of the output", async () => {
    const long = hostTool(() => PAGE, { modelText: () => "\u0001".repeat(100_000) });
    const { text, output } = await read(await serve(long), { limits: { outputBytes: 200 } });
    expect(output).toEqual(PAGE);
    expect(text.length).toBeLessThanOrEqual(30_000);
    expect(text).toMatch(/\[… \d+,\d+ characters left out …\]/);
  });

  test("has no secrets if results have none", async () => {
    const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    const telling = hostTool(() => PAGE, { modelText: () => `token=${secret}` });
    const redaction = new Redaction({ results: true });
    expect((await read(await serve(telling), { context: { redaction } })).text).not.toContain(secret);
  });
});

describe("a text for the model of an executor that is not trusted", () => {
  test("gives way to the text that the tool here writes", async () => {
    const { text } = await read(await serve(), { tool: { modelText: () => "written here" } });
    expect(text).toBe("written here");
  });

  test("is not read if the tool here declares what its output is", async () => {
    const { text } = await read(await serve(), { tool: { outputSchema: { type: "object" } } });
    expect(text).toBe(JSON.stringify(PAGE));
  });

  test.each([
    ["is too long", "x".repeat(30_001)],
    ["is no text", 5],
  ])("fails the call if it %s", async (_, modelText) => {
    const peer = new RawPeer();
    onTestFinished(() => peer.stop());
    peer.answer((socket, request) => socket.end(response(200, execution(request, { modelText }))));
    const { error } = await callOn(await peer.start(), "tool", sandboxes);
    expect(error).toMatchObject({
      message: "The tool's executor sent an invalid response",
      effect: "unknown",
    });
  });
});
