/**
 * `npm run bench:tokens -- FOLDER`: the tokens that a model reads and writes, with direct calls and with programs, over the
 * catalogues and recorded calls of a folder (`fc/*.jsonl`, `agentdojo/traces.jsonl`). The tokenizer is o200k_base.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { shortList } from "../../src/mcp/server/tool-search.ts";
import { describe } from "../../src/programs/catalogue/describe-tools.ts";
import { registerPrograms } from "../../src/programs/program-tools.ts";
import { anthropicMessagesProtocol } from "../../src/protocols/providers/anthropic.ts";
import { normalizeSchema } from "../../src/schema/dialects/normalize.ts";

interface Definition {
  readonly name: string;
  readonly description: string;
  /** As the catalogue has it. */
  readonly input_schema?: JsonObject;
  readonly inputSchema?: JsonObject;
}

interface RecordedTask {
  readonly calls: readonly {
    readonly name: string;
    readonly arguments: JsonObject;
    readonly output: JsonValue;
  }[];
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("name the folder with the catalogues");

function rows(file: string): readonly JsonObject[] {
  return readFileSync(join(folder as string, file), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
}

function registryOf(definitions: readonly Definition[]): ToolRegistry {
  const registry = new ToolRegistry();
  for (const { name, description, ...given } of definitions) {
    if (registry.has(name)) continue;
    try {
      const inputSchema = normalizeSchema(given.input_schema ?? given.inputSchema).schema;
      registry.register({ name, description, inputSchema, host: () => null } as Tool);
    } catch {
      // A definition that no registry takes costs no tokens.
    }
  }
  return registry;
}

const offered = (registry: ToolRegistry): number =>
  countTokens(JSON.stringify(anthropicMessagesProtocol(registry).toTools().tools));

const ownRegistry = new ToolRegistry();
registerPrograms(ownRegistry);
const own = offered(ownRegistry);

const table: Record<string, Record<string, number>> = {};
function addCatalogue(name: string, definitions: readonly Definition[]): void {
  const registry = registryOf(definitions);
  const listed = registry.definitions();
  table[name] = {
    tools: registry.size,
    "direct definitions": offered(registry),
    "program, full": own + countTokens(describe(registry)),
    "program, names": own + countTokens(describe(registry, { style: "names" })),
    "program, search": own,
    "MCP, list": countTokens(JSON.stringify(listed)),
    "MCP, search": countTokens(JSON.stringify(shortList(listed, { registry, searchAbove: 0 }))),
  };
}

const traces = rows("agentdojo/traces.jsonl");
for (const { kind, suite, tools } of traces) {
  if (kind === "tools") addCatalogue(`agentdojo ${suite}`, tools as unknown as Definition[]);
}
addCatalogue("tau retail", rows("fc/tau_retail_train.tools.jsonl") as unknown as Definition[]);
addCatalogue(
  "BFCL, all its tools",
  rows("fc/bfcl.jsonl").flatMap(({ tools }) => (tools ?? []) as unknown as Definition[]),
);
console.table(table);

const tasks = traces.filter(({ kind, calls }) => kind === "user" && Array.isArray(calls) && calls.length > 1);
let direct = 0;
let program = 0;
for (const { calls } of tasks as unknown as readonly RecordedTask[]) {
  for (const { name, arguments: input, output } of calls) {
    direct += countTokens(JSON.stringify({ name, input })) + countTokens(JSON.stringify(output) ?? "");
  }
  const lines = calls.map(
    ({ name, arguments: input }, i) => `const r${i} = await tools.${name}(${JSON.stringify(input)});`,
  );
  const code = `${lines.join("\n")}\nreturn r${calls.length - 1};`;
  const read = [
    JSON.stringify(calls.at(-1)?.output),
    "Calls made:",
    ...calls.map(({ name }) => `- ${name}: allowed, effect committed`),
  ];
  program += countTokens(JSON.stringify({ code })) + countTokens(read.join("\n"));
}
console.log(
  `${tasks.length} recorded tasks of several calls, each call and result counted once, with no definitions:`,
);
console.log(`direct ${direct}, as one program that returns the last result ${program}`);
