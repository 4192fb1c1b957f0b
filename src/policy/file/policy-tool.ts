import type { JsonObject } from "../../json/value.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { ToolAccess } from "../../tool/tool-traits.ts";

/** A registered tool, as far as rules are checked against it. */
export interface PolicyTool {
  readonly name: string;
  readonly inputSchema: JsonObject;
  /** The JSON Schema of the output. Default: any output. */
  readonly outputSchema?: JsonObject;
  /** The sandboxes in which the tool has an implementation. */
  readonly sandboxes: readonly SandboxMode[];
  /** Default: `"destructive"`, as in a registry. */
  readonly sideEffects?: SideEffects;
  /** Default: none. */
  readonly tags?: readonly string[];
  /** What the tool says of the files and servers that its calls use. Default: nothing. */
  readonly access?: ToolAccess;
  /** Whether it works on the files of its grant, if it runs on the host. Default: `false`. */
  readonly usesFiles?: boolean;
}
