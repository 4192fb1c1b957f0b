export type { MemoryOptions } from "../toolsets/memory/memory-tools.ts";
export { registerToolset } from "../toolsets/register-toolset.ts";
export type { SettingsOptions } from "../toolsets/settings/settings-tools.ts";
export type { ToolsetNaming } from "../toolsets/toolset-naming.ts";
export type { SearchToolsetOptions, ToolsetName, ToolsetOptions } from "../toolsets/toolsets.ts";
export type { WebOptions } from "../toolsets/web/web-tools.ts";
