import type { HoldChanges } from "../../sandboxes/contract/held-changes.ts";
import { isHostModule } from "../../tool/implementations/host-implementation.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { Tool } from "../tool.ts";

/** How the changes of a call are held. */
export interface Holding {
  /** Opens the files in which they are. `undefined` if they cannot be held now. */
  readonly open: HoldChanges | undefined;
  /** Whether the call must not run unless its changes are held. */
  readonly isRequired: boolean;
}

/**
 * Whether everything that a tool changes in a sandbox can be held: it is a function or factory on the host that says so.
 */
export function canHold(
  {
    host,
    usesFiles,
    writesThroughFiles,
  }: Pick<Tool<never, never>, "host" | "usesFiles" | "writesThroughFiles">,
  sandbox: SandboxMode | undefined,
): boolean {
  return (
    sandbox === "host" &&
    host !== undefined &&
    !isHostModule(host) &&
    usesFiles === true &&
    writesThroughFiles === true
  );
}
