import { describe, expect, test } from "vitest";
import { hostile, open } from "./open-hostile.ts";

/** The result of a call of the tool of a server in a mode. */
async function called(mode: string, args = {}, more: { readonly wallTimeMs?: number } = {}) {
  await using opened = await open({ h: hostile(mode) });
  const execution = await opened.call("mcp_h_x", args, more);
  return { ...execution, seen: opened.seen, notices: opened.notices };
}

const problemsOf = ({ notices }: { readonly notices: readonly { kind: string; message: string }[] }) =>
  notices.filter(({ kind }) => kind === "problem").map(({ message }) => message);

describe("A call of a hostile server", () => {
  test("passes arguments and returns the content", async () => {
    const { success, output, metadata, sandbox } = await called("ok", { a: "é" });
    expect({ success, sandbox }).toEqual({ success: true, sandbox: "remote" });
    expect(output).toEqual({ content: [{ type: "text", text: 'ok: x {"a":"é"}' }] });
    expect(metadata).toEqual({ mcp: { content: [{ type: "text", text: 'ok: x {"a":"é"}' }] } });
  });

  test("shows the model what it can, and keeps the whole result", async () => {
    const { output, metadata } = await called("call-rich");
    expect(output).toEqual({
      content: [
        { type: "text", text: "one" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "text", text: "[audio, audio/wav, 3 bytes]" },
        { type: "text", text: "[resource file:///a, a]" },
        { type: "text", text: "of b" },
        { type: "text", text: "[content of the type later, which cannot be shown]" },
      ],
    });
    expect(metadata?.["mcp"]).toMatchObject({
      content: [{ annotations: { audience: ["user"] } }, {}, {}, {}, {}, { type: "later", what: 1 }],
      structuredContent: { n: 1 },
      _meta: { "example.com/x": [1, 2] },
    });
  });

  test("fails with the text of the content if the tool says that it failed", async () => {
    const { error, output, metadata } = await called("call-is-error");
    expect(error).toMatchObject({ code: "execution_error", message: "it did not work", effect: "unknown" });
    expect(output).toEqual({ content: [{ type: "text", text: "it did not work" }] });
    expect(metadata).toMatchObject({ mcp: { isError: true } });
  });

  test("fails with the server's message if the server answers with an error", async () => {
    expect((await called("call-error")).error).toMatchObject({
      code: "execution_error",
      message: "out of order",
      effect: "unknown",
    });
  });

  // A tool can throw the first three after it did something; the others are about a request that a server cannot read.
  test.each([
    ...[-32_600, -32_601, -32_602, -32_603, -32_000, -32_002, -32_042].map((code) => [code, "unknown"]),
    ...[-32_700, -32_020, -32_021, -32_022].map((code) => [code, "none"]),
  ])("that is answered with the error %i has the effect %s", async (code, effect) => {
    expect((await called("call-error-code", { code })).error).toMatchObject({ message: "refused", effect });
  });

  test("that gets no answer ends at its deadline, and the server is told", async () => {
    await using opened = await open({ h: hostile("call-hang") });
    const { error, receipt } = await opened.call("mcp_h_x", {}, { wallTimeMs: 300 });
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    expect(receipt).toMatchObject({ mayStillRun: true, ended: "requested" });
    await opened.notice(({ kind, message }) => kind === "stderr" && message.startsWith("cancelled: "));
  });

  test("that is cancelled ends at once, and the server is told", async () => {
    await using opened = await open({ h: hostile("call-hang") });
    const cancelling = new AbortController();
    const calling = opened.call("mcp_h_x", {}, { signal: cancelling.signal });
    setTimeout(() => cancelling.abort(), 200);
    expect((await calling).error).toMatchObject({ code: "cancelled", effect: "unknown" });
    await opened.notice(({ kind, message }) => kind === "stderr" && message.startsWith("cancelled: "));
  });

  test.each([
    "call-exit",
    "call-kill",
  ])("during which the server dies has an unknown effect (%s)", async (mode) => {
    const { error } = await called(mode);
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "unknown" });
  });

  test("is not answered by other answers", async () => {
    const execution = await called("call-other-id", {}, { wallTimeMs: 500 });
    expect(execution.error?.code).toBe("timeout");
    expect(problemsOf(execution)).toEqual([
      "it answered a request that is not open",
      "it answered a request that is not open",
      "the message has an id that is neither a string nor a number",
    ]);
  });

  test("is answered once", async () => {
    await using opened = await open({ h: hostile("call-twice") });
    const { output } = await opened.call("mcp_h_x");
    expect(output).toEqual({ content: [{ type: "text", text: "first" }] });
    await opened.notice(({ message }) => message === "it answered a request that is not open");
    expect(problemsOf(opened)).toHaveLength(1);
  });

  test("is answered in pieces", async () => {
    expect((await called("call-pieces")).output).toEqual({
      content: [{ type: "text", text: "in pieces é🙂" }],
    });
  });

  const noJson = "the message is not usable JSON: ";
  test.each([
    ["call-bad-content", ""],
    ["call-no-object", ": the result is not an object"],
    [
      "call-big-number",
      `: ${noJson}an integer that a double cannot hold exactly (send it as a string) at position `,
    ],
    ["call-same-member", `: ${noJson}a member name that the object already has at position `],
    ["call-proto", `: ${noJson}a member named '__proto__' is not allowed at position `],
    ["call-nan", `: ${noJson}NaN, which JSON does not have, at position `],
    ["call-half-line", `: ${noJson}unexpected end at position `],
  ])("whose result is malformed fails at once with why, and may have had an effect (%s)", async (mode, why) => {
    const { error } = await called(mode);
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(error?.message.replace(/\d+$/, "")).toBe(`The tool's server returned no valid result${why}`);
  });

  test("keeps the numbers that a double can hold", async () => {
    const { metadata } = await called("call-numbers");
    expect(metadata).toMatchObject({ mcp: { structuredContent: { n: 1, e: 1e300 } } });
  });

  test("whose answer exceeds the output limit fails, and the whole answer is dropped", async () => {
    await using opened = await open({ h: hostile("call-huge-line") });
    const { error } = await opened.call("mcp_h_x");
    // A line of more than 4 MiB ends the connection.
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "unknown" });
    expect(problemsOf(opened)).toContain("it sent more than 4194304 bytes in a line");
  });

  test("with structured content succeeds only if it is what the tool declares", async () => {
    await using opened = await open({ h: hostile("structured") });
    const right = await opened.call("mcp_h_x");
    expect(right.output).toEqual({ content: [{ type: "text", text: '{"n":1}' }] });
    const wrong = await opened.call("mcp_h_x", { a: "wrong" });
    expect(wrong.error).toMatchObject({
      code: "execution_error",
      message: "The tool's server returned structured content that is not what the tool declares",
      effect: "unknown",
    });
  });

  test("reports progress as output and log lines", async () => {
    const { seen, success } = await called("call-progress");
    expect(success).toBe(true);
    expect(seen.filter(({ type }) => type === "tool.output" || type === "tool.log")).toMatchObject([
      { type: "tool.log", level: "info", message: "progress: 1 of 2" },
      { type: "tool.output", chunk: "half way\n" },
    ]);
  });

  test("answers no request of the server for a model, a person or directories", async () => {
    await using opened = await open({ h: hostile("call-asks-back") });
    const calling = opened.call("mcp_h_x", {}, { wallTimeMs: 2_000 });
    for (const id of ["s1", "s2", "s3"]) {
      const { message } = await opened.notice(
        (each) => each.kind === "stderr" && each.message.includes(`"${id}"`),
      );
      expect(message).toContain("-32601");
    }
    expect((await calling).error?.code).toBe("timeout");
  });
});
