import { globSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
// Inside: only the shape that checks a config knows which entries the printed schema must have.
import { CONFIG_SHAPE } from "../../../../src/cli/config/load-config.ts";
import { createFolder, PROJECT, sandgate } from "../../sandgate.ts";

const { code, stdout } = await sandgate(["schema"]);
const schema = JSON.parse(stdout);
/** A validator of standard JSON Schema, which refuses keywords that it does not know. */
const validate = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(schema);

/** The configs of the examples, of the docs and of the tests' project. Blocks of the docs can be parts of a config. */
const CONFIGS: readonly (readonly [string, string])[] = [
  ["the project of the tests", PROJECT["sandgate.yaml"] ?? ""],
  ...globSync("examples/**/sandgate.yaml").map((file) => [file, readFileSync(file, "utf8")] as const),
  ...globSync("docs/*.md").flatMap((file) =>
    Array.from(
      readFileSync(file, "utf8").matchAll(/^```yaml(?: file=sandgate\.yaml)?\n(.*?)^```$/gms),
      ([, text = ""], index) => [`${file}, block ${index + 1}`, text] as const,
    ).filter(([, text]) => /^(?:tools|toolsets|mcp):/m.test(text) && /^(?:policy|agents):/m.test(text)),
  ),
];

/** Configs with a flaw in each part. What one refuses, the other refuses. */
const FLAWED = [
  "tools: [{ name: a }]",
  "tools: [{ name: a, description: A, inputSchema: {}, sideEffect: none }]",
  "toolsets: [nothing]",
  "toolsets: [{ fs: { prefx: a } }]",
  "mcp: { server: {} }",
  "timeouts: { quick: 1s }",
  "unhandledErrors: hidden",
  "resultBudget: { chars: 0 }",
  "redaction: { onSecretArgument: ask }",
  "log: { level: loud }",
  "sandboxes: { workers: { threads: 0 } }",
  "server: { mcp: { confirm: always } }",
  "journal: { sync: grouped }",
  "sessions: { limits: { concurrency: 65 } }",
  "confirmations: { default: { none: yes } }",
  "agents: { a: { fs: [{ path: x, mode: w }] } }",
  "requireSideEffects: 1",
  "policy: []",
  "policy: { rules: [{ tools: [a], effect: permit, sandboxes: [quickjs] }] }",
  "policy: { cedar: a.cedar }",
  "unknown: 1",
];

const TOOLS = "tools: [{ name: a, description: A, inputSchema: {}, quickjs: { source: x } }]\n";
const POLICY = "policy: { rules: [{ tools: [a], effect: allow, sandboxes: [quickjs] }] }\n";

describe("sandgate schema", () => {
  test("is a standard JSON Schema with a member for each entry of a config", () => {
    expect(code).toBe(0);
    expect(Object.keys(schema.properties).sort()).toEqual(
      Object.keys(CONFIG_SHAPE.schema["properties"] as object).sort(),
    );
    // Each part of its own shape is there: none of them accepts everything.
    for (const part of Object.values(schema.properties)) expect(part).not.toEqual({});
  });

  test.each(CONFIGS)("accepts %s", (_, text) => {
    expect(validate(parse(text)) ? [] : validate.errors).toEqual([]);
  });

  test.each(FLAWED)("refuses what sandgate check refuses: %s", async (flawed) => {
    const has = (name: string): boolean => flawed.startsWith(`${name}:`);
    const config = `${flawed}\n${has("tools") ? "" : TOOLS}${has("policy") ? "" : POLICY}`;
    const folder = await createFolder({ "sandgate.yaml": config });
    const checked = await sandgate(["check", "--json", "--config", `${folder}/sandgate.yaml`]);
    expect(checked).toMatchObject({ code: 2, stderr: "" });
    const { errors, problems } = JSON.parse(checked.stdout);
    expect(errors).toBeGreaterThan(0);
    expect(problems[0]).toMatchObject({ file: `${folder}/sandgate.yaml`, line: expect.any(Number) });
    expect(validate(parse(config))).toBe(false);
  });

  test("accepts what the flaws were put into", () => {
    expect(validate(parse(`${TOOLS}${POLICY}`))).toBe(true);
  });
});
