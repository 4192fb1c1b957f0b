import { ToolPreparationError } from "../../../contract/sandbox.ts";
import type { JcoProgram } from "../../artifact.ts";
import type { LinkedModules, ReadComponent } from "../../linking/component-reader.ts";
import type { CoreInstantiation } from "../../linking/link-plan.ts";
import { functionsWithMadeResources } from "./made-resources.ts";

/** A component as jco's code runs it. */
export interface JcoComponent {
  /** Its core instances and core modules: those of the component, and those that jco adds. */
  readonly linked: LinkedModules;
  readonly program: JcoProgram;
}

/** How generated code loads a core module, and how it instantiates one. */
const LOADED = /\b(module\d+) = getCoreModule\('([^']+)'\)/g;
const INSTANTIATED = /\binstantiateCore\((module\d+)\b/g;

/**
 * Reads what jco generated for a component.
 *
 * @param files The generated files by name.
 * @throws {ToolPreparationError} if the code does not have the form that this version of jco generates.
 */
export function readJcoComponent(
  { plan, imports }: ReadComponent,
  files: ReadonlyMap<string, Uint8Array>,
): JcoComponent {
  const bytes = files.get("component.js");
  if (bytes === undefined) throw new ToolPreparationError("jco generated no code");
  const source = Buffer.from(bytes).toString("utf8");
  const modules = new Map<string, number>();
  const variables = new Map<string, number>();
  const coreModules: Uint8Array[] = [];
  for (const [, variable = "", file = ""] of source.matchAll(LOADED)) {
    const binary = files.get(file);
    if (binary === undefined) throw new ToolPreparationError("jco generated no file for a core module");
    const index = coreModules.push(binary) - 1;
    variables.set(variable, index);
    modules.set(file, index);
  }
  const coreInstances = Array.from(source.matchAll(INSTANTIATED), ([, variable = ""]): CoreInstantiation => {
    const module = variables.get(variable);
    if (module === undefined) throw new ToolPreparationError("jco generated code of an unknown form");
    return { module, imports: new Map() };
  });
  return {
    linked: {
      plan: {
        coreInstances,
        parents: [],
        destructors: new Map(),
        exports: functionsWithMadeResources(plan.exports),
      },
      coreModules,
    },
    program: {
      source,
      modules,
      imports,
      exports: new Map(Array.from(plan.exports, ([name, { type }]) => [name, type])),
    },
  };
}
