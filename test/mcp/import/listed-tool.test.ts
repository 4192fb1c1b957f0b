import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/json/value.ts";
// Inside: reads definitions of any form, and 20,000 of one name, without a server that lists them.
import { readListedTools } from "../../../src/mcp/import/listed-tool.ts";

const inputSchema = { type: "object" };

describe("The tools that a server lists", () => {
  test("keep everything that the server says about them", () => {
    const icons = [{ src: "https://example.com/icon.png" }];
    const tool = {
      name: "a.b",
      title: "A",
      description: "Does a.",
      inputSchema,
      outputSchema: { type: "string" },
      annotations: { readOnlyHint: true },
      icons,
      _meta: { x: 1 },
      "x-own": true,
    };
    expect(readListedTools("s", [tool])).toEqual({
      tools: [
        {
          name: "mcp_s_a_b",
          original: "a.b",
          title: "A",
          description: "Does a.",
          inputSchema,
          outputSchema: { type: "string" },
          annotations: { readOnlyHint: true },
          listed: tool,
          others: { icons, _meta: { x: 1 }, "x-own": true },
        },
      ],
      problems: [],
    });
  });

  test.each<[string, JsonValue, string]>([
    ["is not an object", "add", "tool 1 of server 's': it is not an object"],
    ["has no name", { inputSchema }, "tool 1 of server 's': it has no name"],
    ["has an empty name", { name: "", inputSchema }, "tool 1 of server 's': it has no name"],
    [
      "has a schema that is null",
      { name: "x", inputSchema: null },
      "the input schema of 'x' is not an object",
    ],
    [
      "has a schema that is a list",
      { name: "x", inputSchema: [] },
      "the input schema of 'x' is not an object",
    ],
    [
      "has a schema of lists",
      { name: "x", inputSchema: { type: "array" } },
      "the input schema of 'x' is not one of objects",
    ],
    ["has no schema", { name: "x" }, "the input schema of 'x' is not an object"],
    ["has a title that is no text", { name: "x", title: 1, inputSchema }, "the title of 'x' is not a string"],
    [
      "has a description that is no text",
      { name: "x", description: {}, inputSchema },
      "the description of 'x'",
    ],
    ["has a bad output schema", { name: "x", inputSchema, outputSchema: true }, "the output schema of 'x'"],
    ["has bad annotations", { name: "x", inputSchema, annotations: "safe" }, "the annotations of 'x'"],
  ])("cost only one tool if it %s", (_what, bad, problem) => {
    const { tools, problems } = readListedTools("s", [bad, { name: "good", inputSchema }]);
    expect(tools.map(({ name }) => name)).toEqual(["mcp_s_good"]);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  test("have an input schema of objects if it does not say of what, since arguments are nothing else", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    const { tools, problems } = readListedTools("s", [{ name: "x", inputSchema: { $schema } }]);
    expect([tools[0]?.inputSchema, problems]).toEqual([{ $schema, type: "object" }, []]);
  });

  test("are refused if two of them have one name, even after characters were replaced", () => {
    const list = [
      { name: "a.b", inputSchema },
      { name: "c", inputSchema },
      { name: "a_b", inputSchema },
    ];
    const { tools, problems } = readListedTools("s", list);
    expect(tools.map(({ name }) => name)).toEqual(["mcp_s_c"]);
    expect(problems).toEqual([
      "server 's' has several tools that would be called mcp_s_a_b: 'a.b' and 'a_b'",
    ]);
  });

  test("are named in one short line if 20,000 of them have one name", () => {
    const { tools, problems } = readListedTools("s", Array(20_000).fill({ name: "tool", inputSchema }));
    expect(tools).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(problems.join("").length).toBeLessThan(500);
  });

  test("never make the reader throw", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (list) => {
        const { tools, problems } = readListedTools("s", list as JsonValue[]);
        expect(tools.length + problems.length).toBeLessThanOrEqual(list.length);
      }),
    );
  });
});
