import { describe, expect, test } from "vitest";
import { SIDE_EFFECTS } from "../../src/tool/side-effects.ts";
import { traitProblems } from "../../src/tool/tool-problems.ts";

describe("The traits of a tool", () => {
  test("can all be declared", () => {
    expect(
      traitProblems({
        sideEffects: "write",
        title: "Write a file",
        tags: ["files"],
        outputSchema: { type: "object" },
        annotations: { readOnlyHint: false },
        timeoutMs: 1_000,
        idempotent: true,
        maxConcurrent: 1,
        confirm: "always",
        paths: [{ argument: "/path", access: "write" }],
        urls: [{ argument: "/url" }],
        visibleTo: ({ kind }) => kind === "main",
        projectChanges: () => ["src/a.ts"],
        unhandledErrors: "redacted",
      }),
    ).toEqual([]);
  });

  test.each([
    ["confirms", "confirm"],
    ["path", "paths"],
    ["sideEffect", "sideEffects"],
    ["timeout", "timeoutMs"],
  ])("misspelt as '%s' are a problem", (name, meant) => {
    expect(traitProblems({ [name]: true } as never)).toEqual([
      `'${name}' is unknown: did you mean '${meant}'?`,
    ]);
  });

  test.each([
    [
      "alwaysConfirm",
      "'alwaysConfirm' is unknown: write 'confirm: \"always\"' in place of 'alwaysConfirm: true'",
    ],
    ["submitsPlan", "'submitsPlan' is unknown: write 'confirm: \"plan\"' in place of 'submitsPlan: true'"],
    [
      "writesThroughFiles",
      "'writesThroughFiles' is unknown: write 'usesFiles: \"staged\"' in place of 'writesThroughFiles: true'",
    ],
  ])("under the former name %s are a problem that says what to write", (name, problem) => {
    expect(traitProblems({ [name]: true } as never)).toEqual([problem]);
    expect(traitProblems({ [name]: false } as never)).toEqual([problem]);
  });

  test("can have members of others beside them", () => {
    const tool = {
      name: "a",
      description: "b",
      inputSchema: {},
      host: () => 1,
      freeform: true,
      owner: "ann",
    };
    expect(traitProblems(tool as never)).toEqual([]);
  });

  test.each([
    ["sideEffects", "harmless"],
    ["title", 1],
    ["tags", [""]],
    ["tags", "files"],
    ["outputSchema", "object"],
    ["annotations", []],
    ["timeoutMs", 0],
    ["timeoutMs", 2 ** 31],
    ["timeoutMs", 1.5],
    ["idempotent", "yes"],
    ["maxConcurrent", 0],
    ["confirm", "deny"],
    ["usesFiles", "stage"],
    ["paths", ["/path"]],
    ["paths", [{ argument: "path", access: "read" }]],
    ["paths", [{ argument: "/path", access: "append" }]],
    ["paths", [{ argument: "/path", access: "read", more: 1 }]],
    ["urls", [{ argument: "" }]],
    ["urls", [{ argument: "/url", access: "read" }]],
    ["visibleTo", true],
    ["projectChanges", ["a"]],
    ["unhandledErrors", "hidden"],
  ])("are refused: %s as %j", (name, value) => {
    const problems = traitProblems({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name} must be`));
  });

  test("list the classes of side effects from the mildest to the worst", () => {
    expect(SIDE_EFFECTS).toEqual(["none", "read", "write", "execute", "network", "destructive"]);
  });
});
