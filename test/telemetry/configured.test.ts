import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createFolder, type Outcome, sandgate } from "../cli/sandgate.ts";
import { serve } from "../cli/serve.ts";
import { dispatchBody, dispatch as send } from "../executor/harness.ts";
import { OtlpReceiver } from "./otlp-receiver.ts";

const CONFIG = `
tools:
  - name: upper
    description: Writes a text in capitals
    inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
    sideEffects: none
    quickjs: { source: "export default ({ text }) => text.toUpperCase()" }
policy: { rules: [{ tools: [upper], effect: allow, sandboxes: [quickjs] }] }
`;

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

/** A collector, its address without a path, and its port. */
async function openCollector(): Promise<{ readonly collector: OtlpReceiver; readonly otlp: string }> {
  const collector = await OtlpReceiver.open();
  onTestFinished(() => collector.close());
  return { collector, otlp: collector.url("traces").replace("/v1/traces", "") };
}

function setEnv(name: string, value: string): void {
  vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** Dispatches a call of `upper` and one that is refused. */
async function dispatchWith(telemetry: string): Promise<Outcome> {
  const folder = await createFolder({ "sandgate.yaml": `${CONFIG}telemetry: ${telemetry}\n` });
  const stdin = JSON.stringify([
    { id: "1", name: "upper", arguments: { text: "api_key=sk-123456789012345678901234" } },
    { id: "2", name: "lower", arguments: {} },
  ]);
  return sandgate(["dispatch", "--config", join(folder, "sandgate.yaml")], { stdin });
}

describe("telemetry in sandgate.yaml", () => {
  test("sends spans and metrics to a collector, with secrets as headers", async () => {
    const { collector, otlp } = await openCollector();
    setEnv("OTLP_TOKEN", "t-1");
    const outcome = await dispatchWith(`{ otlp: "${otlp}", headers: { x-token: { env: OTLP_TOKEN } } }`);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    expect(collector.spans).toMatchObject([
      { name: "execute_tool upper", parentSpanId: undefined, attributes: { "sandgate.sandbox": "quickjs" } },
      { name: "execute_tool lower", parentSpanId: undefined, attributes: { "error.type": "not_found" } },
    ]);
    expect(collector.points.map(({ attributes }) => attributes["gen_ai.tool.name"]).sort()).toEqual([
      "_OTHER",
      "upper",
    ]);
    expect(new Set(collector.headers.map((headers) => headers["x-token"]))).toEqual(new Set(["t-1"]));
  });

  test.each([
    ["none", {}],
    ["digest", { "sandgate.arguments.digest": expect.stringMatching(/^[0-9a-f]{64}$/) }],
    ["full", { "gen_ai.tool.call.arguments": { text: expect.stringContaining("redacted") } }],
  ])("has spans with the content '%s', and nothing more of arguments and outputs", async (content, own) => {
    const { collector, otlp } = await openCollector();
    await dispatchWith(`{ otlp: "${otlp}", content: ${content}, metrics: false }`);
    const [span] = collector.spans;
    const names = Object.keys(span?.attributes ?? {}).filter((name) => /call\.(?:arg|res)|digest/.test(name));
    const results = { none: [], digest: ["sandgate.result.digest"], full: ["gen_ai.tool.call.result"] }[
      content
    ];
    expect(names.sort()).toEqual([...Object.keys(own), ...(results ?? [])].sort());
    expect(span?.attributes).toMatchObject(own);
    expect(JSON.stringify(collector.spans)).not.toContain("sk-1234567890");
    expect(collector.points).toEqual([]);
    if (content === "digest") {
      const text = '{"text":"api_key=sk-123456789012345678901234"}';
      const digest = createHash("sha256").update(text).digest("hex");
      expect(span?.attributes["sandgate.arguments.digest"]).toBe(digest);
    }
  });

  test("continues the trace of the environment in dispatch", async () => {
    const { collector, otlp } = await openCollector();
    setEnv("TRACEPARENT", TRACEPARENT);
    await dispatchWith(`{ otlp: "${otlp}" }`);
    for (const span of collector.spans) expect(span).toMatchObject({ traceId: TRACE, parentSpanId: SPAN });
    expect(collector.spans).toHaveLength(2);
  });

  test("continues the traces of requests in serve, and sends what is left when the server ends", async () => {
    const { collector, otlp } = await openCollector();
    setEnv("TRACEPARENT", "00-11111111111111111111111111111111-2222222222222222-01");
    const { address, end } = await serve({ "sandgate.yaml": `${CONFIG}telemetry: { otlp: "${otlp}" }\n` });
    const body = dispatchBody({ name: "upper", arguments: { text: "a" } });
    await send({ address }, body, { headers: { traceparent: TRACEPARENT } });
    expect(await end()).toBe(0);
    expect(collector.spans).toMatchObject([{ traceId: TRACE, parentSpanId: SPAN }]);
  });

  test("does not fail calls if the collector cannot be reached, and says so in the log", async () => {
    const { code, stdout, stderr } = await dispatchWith('{ otlp: "http://127.0.0.1:1" }');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("ok: ") });
    expect(stderr).toContain('"event":"telemetry.problem"');
  });

  test.each([
    ['{ otlp: "ftp://a.example" }', "otlp must be http: or https:"],
    ['{ otlp: "https://user:pw@a.example" }', "otlp must not contain credentials"],
    ['{ otlp: "https://a.example/?x=1" }', "neither a query nor a fragment"],
    ["{ metrics: true }", "'otlp' is missing"],
    ['{ otlp: "https://a.example", content: all }', "must be one of none, digest, full"],
    ['{ otlp: "https://a.example", headers: { x-token: secret } }', "the token itself does not belong here"],
    ['{ otlp: "https://a.example", headers: { x-token: { env: NOT_SET_1 } } }', "variable is not set"],
    ['{ otlp: "https://a.example", headers: { "a b": { env: PATH } } }', "is not a valid header name"],
    ['{ otlp: "http://a.example", headers: { x-token: { env: PATH } } }', "its headers are secrets"],
  ])("refuses %s", async (telemetry, message) => {
    const { code, stderr } = await dispatchWith(telemetry);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });

  test("says which packages to install if one is missing", async () => {
    const hooks = `import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) {
        return next(name === "@opentelemetry/resources" ? "@opentelemetry/is-not-installed" : name, context);
      } });`;
    const folder = await createFolder({
      "sandgate.yaml": `${CONFIG}telemetry: { otlp: "http://127.0.0.1:1" }\n`,
      "message.json": JSON.stringify([{ id: "1", name: "upper", arguments: { text: "a" } }]),
      "hooks.mjs": hooks,
    });
    const main = resolve(import.meta.dirname, "../../src/cli/main.ts");
    const argv = ["--import", join(folder, "hooks.mjs"), main, "dispatch", join(folder, "message.json")];
    const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((done) => {
      const all = [...argv, "--config", join(folder, "sandgate.yaml")];
      execFile(process.execPath, all, (error, _, said) => done({ code: error?.code, stderr: said }));
    });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(
        "not installed: npm install @opentelemetry/api @opentelemetry/sdk-trace",
      ),
    });
  });
});
