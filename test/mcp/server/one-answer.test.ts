import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { openMcpServer } from "../../../src/mcp/server/mcp-server.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { openSessions } from "../../../src/sessions/sessions.ts";

const ENVELOPE =
  '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}';
const INITIALIZE =
  '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';
const DISCOVER = `{"jsonrpc":"2.0","id":"first","method":"server/discover","params":{"_meta":${ENVELOPE}}}`;

const ERAS = [
  { era: "2025-11-25", opening: INITIALIZE, meta: '{"progressToken":1}' },
  { era: "2026-07-28", opening: DISCOVER, meta: ENVELOPE },
];

/** What a member of a message may be, as JSON text; `undefined` if it is left out. */
const IDS = [
  "0",
  '""',
  "1",
  "-1",
  '"a"',
  "1.5",
  "12345678901234567890",
  "1e400",
  `"${"long ".repeat(4_000)}"`,
  "7".repeat(20_000),
  "null",
  "true",
  "{}",
  "[1]",
  undefined,
];
const METHODS = [
  '"ping"',
  '"tools/list"',
  '"tools/call"',
  '"resources/read"',
  '"prompts/get"',
  '"completion/complete"',
  '"logging/setLevel"',
  '"initialize"',
  '"server/discover"',
  '"tasks/get"',
  '"no/such"',
  '"notifications/initialized"',
  '"rpc.x"',
  '""',
  '"__proto__"',
  '"constructor"',
  `"${"m".repeat(20_000)}"`,
  "5",
  "null",
  undefined,
];
const paramsOf = (meta: string): readonly (string | undefined)[] => [
  undefined,
  "null",
  "[]",
  "[1]",
  "1",
  '"x"',
  "{}",
  `{"_meta":${meta}}`,
  '{"_meta":null}',
  '{"_meta":5}',
  '{"_meta":{"progressToken":{}}}',
  '{"_meta":{"progressToken":1.5}}',
  `{"_meta":${meta},"name":"echo","arguments":{"n":1}}`,
  `{"_meta":${meta},"name":"echo","arguments":{"n":12345678901234567890}}`,
  `{"_meta":${meta},"name":"echo","arguments":{"n":3.14159265358979323846264338327950288}}`,
  `{"_meta":${meta},"name":"echo","arguments":{"a":1,"a":2}}`,
  `{"_meta":${meta},"name":"echo","arguments":{"__proto__":1}}`,
  `{"_meta":${meta},"name":"echo","arguments":{"a":"\\ud800"}}`,
  `{"_meta":${meta},"name":"echo","arguments":null}`,
  `{"_meta":${meta},"name":"echo","arguments":[1]}`,
  `{"_meta":${meta},"name":5}`,
  `{"_meta":${meta},"name":"no such tool"}`,
  `{"_meta":${meta},"cursor":7}`,
  `{"_meta":${meta},"uri":"x:y"}`,
  `{"_meta":${meta},"a":${"[".repeat(300)}${"]".repeat(300)}}`,
];
const VERSIONS = ['"2.0"', '"1.0"', "2", undefined];
const OTHERS = [[], [], [], [['"result"', "{}"]], [['"error"', '{"code":1,"message":"m"}']], [['"x"', "1"]]];

interface Written {
  readonly text: string;
  /** The id of a request, as JSON text. */
  readonly id: string | undefined;
}

const messages = (meta: string): fc.Arbitrary<Written> =>
  fc
    .record({
      jsonrpc: fc.oneof({ weight: 6, arbitrary: fc.constant('"2.0"') }, fc.constantFrom(...VERSIONS)),
      id: fc.constantFrom(...IDS),
      method: fc.constantFrom(...METHODS),
      params: fc.constantFrom(...paramsOf(meta)),
      others: fc.constantFrom(...OTHERS),
      order: fc.boolean(),
    })
    .map(({ jsonrpc, id, method, params, others, order }) => {
      const members = [
        ['"jsonrpc"', jsonrpc],
        ['"id"', id],
        ['"method"', method],
        ['"params"', params],
        ...others,
      ].flatMap(([name, value]) => (value === undefined ? [] : [`${name}:${value}`]));
      const isRequest = method?.startsWith('"') === true && id !== undefined && /^["\d-]/.test(id);
      const written = order ? members : members.reverse();
      return { text: `{${written.join(",")}}`, id: isRequest ? id : undefined };
    });

async function start() {
  const sandboxes = await openSandboxes();
  const registry = new ToolRegistry().register({
    name: "echo",
    description: "Echoes.",
    inputSchema: { type: "object" },
    sideEffects: "none",
    host: (input: unknown) => input,
  });
  const sessions = await openSessions({ registry, policy: new HostPolicy(), sandboxes });
  const server = await openMcpServer({
    sessions,
    registry,
    logs: true,
    resources: [],
    prompts: [],
  });
  return {
    server,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await sessions.close();
      await sandboxes.close();
    },
  };
}

/** The ids of the answers among lines or messages. */
const idsIn = (answers: readonly unknown[]): unknown[] =>
  answers.flatMap((answer) => {
    const { id, method } = answer as { id?: unknown; method?: unknown };
    return method === undefined && id !== undefined && id !== null ? [id] : [];
  });

const idsOf = (written: readonly Written[]): unknown[] =>
  written.flatMap(({ id }) => (id === undefined ? [] : [JSON.parse(id)]));

const sorted = (ids: readonly unknown[]): string[] => ids.map((id) => JSON.stringify(id)).sort();

describe.each(ERAS)("A client of $era", ({ era, opening, meta }) => {
  test.each([
    true,
    false,
  ])("over stdio gets one answer to each request, after an opening: %s", async (opens) => {
    await using started = await start();
    await fc.assert(
      fc.asyncProperty(
        fc.array(messages(meta), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        async (written, isBatch) => {
          const [input, output] = [new PassThrough(), new PassThrough()];
          const lines: unknown[] = [];
          let rest = "";
          output.on("data", (chunk: Buffer) => {
            const parts = (rest + chunk.toString()).split("\n");
            rest = parts.pop() ?? "";
            for (const part of parts) lines.push(JSON.parse(part));
          });
          const stdio = started.server.serveStdio({}, { input, output });
          if (opens) input.write(`${opening}\n`);
          const texts = written.map(({ text }) => text);
          input.write(isBatch ? `[${texts.join(",")}]\n` : `${texts.join("\n")}\n`);
          const expected = sorted([...(opens ? ["first"] : []), ...idsOf(written)]);
          await expect.poll(() => sorted(idsIn(lines)), { interval: 2, timeout: 2_000 }).toEqual(expected);
          // Later ones would be too many.
          for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
          expect(sorted(idsIn(lines))).toEqual(expected);
          await stdio.close();
        },
      ),
      { numRuns: 150 },
    );
  });

  test("over HTTP gets one answer to each request", async () => {
    await using started = await start();
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": era,
    };
    const post = (body: string, more = {}): Promise<Response> =>
      started.server.fetch(
        new Request("http://server/mcp", { method: "POST", headers: { ...headers, ...more }, body }),
      );
    const session = (await post(INITIALIZE)).headers.get("mcp-session-id") ?? "";
    await fc.assert(
      fc.asyncProperty(
        fc.array(messages(meta), { minLength: 1, maxLength: 3 }),
        fc.constantFrom<"session" | "no session" | "unknown session">(
          "session",
          "no session",
          "unknown session",
        ),
        async (written, kind) => {
          const isOne = written.length === 1;
          const body = isOne ? (written[0]?.text ?? "") : `[${written.map(({ text }) => text).join(",")}]`;
          const { method } = isOne && written[0]?.id !== undefined ? methodIn(body) : {};
          const response = await post(body, {
            ...(kind !== "no session" && { "mcp-session-id": kind === "session" ? session : "unknown" }),
            ...(era === "2026-07-28" && method !== undefined && { "mcp-method": method }),
          });
          const text = await response.text();
          const type = response.headers.get("content-type") ?? "";
          const answers = type.startsWith("text/event-stream")
            ? [...text.matchAll(/^data: (.+)$/gm)].map(([, data = ""]) => JSON.parse(data))
            : text === ""
              ? []
              : [JSON.parse(text)].flat();
          expect(sorted(idsIn(answers))).toEqual(sorted(idsOf(written)));
        },
      ),
      { numRuns: 300 },
    );
  });
});

function methodIn(text: string): { readonly method?: string } {
  const [, method] = /"method":"([a-z/]+)"/i.exec(text) ?? [];
  return method === undefined ? {} : { method };
}
