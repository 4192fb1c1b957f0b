import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { EventStream } from "../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { JsonValue } from "../../src/json/value.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { componentTools } from "../../src/sandboxes/wasm/tools/component-tools.ts";
import { type BuiltProject, builtProject } from "./built-project.ts";

const cacheDirectory = await mkdtemp(join(tmpdir(), "sandgate-examples-"));
const sandboxes = await openSandboxes({ workers: { threads: 1 }, wasm: { cacheDirectory } });
afterAll(async () => {
  await sandboxes.close();
  await rm(cacheDirectory, { recursive: true, force: true });
});

/** The result of a call, as operators see it. */
interface Outcome {
  readonly output: JsonValue;
  readonly error: string | undefined;
  readonly detail: string | undefined;
  readonly log: readonly string[];
}

/** Registers a component's tools without capabilities. Returns a function that calls them. */
async function openTools(component: string): Promise<(name: string, input: JsonValue) => Promise<Outcome>> {
  const registry = new ToolRegistry();
  for (const tool of (await componentTools(component, sandboxes)).tools) registry.register(tool);
  return async (name, input) => {
    const log: string[] = [];
    let detail: string | undefined;
    const events = new EventStream();
    events.on((event) => {
      if (event.type === "tool.log") log.push(`${event.level}: ${event.message}`);
      if (event.type === "tool.failed") detail = event.detail;
    });
    const policy = { check: () => allow({ sandbox: "wasm" }) };
    const execution = await new ToolDispatchEngine().dispatch(
      { id: "1", name, arguments: JSON.stringify(input) },
      { registry, policy, sandboxes, events, sessionId: "examples" },
    );
    return { output: execution?.output ?? null, error: execution?.error?.message, detail, log };
  };
}

/** Returns the component of a project. If it could not be built, logs the reason and returns `""`. */
function componentOf(name: string, project: BuiltProject): string {
  if ("component" in project) return project.component;
  console.warn(`${name} is skipped: ${project.missing}`);
  return "";
}

const c = componentOf("examples/wasm-tool-c", await builtProject("c"));
const withPrintf = componentOf(
  "examples/wasm-tool-c with printf",
  await builtProject("c", {
    file: "tool.c",
    text: readFileSync("examples/wasm-tool-c/tool.c", "utf8")
      .replace("#include <math.h>", "#include <math.h>\n#include <stdio.h>")
      .replace("  (void)context;", '  (void)context;\n  printf("%.3f of %s\\n", 0.5, "all");'),
  }),
);
describe.skipIf(c === "")("examples/wasm-tool-c", async () => {
  const call = c === "" ? undefined : await openTools(c);
  const calculate = (expression: string): Promise<Outcome> =>
    call?.("calculate", { expression }) ?? Promise.reject(new Error("it was not built"));

  test("the C example evaluates expressions", async () => {
    for (const [expression, value] of [
      ["2 * (3 + 4)", 14],
      ["2^3^2", 512],
      ["-2^2", -4],
      ["2^-1", 0.5],
      ["0.1 + 0.2", 0.1 + 0.2],
      [".5e1", 5],
      ["1e21", 1e21],
      ["sqrt(16) + abs(-2) * floor(1.9)", 6],
      ["ln(exp(2))", 2],
      ["cos(pi)", -1],
    ] as const) {
      expect(await calculate(expression)).toMatchObject({ output: value, error: undefined });
    }
  });

  test("the C example computes the same numbers as JavaScript, to the last bit", async () => {
    const { sum } = fc.letrec<{ sum: string; atom: string }>((tie) => ({
      atom: fc.oneof(
        { depthSize: "small" },
        fc.double({ min: 0, max: 1e6, noNaN: true }).map((number) => JSON.stringify(number).replace("+", "")),
        tie("sum").map((inner) => `(${inner})`),
        tie("sum").map((inner) => `-(${inner})`),
      ),
      sum: fc
        .array(fc.tuple(tie("atom"), fc.constantFrom("+", "-", "*", "/")), { minLength: 1, maxLength: 3 })
        .map((parts) =>
          parts.map(([atom, operator], index) => (index === 0 ? atom : `${operator} ${atom}`)).join(" "),
        ),
    }));
    await fc.assert(
      fc.asyncProperty(sum, async (expression) => {
        const value: unknown = new Function(`return ${expression}`)();
        const { output, error } = await calculate(expression);
        if (Number.isFinite(value)) expect(Number(output) + 0).toBe(Number(value) + 0);
        else expect(error).toBe("the result is not a finite number");
      }),
      { numRuns: 200 },
    );
  });

  test("the C example reports the position of a mistake to the model, and its error code to the operator", async () => {
    for (const [expression, message] of [
      ["", "position 1: expected a number, a function or '('"],
      ["1 +", "position 4: expected a number, a function or '('"],
      ["(1", "position 3: expected ')'"],
      ["1 2", "position 3: expected an operator"],
      ["1..2", "position 1: expected a number"],
      ["0x10", "position 1: expected a number"],
      ["inf", "position 1: expected a number, a function or '('"],
      ["sin 1", "position 5: expected '('"],
      ["1\u0000", "position 2: expected an operator"],
      ['"\\\u{1f600}"', "position 1: expected a number, a function or '('"],
      ["(".repeat(1_000), "position 201: the expression is nested too deeply"],
      ["1/0", "the result is not a finite number"],
    ] as const) {
      expect(await calculate(expression)).toMatchObject({
        output: null,
        error: message,
        detail: "error code invalid-input",
      });
    }
  });

  test("the C example logs the number of operations", async () => {
    expect(await calculate("1 + 2 * 3")).toMatchObject({ output: 7, log: ["info: operations: 2"] });
  });

  test("the output of printf goes to the log of the call", async () => {
    const outcome = await (await openTools(withPrintf))("calculate", { expression: "1" });
    expect(outcome).toMatchObject({ output: 1, log: ["info: 0.500 of all", "info: operations: 0"] });
  });
});

const javascript = componentOf("examples/wasm-tool-javascript", await builtProject("javascript"));
describe.skipIf(javascript === "")("examples/wasm-tool-javascript", async () => {
  const call = javascript === "" ? undefined : await openTools(javascript);
  const parseCsv = (text: string, delimiter?: string): Promise<Outcome> =>
    call?.("parse_csv", delimiter === undefined ? { text } : { text, delimiter }) ??
    Promise.reject(new Error("it was not built"));

  test("the JavaScript example reads any table written according to RFC 4180", async () => {
    const field = fc.oneof(
      fc.string({ maxLength: 5 }),
      fc.constantFrom('"', '""', "\r\n", "a,b", "|", "constructor", "é\u{1f600}"),
    );
    const table = fc
      .tuple(
        fc.uniqueArray(field, { minLength: 2, maxLength: 4 }),
        fc.array(fc.array(field), { maxLength: 4 }),
      )
      .map(
        ([header, rows]) => [header, rows.map((row) => header.map((_, index) => row[index] ?? ""))] as const,
      );
    const delimiters = fc.constantFrom(",", ";", "|", "\t");
    await fc.assert(
      fc.asyncProperty(table, delimiters, fc.boolean(), async ([header, rows], delimiter, isQuoted) => {
        const write = (text: string): string =>
          isQuoted || /[",;|\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
        const text = [header, ...rows].map((row) => row.map(write).join(delimiter)).join("\r\n");
        const records = rows.map((row) => header.map((name, index) => [name, row[index]]));
        const { output } = await parseCsv(text, delimiter);
        expect((output as object[]).map((record) => Object.entries(record).sort())).toEqual(
          records.map((record) => record.sort()),
        );
      }),
      { numRuns: 30 },
    );
  });

  test("the JavaScript example reports the invalid line to the model, and the error code to the operator", async () => {
    for (const [text, message] of [
      ["", "there is no header line"],
      ["a,a\n1,2", "the header names a field twice"],
      ["a,b\n\n1", "line 3: 1 fields instead of 2"],
      ['a,b\n1,"2\n3', "line 2: a quote is not closed, or is inside an unquoted field"],
      ['a,b\n1,"2"3', "line 2: a quote is not closed, or is inside an unquoted field"],
    ] as const) {
      expect(await parseCsv(text)).toMatchObject({
        output: null,
        error: message,
        detail: "error code invalid-input",
      });
    }
  });

  test("the JavaScript example logs the number of records", async () => {
    const outcome = await parseCsv("name,age\nAda,36\n");
    expect(outcome).toMatchObject({ output: [{ name: "Ada", age: "36" }], log: ["info: records: 1"] });
  });

  test("arguments are validated against the schema that the JavaScript example describes", async () => {
    expect((await parseCsv("a\n1", ":")).error).toMatch(/^Invalid arguments: \/delimiter /);
  });
});
