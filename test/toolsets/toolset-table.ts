import type { JsonObject } from "../../src/json/value.ts";
import type { SideEffects } from "../../src/tool/side-effects.ts";
import type { ToolsetName } from "../../src/toolsets/toolsets.ts";

/** What a tool of a toolset declares. */
interface ToolsetRow {
  readonly tool: string;
  readonly sideEffects: SideEffects;
  /** Absent: what its class says. */
  readonly confirm?: "auto" | "prompt";
  readonly alwaysConfirm?: true;
  /** Arguments with which a call of it starts, whether it succeeds or not. */
  readonly arguments: JsonObject;
}

/** The tools of every toolset, as docs/toolsets.md names them. */
export const TOOLSET_TABLE: { readonly [Name in ToolsetName]: readonly ToolsetRow[] } = {
  basic: [
    { tool: "Echo", sideEffects: "none", arguments: { text: "a" } },
    { tool: "Read", sideEffects: "read", arguments: { path: "a.txt" } },
    { tool: "Write", sideEffects: "write", confirm: "prompt", arguments: { path: "a.txt", content: "a" } },
  ],
};
