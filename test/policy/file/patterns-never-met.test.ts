import { describe, expect, test } from "vitest";
import { ConfigError } from "../../../src/config/problem.ts";
import { ConfigSource } from "../../../src/config/source.ts";
import type { PolicyTool } from "../../../src/policy/file/checked-rule.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";

const save: PolicyTool = {
  name: "save",
  sandboxes: ["host"],
  sideEffects: "write",
  access: { paths: [{ argument: "/file", access: "write" }], urls: [{ argument: "/source" }] },
  inputSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      title: { type: "string" },
      slug: { type: "string", pattern: "^[a-z]+$" },
      code: { type: "string", minLength: 4, maxLength: 4 },
      kind: { enum: ["note", "task"] },
      day: { type: "string", format: "date" },
      owner: { type: "string", format: "email" },
      id: { type: "string", format: "uuid" },
      address: { type: "string", format: "ipv4" },
      link: { type: "string", format: "uri" },
      even: { type: "integer", minimum: 0, maximum: 10, multipleOf: 2 },
      file: { type: "string" },
      source: { type: "string" },
    },
  },
};

function problemsOf(when: string, effect = "deny"): readonly string[] {
  const use = effect === "deny" ? "" : ", sandboxes: [host]";
  const text = `rules:\n  - { effect: ${effect}, tools: [save], when: { ${when} }${use} }\n`;
  const show = ({ severity, message }: ConfigError["problems"][number]): string => `${severity}: ${message}`;
  try {
    return readPolicy(ConfigSource.parse(text, "p.yaml"), [], [save]).warnings.map(show);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(show);
  }
}

describe("a pattern that matches no value is an error in a rule that denies, and a warning in one that allows", () => {
  test.each<[string, string]>([
    ["/title: { regex: '^b$a' }", "no text at all matches this regular expression"],
    ["/title: { regex: '[]' }", "no text at all"],
    ["/title: { regex: 'a\\bb' }", "no text at all"],
    ["/title: { all: [{ regex: '^a' }, { regex: '^b' }] }", "meets all of these conditions"],
    ["/title: { all: [{ prefix: a }, { regex: '^[b-z]' }] }", "meets all of these conditions"],
    ["/title: { all: [{ glob: 'a/*' }, { glob: 'b/*' }] }", "meets all of these conditions"],
    ["/title: { all: [{ glob: 'a/b/*' }, { not: { glob: 'a/**' } }] }", "meets all of these conditions"],
    ["/title: { all: [{ prefix: ab }, { not: { prefix: a } }] }", "meets all of these conditions"],
    ["/slug: { regex: '[0-9]' }", `no text that the schema allows here matches it: pattern "^[a-z]+$"`],
    ["/slug: { glob: 'A*' }", "no text that the schema allows here"],
    ["/slug: { prefix: a- }", "no text that the schema allows here"],
    ["/code: { regex: '^.{1,3}$' }", "no text that the schema allows here matches it: minLength 4"],
    ["/code: { glob: '?????' }", "maxLength 4"],
    ["/kind: { glob: 'notes' }", `it matches none of the possible values: "note", "task"`],
    ["/day: { regex: '^2026-13' }", `format "date"`],
    ["/day: { equals: tomorrow }", "is not a value that the schema allows here"],
    ["/owner: { regex: '^[^@]+$' }", `format "email"`],
    ["/id: { prefix: zz }", `format "uuid"`],
    ["/address: { equals: localhost }", "is not a value that the schema allows here"],
    ["/link: { prefix: /etc }", `format "uri"`],
    ["/even: { range: { min: 3, max: 3 } }", "no number that is possible here is in this range"],
    [
      "/even: { all: [{ range: { min: 5 } }, { not: { range: { min: 4 } } }] }",
      "meets all of these conditions",
    ],
    ["/even: { equals: 5 }", "is not a value that the schema allows here"],
    ["principal/id: { equals: '' }", "is not a value that the schema allows here"],
  ])("%s", (when, reason) => {
    for (const [effect, severity] of [
      ["deny", "error"],
      ["ask", "error"],
      ["allow", "warning"],
    ] as const) {
      const [problem = "", ...others] = problemsOf(when, effect);
      expect(problem).toContain(`${severity}: `);
      expect(problem).toContain(reason);
      expect(others).toEqual([]);
    }
  });

  test.each([
    "/title: { regex: '\\Ba\\b' }",
    "/title: { all: [{ glob: 'a/**' }, { not: { glob: 'a/*' } }] }",
    "/title: { glob: 'file:///etc/**' }",
    "/slug: { regex: 'x{40}$' }",
    "/slug: { glob: '[a-f]*' }",
    "/code: { regex: '^.{4}$' }",
    "/day: { prefix: '2026-12' }",
    "/owner: { glob: '*@example.com' }",
    "/owner: { regex: '@example\\.com$' }",
    "/id: { prefix: 'urn:' }",
    "/link: { glob: 'https://*/a' }",
    "/link: { regex: '\\p{L}' }",
    "/even: { range: { min: 3, max: 5 } }",
    "/source: { glob: 'https://example.com/**' }",
  ])("but one that matches some value is not a problem: %s", (when) => {
    expect(problemsOf(when)).toEqual([]);
    expect(problemsOf(when, "allow")).toEqual([]);
  });
});

describe("a part of a condition that no value meets is a warning at its place", () => {
  test.each([
    "/kind: { glob: [note, notes] }",
    "/kind: { any: [{ prefix: no }, { prefix: ta-sk }] }",
    "/slug: { any: [{ equals: a }, { regex: '[A-Z]' }] }",
  ])("%s", (when) => {
    expect(problemsOf(when)).toEqual([expect.stringMatching(/^warning: (it matches none|no text)/)]);
  });
});

describe("a URL is not compared with a path", () => {
  test.each([
    ["/file: { glob: 'file:///etc/**' }", "this argument is a path: write '/etc/**'"],
    ["/file: { prefix: 'file:/etc/' }", "write '/etc/'"],
    ["/source: { prefix: 'file://' }", "no text that the schema allows here"],
    ["/source: { glob: 'example.com/**' }", "no text that the schema allows here"],
  ])("%s", (when, reason) => {
    const [problem = "", ...others] = problemsOf(when);
    expect(problem).toContain("warning: ");
    expect(problem).toContain(reason);
    expect(others).toEqual([]);
  });
});
