import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseArguments } from "../../src/engine/call.ts";
import { compileSchema } from "../../src/schema/compiled-schema.ts";

const corpus = `${process.env["SANDGATE_CORPORA"]}/json`;
const folder = `${corpus}/test_parsing`;
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));

/** A model's arguments arrive as text: what is no UTF-8 never gets so far. */
const text = (name: string): string | undefined => {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(readFileSync(`${folder}/${name}`));
  } catch {
    return undefined;
  }
};
const named = (prefix: string): readonly string[] =>
  files.filter((name) => name.startsWith(prefix) && text(name) !== undefined);

describe("parsing files", () => {
  test.each(named("y_"))("%s is accepted, unless it repeats a member name", (name) => {
    const repeats = name.startsWith("y_object_duplicated_key");
    expect(parseArguments(text(name) ?? "")).toHaveProperty(repeats ? "problem" : "value");
    expect(parseArguments(text(name) ?? "", "last")).toHaveProperty("value");
  });

  test.each(named("n_"))("%s is refused with a position", (name) => {
    const { problem } = parseArguments(text(name) ?? "") as { problem: string };
    expect(problem).toMatch(
      /^Invalid (JSON: unexpected (token|end)|arguments: nested deeper than \d+ levels) at position \d+$/,
    );
  });

  test.each(named("i_"))("%s is accepted, or refused with a position", (name) => {
    const parsed = parseArguments(text(name) ?? "");
    if ("problem" in parsed) expect(parsed.problem).toMatch(/ at position \d+$/);
  });
});

test("prototype payloads pollute nothing, and crash nothing", () => {
  const lines = readFileSync(`${corpus}/proto_json.jsonl`, "utf8").trim().split("\n");
  const compiled = compileSchema({
    properties: { a: { type: "object" }, toString: { type: "number" } },
    required: ["constructor", "hasOwnProperty"],
    additionalProperties: { type: ["object", "string"] },
  });
  const before = Object.getOwnPropertyNames(Object.prototype);
  let payloads = 0;
  for (const line of lines) {
    for (const value of Object.values(JSON.parse(line))) {
      payloads++;
      const parsed = parseArguments(typeof value === "string" ? value : JSON.stringify(value));
      if ("value" in parsed) compiled.accept(parsed.value);
    }
  }
  console.log(`json: ${files.length} parsing files, ${payloads} prototype payloads`);
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  expect({}).not.toHaveProperty("polluted");
});
