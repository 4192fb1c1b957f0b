import { describeThrown } from "../../base/thrown.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import { DirectoryGrantError } from "../../workspace/root.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import { readThrown } from "../contract/thrown-failure.ts";

/** The outcome of a call whose program did not start, since this was thrown. */
export function failedStart(thrown: unknown): SandboxOutcome {
  return { status: "failed", ...readThrown(thrown), effect: "none", used: { wallTimeMs: 0 } };
}

/** The outcome of a call whose program could not be given its files, or not be launched. Only what the model can act on reaches it. */
export function unavailableStart(thrown: unknown): SandboxOutcome {
  const { detail } = describeThrown(thrown);
  if (thrown instanceof DirectoryGrantError && thrown.modelText !== undefined)
    return { ...failedStart(new ToolFailure("permission_denied", thrown.modelText)), detail };
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}
