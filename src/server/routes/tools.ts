import type { DefinitionPins, RegisteredTool } from "../../engine/registered-tool.ts";
import type { Tool } from "../../engine/tool.ts";
import { changedValues, showChanges } from "../../pins/show-changes.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { render, textOf } from "../../rendering/render.ts";
import { toLine, toPrintableJson } from "../../rendering/shown.ts";
import type { ShownTool, ToolList } from "../../shapes/server.ts";
import { MAX_LISTED_TOOLS, SERVER } from "../../shapes/server.ts";
import type { WasmImplementation } from "../../tool/implementations/implementations.ts";
import type { Inspected, SessionService } from "../service.ts";
import { type App, pageOf, serve } from "./serve.ts";

/** Describes the tools of the server to people. */
export function toolRoutes(app: App, { inspected }: SessionService): void {
  const list = new ListedTools(inspected);

  serve(app, SERVER.listConsoleTools, async ({ env, req, json }) => {
    const { limit } = pageOf(req.query(), MAX_LISTED_TOOLS);
    return json(await list.page(req.query("after"), limit, env.closed));
  });
}

/** Maximum number of characters of the tools of a page, unless one tool alone has more. */
const MAX_PAGE_CHARS = 2_000_000;
const MAX_DESCRIPTION_CHARS = 8_000;
const MAX_SCHEMA_CHARS = 65_536;

/** Lists the tools of a server with what people want to know about them. */
class ListedTools {
  readonly #inspected: Inspected;
  /** Inspecting a component takes longer than everything else. */
  readonly #components = new WeakMap<Tool<never, never>, Promise<ShownTool["component"]>>();

  constructor(inspected: Inspected) {
    this.#inspected = inspected;
  }

  /**
   * Returns tools in the order of their names.
   *
   * @param after Those with names after this one. Default: from the first one on.
   * @param signal Ends the listing early: nothing reads it any more.
   */
  async page(after: string | undefined, limit: number, signal: AbortSignal): Promise<ToolList> {
    const { registry } = this.#inspected;
    const names = registry.names.filter((name) => after === undefined || name > after).sort();
    const tools: ShownTool[] = [];
    let chars = 0;
    let last: string | undefined;
    for (const name of names) {
      if (signal.aborted) break;
      const found = registry.find(name);
      // A reload can have removed it meanwhile.
      if (found === undefined) continue;
      const shown = await this.#show(found);
      chars += JSON.stringify(shown).length;
      if (tools.length > 0 && (tools.length >= limit || chars > MAX_PAGE_CHARS)) {
        return { tools, ...(last !== undefined && { next: last }) };
      }
      tools.push(shown);
      last = name;
    }
    return { tools };
  }

  async #show(found: RegisteredTool<never>): Promise<ShownTool> {
    const { registry, redaction } = this.#inspected;
    const { tool, subject } = found;
    const component = await this.#componentOf(tool);
    const description = redaction.text(tool.description);
    const schema = toPrintableJson(redaction.json(tool.inputSchema)).text;
    return {
      name: textOf(render(tool.name)),
      description: textOf(render(description, { chars: MAX_DESCRIPTION_CHARS, keepsLines: true })),
      sideEffects: subject.sideEffects,
      sandboxes: subject.sandboxes,
      ...(schema.length <= MAX_SCHEMA_CHARS && { inputSchema: schema }),
      source: sourceOf(tool),
      pin: pinOf(found, registry.pins, redaction),
      ...(component && { component }),
    };
  }

  #componentOf(tool: Tool<never, never>): Promise<ShownTool["component"]> {
    let shown = this.#components.get(tool);
    if (shown === undefined) {
      shown = showComponent(tool.wasm);
      this.#components.set(tool, shown);
    }
    return shown;
  }
}

function sourceOf({ remote, wasm }: Tool<never, never>): string {
  if (remote !== undefined && "mcp" in remote) {
    return `mcp:${textOf(render(String(remote.mcp.toJSON()["server"]), { chars: 256 }))}`;
  }
  return wasm === undefined ? "config" : "component";
}

/** Maximum number of characters of a difference. */
const MAX_CHARS = 100_000;

/** Compares the definition of a tool with the approved one. Neither is trusted. */
function pinOf(
  { tool: { name }, definition }: RegisteredTool<never>,
  pins: DefinitionPins | undefined,
  redaction: Redaction,
): ShownTool["pin"] {
  if (pins === undefined) return { state: "none" };
  if (pins.isApproved(name, definition)) return { state: "pinned" };
  const approved = pins.approvedDefinition?.(name);
  if (approved === undefined) return { state: "new" };
  const values = changedValues(redaction.json(approved), redaction.json(definition.describe()));
  const { text } = showChanges([{ kind: "tools", name, change: "changed", values }]);
  return { state: "changed", diff: text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text };
}

/** Maximum number of lines of imports, and of exports. */
const MAX_LINES = 200;
const MAX_LINE_CHARS = 500;

/** Inspects a component, which does not run. Returns `undefined` if it does not exist, or cannot be inspected. */
async function showComponent(
  implementation: WasmImplementation | undefined,
): Promise<ShownTool["component"]> {
  if (implementation === undefined) return undefined;
  // Loaded only for those who have components.
  const { inspectComponent } = await import("../../sandboxes/wasm/tools/inspect-component.ts");
  try {
    const { imports, exports } = await inspectComponent(implementation.component, implementation);
    const more = Math.max(0, imports.length - MAX_LINES) + Math.max(0, exports.length - MAX_LINES);
    return {
      imports: imports
        .slice(0, MAX_LINES)
        .map(({ name, needs }) => toLine(`${name} (${needs})`, MAX_LINE_CHARS)),
      exports: exports
        .slice(0, MAX_LINES)
        .map(({ name, type }) => toLine(`${name}: ${type}`, MAX_LINE_CHARS)),
      ...(more > 0 && { more }),
    };
  } catch {
    // Calls of the tool report why its component cannot be used.
    return undefined;
  }
}
