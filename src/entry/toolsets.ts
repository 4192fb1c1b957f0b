export { registerBasicTools, registerToolset } from "../toolsets/register-toolset.ts";
export type { ToolsetName, ToolsetOptions } from "../toolsets/toolsets.ts";
