export type { ToolsetName, ToolsetOptions } from "../toolsets/toolsets.ts";
export { registerBasicTools, registerToolset } from "../toolsets/toolsets.ts";
