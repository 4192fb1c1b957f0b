import { deepStrictEqual, strictEqual } from "node:assert";
import { allow, openSandboxes, type Tool, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { CodeExecutor, type ProgramOptions, registerPrograms } from "sandgate/programs";
import { ToolIndex } from "../../src/programs/catalogue/catalogue-tools.ts";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { peerCase } from "../peer-case.ts";
import { INPUT, outputOf } from "../setting.ts";

/** Returns a tool with an input and an output type of its own. */
function typedTool(index: number): Tool {
  const verb = ["read", "send", "list", "delete", "convert", "find", "plan", "book"][index % 8];
  const noun = ["invoice", "message", "customer", "flight", "file", "image", "meeting", "metric", "room"][
    index % 9
  ];
  return {
    name: `${verb}_${noun}_${index}`,
    description: `Can ${verb} a ${noun} of kind ${index % 97} for department ${index % 31}.`,
    sideEffects: "none",
    inputSchema: {
      type: "object",
      properties: {
        id: { type: "string", description: `The id of the ${noun}` },
        limit: { type: "integer", minimum: 1 },
        options: { type: "object", properties: { [`mode_${index % 13}`]: { enum: ["a", "b"] } } },
      },
      required: ["id"],
    },
    outputSchema: { type: "object" },
    host: (input: never) => input,
  } as Tool;
}

function registryOf(count: number): ToolRegistry {
  const registry = new ToolRegistry();
  for (let index = 0; index < count; index++) registry.register(typedTool(index));
  return registry;
}

/** A program with one inner call among so many tools, from the model's call to its result. */
async function openProgram(
  count: number,
  language: "js" | "ts" = "js",
  options: ProgramOptions = {},
): Promise<OpenCase> {
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const registry = registryOf(count);
  registerPrograms(registry, options);
  const program = allow({ sandbox: "quickjs", capabilities: { tools: ["*"] } });
  const host = allow({ sandbox: "host" });
  const policy = {
    check: ({ tool }: { tool: { name: string } }) => (tool.name === "run_program" ? program : host),
  };
  const context = { registry, policy, sandboxes, sessionId: "bench" };
  const code = `const found = await tools.read_invoice_0({ id: "x", limit: 1 }); return found.id;`;
  const call = { id: "call", name: "run_program", arguments: { code, language } };
  const engine = new ToolDispatchEngine();
  return {
    run: () => engine.dispatch(call, context),
    check: (execution) => strictEqual(outputOf(execution as never), "x"),
    close: () => sandboxes.close(),
  };
}

/** Cloudflare's interface over the same engine. */
async function openExecutor(): Promise<OpenCase> {
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const executor = new CodeExecutor({ sandboxes });
  const code = `async () => await codemode.echo(${JSON.stringify(INPUT)})`;
  const fns = { echo: async (input: unknown) => input };
  return {
    run: () => executor.execute(code, fns),
    check: (answer) => deepStrictEqual((answer as { result: unknown }).result, INPUT),
    close: () => sandboxes.close(),
  };
}

const start: Question = {
  name: "programs",
  cases: [
    { name: "ours: a program with one inner host call, 10 typed tools", open: () => openProgram(10) },
    { name: "ours: the same with 1,000 typed tools", open: () => openProgram(1_000) },
    { name: "ours: the same in TypeScript, 10 typed tools", open: () => openProgram(10, "ts") },
    {
      name: "ours: the same in TypeScript, whose types are checked",
      open: () => openProgram(10, "ts", { typeCheck: true }),
    },
    { name: "ours: execute() as codemode has it, with one inner call", open: openExecutor },
    peerCase(
      "codemode on workerd: execute() with one inner call, 16 in a request",
      "codemode",
      "openCalling",
      16,
    ),
    peerCase("AI SDK code mode: runCodeMode() with one inner call", "ai-sdk-code-mode", "openCalling"),
  ],
};

const QUERIES = [
  "read the invoice of a customer",
  "find a meeting room",
  "convert an image",
  "book flights for the department",
  "delete files of kind 42",
];

function search(count: number): Case {
  return {
    name: `ours: a search of ${count.toLocaleString("en-US")} tools`,
    open: () => {
      const index = new ToolIndex(registryOf(count) as never, []);
      let queries = 0;
      return {
        run: () => index.search(QUERIES[queries++ % QUERIES.length] ?? "", 5, () => true),
        check: (found) => strictEqual((found as unknown[]).length, 5),
      };
    },
  };
}

const searching: Question = { name: "programs-search", cases: [search(100), search(1_000), search(10_000)] };

/** The questions of the suite `programs`. */
export const questions: readonly Question[] = [start, searching];
