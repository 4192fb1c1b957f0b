import { UNPRINTABLE } from "../../../base/unprintable.ts";
import { CanonicalJson } from "../../../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { WasmImplementation } from "../../../tool/implementations/wasm-implementation.ts";
import { BoundGrant } from "../../contract/bound-grant.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import { type SandboxRouter, ToolPreparationError } from "../../contract/sandbox.ts";
import type { SandboxTask, TaskObserver } from "../../contract/task.ts";
import { GUEST_DESCRIBE } from "../exports/guest-interface.ts";

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

/** The limits of a call of `describe`. */
const LIMITS = Object.freeze({ wallTimeMs: 5_000, outputBytes: 1_024 * 1_024 });

/** A tool as described by a component. It is untrusted until a registry has validated it. */
interface DescribedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly wasm: WasmImplementation;
}

/**
 * Calls `describe` of a component of the world `sandgate:tool`, in the sandbox and without capabilities besides its engine.
 *
 * @throws {ToolPreparationError} if the call fails. The message includes the last lines that the component logged.
 */
export async function describedTools(
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
