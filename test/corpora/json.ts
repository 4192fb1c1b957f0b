import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseArguments } from "../../src/engine/call.ts";

const folder = `${process.env["SANDGATE_CORPORA"]}/json/test_parsing`;
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));

/** A model's arguments arrive as text: what is no UTF-8 never gets so far. */
const text = (name: string): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      readFileSync(`${folder}/${name}`),
    );
  } catch {
    return undefined;
  }
};

describe("parsing files", () => {
  test.each(files.filter((name) => name.startsWith("y_")))("%s is accepted", (name) => {
    expect(parseArguments(text(name) ?? "")).toHaveProperty("value");
  });

  test.each(
    files.filter((name) => name.startsWith("n_") && text(name) !== undefined),
  )("%s is refused with a position", (name) => {
    const { problem } = parseArguments(text(name) ?? "") as { problem: string };
    expect(problem).toMatch(/^Invalid JSON: unexpected (token|end) at position \d+$/);
  });

  test.each(
    files.filter((name) => name.startsWith("i_") && text(name) !== undefined),
  )("%s does no harm", (name) => {
    expect(parseArguments(text(name) ?? "")).toBeTypeOf("object");
  });
});

test("prototype payloads pollute nothing", () => {
  const lines = readFileSync(`${process.env["SANDGATE_CORPORA"]}/json/proto_json.jsonl`, "utf8")
    .trim()
    .split("\n");
  const before = Object.getOwnPropertyNames(Object.prototype);
  for (const line of lines) {
    for (const value of Object.values(JSON.parse(line)))
      parseArguments(typeof value === "string" ? value : JSON.stringify(value));
  }
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  expect({}).not.toHaveProperty("polluted");
});
