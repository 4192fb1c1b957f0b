import type { CallEffect, ResourceUse, SandboxOutcome } from "./outcome.ts";
import type { CheckedOutput } from "./output.ts";

/** Returns the outcome of a task whose output was checked. The output's size is added to `before`. */
export function outcomeOf(checked: CheckedOutput, effect: CallEffect, before: ResourceUse): SandboxOutcome {
  const used: ResourceUse = { ...before, outputBytes: checked.outputBytes };
  switch (checked.status) {
    case "completed":
      return { status: "completed", effect, used, output: checked.output };
    case "limit_exceeded":
      return { status: "limit_exceeded", effect, used, limit: checked.limit };
    case "failed":
      return { status: "failed", effect, used, message: checked.message, userVisible: true };
  }
}
