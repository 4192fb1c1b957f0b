import type { CurrentCall } from "../current-call.ts";
import type { InterfaceMembers } from "../interface-members.ts";
import { okOrThrow } from "../ok-or-throw.ts";

/** `sandgate:tool/tools` (`wit/tool.wit`). What may be called is decided outside. */
export function tools(call: () => CurrentCall): InterfaceMembers {
  return {
    callTool(name: unknown, input: unknown): string {
      const { leftMs } = call();
      return okOrThrow(
        call().ask<string, object>({ kind: "call-tool", name: String(name), input: String(input), leftMs }),
      );
    },
  };
}
