export { registerToolset } from "../toolsets/register-toolset.ts";
export type { ToolsetName, ToolsetNaming, ToolsetOptions } from "../toolsets/toolsets.ts";
