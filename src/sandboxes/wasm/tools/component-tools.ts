import { UNPRINTABLE } from "../../../base/text.ts";
import { CanonicalJson } from "../../../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { WasmImplementation } from "../../../tool/implementations/implementations.ts";
import { BoundGrant } from "../../contract/bound-grant.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import {
  type SandboxRouter,
  type SandboxTask,
  type TaskObserver,
  ToolPreparationError,
} from "../../contract/sandbox.ts";
import { passComponentGate, readComponentBytes } from "../component/gate.ts";
import { exportsFor } from "../component/jco/made-resources.ts";
import { GUEST_CALL, GUEST_DESCRIBE } from "../exports/guest-interface.ts";
import { argumentsSchema, NoJsonError } from "../exports/json-schema.ts";
import { readComponent } from "../linking/component-reader.ts";
import type { ComponentFunction } from "../linking/link-plan.ts";
import { functionText } from "../linking/value-type.ts";

/** The definition of a component's tool, to be passed to `registry.register`, which validates it. */
export interface ComponentTool {
  /** The function's name. If several interfaces have it, the interface's name and an underscore precede it. */
  readonly name: string;
  /** What `describe` returns; for other functions, the type in WIT, because binaries do not contain documentation. */
  readonly description: string;
  /** A JSON Schema (draft 2020-12) that `describe` returns, or that is derived from the parameter types. */
  readonly inputSchema: JsonObject;
  readonly wasm: WasmImplementation;
}

/** The result of {@link componentTools}. */
export interface ComponentTools {
  readonly tools: readonly ComponentTool[];
  /** The exported functions that cannot be tools, each with the reason. */
  readonly refused: readonly { readonly export: string; readonly reason: string }[];
}

/** Tool names that every provider accepts. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Returns the tools of a component. If the component targets the world `sandgate:tool`, its `describe` is called in the
 * sandbox, without capabilities. Every other exported function becomes a tool, without running the component. To change
 * a tool's name, description or `sideEffects`, spread it: `{ ...tool, sideEffects: "none" }`.
 *
 * @param component The path or `file:` URL of its file, or its bytes.
 * @param sandboxes Runs `describe`.
 * @param options The engine of the tools. With jco's, `describe` runs in it, too: name it only for a component that is
 *   trusted.
 * @throws {ToolPreparationError} if the component does not pass the checks of registration, or `describe` fails.
 */
export async function componentTools(
  component: WasmImplementation["component"],
  sandboxes: SandboxRouter,
  { engine }: Pick<WasmImplementation, "engine"> = {},
): Promise<ComponentTools> {
  const binary = await readComponentBytes(component);
  passComponentGate(binary);
  const exports = exportsFor(engine, (await readComponent(binary)).plan.exports);
  const implementation: WasmImplementation = { component, ...(engine && { engine }) };
  const tools: ComponentTool[] = [];
  const refused: { export: string; reason: string }[] = [];
  if (exports.has(GUEST_CALL)) tools.push(...(await describedTools(implementation, sandboxes)));
  const names = toolNames([...exports.keys()]);
  for (const [exported, { type }] of exports) {
    if (exported === GUEST_CALL || exported === GUEST_DESCRIBE) continue;
    const name = names.get(exported) ?? "";
    const made = makeTool(exported, name, type, implementation);
    if (typeof made === "string") refused.push({ export: exported, reason: made });
    else tools.push(made);
  }
  return { tools, refused };
}

/** Returns a tool, or the reason why the function cannot be one. */
function makeTool(
  exported: string,
  name: string,
  type: ComponentFunction["type"],
  implementation: WasmImplementation,
): ComponentTool | string {
  try {
    const inputSchema = argumentsSchema(type);
    if (!TOOL_NAME.test(name))
      return `'${name.slice(0, 80)}' is not a valid tool name: register the function under another name`;
    const description = `${exported}: ${functionText(type)}`;
    return { name, description, inputSchema, wasm: { ...implementation, export: exported } };
  } catch (error) {
    if (error instanceof NoJsonError) return error.message;
    throw error;
  }
}

/** Returns the shortest unique name for each export. */
function toolNames(exports: readonly string[]): ReadonlyMap<string, string> {
  const forms = [shortName, interfaceName, fullName];
  const names = new Map<string, string>();
  let left = exports;
  for (const form of forms) {
    const taken = new Map<string, number>(Array.from(names.values(), (name) => [name, 1]));
    for (const exported of left) taken.set(form(exported), (taken.get(form(exported)) ?? 0) + 1);
    for (const exported of left) if (taken.get(form(exported)) === 1) names.set(exported, form(exported));
    left = left.filter((exported) => !names.has(exported));
  }
  return names;
}

/** `docs:adder/add@0.1.0#sum` becomes `sum`, and `[method]counter.add` becomes `counter_add`. */
function shortName(exported: string): string {
  const name = exported.slice(exported.lastIndexOf("#") + 1);
  return name.replace(/^\[[a-z]+\]/, "").replace(".", "_");
}

/** `docs:adder/add@0.1.0#sum` becomes `add_sum`. */
function interfaceName(exported: string): string {
  const [, name = ""] = /\/([^@#]+)(?:@[^#]*)?#/.exec(exported) ?? [];
  return name === "" ? shortName(exported) : `${name}_${shortName(exported)}`;
}

function fullName(exported: string): string {
  return exported.replaceAll(/[^A-Za-z0-9-]+/g, "_");
}

/** A tool as described by a component. It is untrusted until a registry has validated it. */
interface DescribedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly wasm: WasmImplementation;
}

/** The limits of a call of `describe`. */
const LIMITS = Object.freeze({ wallTimeMs: 5_000, outputBytes: 1_024 * 1_024 });

/**
 * Calls `describe` of a component of the world `sandgate:tool`, in the sandbox and without capabilities other
 * than its engine.
 *
 * @throws {ToolPreparationError} if the call fails. The message includes the last lines that the component
 *   logged.
 */
async function describedTools(
  implementation: WasmImplementation,
  sandboxes: SandboxRouter,
): Promise<readonly DescribedTool[]> {
  const sandbox = await sandboxes.route("wasm");
  if (sandbox === undefined) throw new ToolPreparationError("the sandbox is closed");
  const log = new LastLines();
  const outcome = await sandbox.run(describeTask(implementation, sandbox.defaults, log));
  if (outcome.status !== "completed") {
    const logged = String(log);
    throw new ToolPreparationError(
      `its 'describe' ${explain(outcome)}${logged === "" ? "" : `; it logged: ${logged}`}`,
    );
  }
  // The component was validated, so `describe` returns a list of records of three strings.
  return (outcome.output as readonly JsonObject[]).map((definition) => {
    const name = String(definition["name"]);
    return {
      name,
      description: String(definition["description"]),
      inputSchema: readSchema(String(definition["input-schema"]), name),
      wasm: { ...implementation, tool: name },
    };
  });
}

function describeTask(
  implementation: WasmImplementation,
  defaults: SandboxTask["limits"],
  observer: TaskObserver,
): SandboxTask {
  const input = Object.freeze({});
  const canonical = new CanonicalJson(input);
  const granted = {
    callId: "describe",
    canonical,
    implementations: { wasm: { ...implementation, export: GUEST_DESCRIBE } },
    limits: { ...defaults, ...LIMITS },
    capabilities: implementation.engine === undefined ? {} : { engine: implementation.engine },
  };
  return {
    ...granted,
    // The tool has no definition yet: this call is for it.
    grant: new BoundGrant({ ...granted, sandbox: "wasm", definition: canonical }),
    sessionId: "describe",
    toolName: "describe",
    input,
    signal: undefined,
    observer,
    embedder: undefined,
  };
}

function explain(outcome: SandboxOutcome): string {
  if (outcome.status === "failed") return `failed: ${outcome.message}`;
  return `ended with ${outcome.status}${outcome.detail === undefined ? "" : `: ${outcome.detail}`}`;
}

function readSchema(text: string, name: string): JsonObject {
  let schema: JsonValue = null;
  try {
    schema = JSON.parse(text) as JsonValue;
  } catch {
    // Reported below.
  }
  if (isJsonObject(schema)) return schema;
  throw new ToolPreparationError(
    `it describes the tool '${name.slice(0, 64)}' with an input schema that is not a JSON object`,
  );
}

const MAX_LINES = 16;

/** In UTF-16 code units. */
const MAX_LENGTH = 800;

/** Keeps the last lines that a task logs, because they often explain why it failed. Ignores streamed output. */
class LastLines implements TaskObserver {
  readonly #lines: string[] = [];

  output(): void {}

  log(_level: string, message: string): void {
    this.#lines.push(message);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  /** Returns the end of the log as one printable line, or `""` if nothing was logged. */
  toString(): string {
    const all = this.#lines.join(" | ");
    const end = all.length > MAX_LENGTH ? `…${all.slice(-MAX_LENGTH)}` : all;
    return end.replace(UNPRINTABLE, "\ufffd");
  }
}
