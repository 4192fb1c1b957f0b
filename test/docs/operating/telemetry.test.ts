import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { context, metrics, trace } from "@opentelemetry/api";
import { afterAll, describe, expect, test } from "vitest";
import { OtlpReceiver } from "../../telemetry/otlp-receiver.ts";

const root = dirname(dirname(dirname(import.meta.dirname)));
const text = readFileSync(`${root}/docs/telemetry.md`, "utf8");
const generated = `${root}/.cache/docs-telemetry`;
afterAll(() => rmSync(generated, { recursive: true, force: true }));

describe("docs/telemetry.md", () => {
  test("has a program whose spans and metrics arrive at a collector", async () => {
    const [, program = ""] = /^```ts\n(.*?)^```$/ms.exec(text) ?? [];
    const receiver = await OtlpReceiver.open();
    const address = receiver.url("traces").replace("/v1/traces", "");
    expect(program).toContain('"http://127.0.0.1:4318"');
    mkdirSync(generated, { recursive: true });
    writeFileSync(`${generated}/program.ts`, program.replace("http://127.0.0.1:4318", address));
    try {
      await import(`${generated}/program.ts`);
    } finally {
      for (const api of [context, trace, metrics]) api.disable();
      receiver.close();
    }
    expect(receiver.spans).toMatchObject([
      { name: "execute_tool add", attributes: { "gen_ai.tool.call.arguments": { a: 1, b: 2 } } },
      { name: "execute_tool subtract", attributes: { "error.type": "not_found" } },
    ]);
    expect(receiver.points.map(({ metric, count }) => [metric, count])).toEqual([
      ["gen_ai.execute_tool.duration", 1],
      ["gen_ai.execute_tool.duration", 1],
    ]);
  });

  test("lists every attribute", () => {
    const sources = globSync(`${root}/src/telemetry/*.ts`).map((file) => readFileSync(file, "utf8"));
    const named = sources.flatMap(
      (source) => source.match(/(?<=")(?:gen_ai|sandgate|exception|error)\.[a-z_.]+(?=")/g) ?? [],
    );
    const missing = named.filter((name) => {
      const group = name.replace(/^(sandgate\.receipt\.(?:enforced|used))\..*$/, "$1.*");
      return !text.includes(`\`${group}\``);
    });
    expect(named.length).toBeGreaterThan(30);
    expect(missing).toEqual([]);
  });
});
