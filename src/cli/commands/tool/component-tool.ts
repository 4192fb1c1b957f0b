import { shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";
import type { SandboxRouter } from "../../../sandboxes/contract/sandbox.ts";
import {
  type ComponentTool,
  type ComponentTools,
  componentTools,
} from "../../../sandboxes/wasm/tools/component-tools.ts";
import { UsageError } from "../../errors.ts";
import { listNames } from "../../terminal/names.ts";

/** The user's choice among the tools of a component. */
export interface ToolChoice {
  readonly tool: string | undefined;
  readonly export: string | undefined;
  readonly engine: "jco" | undefined;
}

/**
 * Returns the chosen tool of a component.
 *
 * @throws {UsageError} if no tool matches the choice, or several do.
 * @throws {ToolPreparationError} if registration would refuse the component.
 */
export async function componentTool(
  component: Uint8Array,
  choice: ToolChoice,
  sandboxes: SandboxRouter,
): Promise<ComponentTool> {
  const found = await componentTools(component, sandboxes, choice.engine && { engine: choice.engine });
  const matching = found.tools.filter((tool) => isChosen(tool, choice));
  const [only] = matching;
  if (only !== undefined && matching.length === 1) return only;
  if (matching.length === 0) throw new UsageError(shown`the component ${whyNone(found, choice)}`);
  throw new UsageError(shown`the component has several tools: choose one of ${names(matching)} with --tool`);
}

/** Returns whether a tool matches the choice. */
export function isChosen({ name, wasm }: ComponentTool, choice: ToolChoice): boolean {
  return (
    (choice.tool === undefined || choice.tool === name) &&
    (choice.export === undefined || choice.export === wasm.export)
  );
}

/** Returns why no tool of a component matches the choice, as a predicate of the component. */
export function whyNone({ tools, refused }: ComponentTools, choice: ToolChoice): ShownText {
  const { tool, export: exportName } = choice;
  const reason = refused.find((one) => one.export === exportName)?.reason;
  if (reason !== undefined) return shown`has no tool '${exportName ?? ""}': ${reason}`;
  if (tool === undefined && exportName === undefined) return shown`has no tool`;
  const wanted =
    tool === undefined ? shown`no export '${exportName ?? ""}' that is a tool` : shown`no tool '${tool}'`;
  return shown`has ${wanted}: ${tools.length === 0 ? "it has no tools" : shown`its tools are ${names(tools)}`}`;
}

function names(tools: readonly ComponentTool[]): ShownText {
  return listNames(
    tools.map(({ name, wasm }) => (wasm.export === undefined ? name : `${name} (${wasm.export})`)),
  );
}
