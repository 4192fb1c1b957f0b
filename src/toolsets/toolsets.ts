import type { Tool } from "../engine/tool.ts";
import { basicTools } from "./basic/basic-tools.ts";

/** What every toolset can be registered with. */
export interface ToolsetNaming {
  /** What the name of each tool begins with, such as `project_`. Default: nothing. */
  readonly prefix?: string;
}

/** The toolsets, and the options of each. */
export interface ToolsetOptions {
  /** `Echo`, `Read` and `Write`: for first experiments and tests. */
  readonly basic: ToolsetNaming;
}

/** The name of a toolset. */
export type ToolsetName = keyof ToolsetOptions;

const TOOLSETS: { readonly [Name in ToolsetName]: (options: ToolsetOptions[Name]) => readonly Tool[] } = {
  basic: basicTools,
};

/** The names of all toolsets. */
export const TOOLSET_NAMES: readonly ToolsetName[] = Object.freeze(Object.keys(TOOLSETS) as ToolsetName[]);

/** Returns the tools of a toolset, with the names that they are registered with. */
export function toolsOf<Name extends ToolsetName>(
  name: Name,
  options: ToolsetOptions[Name],
): readonly Tool[] {
  if (!Object.hasOwn(TOOLSETS, name)) {
    throw new TypeError(`There is no toolset '${name}': the toolsets are ${TOOLSET_NAMES.join(", ")}`);
  }
  const { prefix = "" } = options;
  return TOOLSETS[name](options).map((tool) => ({ ...tool, name: `${prefix}${tool.name}` }));
}
