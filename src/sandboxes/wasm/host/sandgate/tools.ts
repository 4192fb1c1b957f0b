import type { JsonValue } from "../../../../json/value.ts";
import { nestedCallProblem } from "../../../guest-services/nested-call-bounds.ts";
import type { ServiceError } from "../../../guest-services/service-request.ts";
import type { CurrentCall } from "../current-call.ts";
import { type InterfaceMembers, okOrThrow } from "../interface-members.ts";

/** The engine's error codes that are cases of `call-error-code`. */
const KNOWN_CODES: ReadonlySet<string> = new Set([
  "not_found",
  "validation_error",
  "permission_denied",
  "user_denied",
  "confirmation_timeout",
  "timeout",
  "cancelled",
  "execution_error",
  "sandbox_unavailable",
  "limit_exceeded",
  "limit_unenforceable",
]);

/** Returns `sandgate:tool/tools` (`wit/tool.wit`). Which tools may be called is checked outside the thread. */
export function tools(call: () => CurrentCall): InterfaceMembers {
  return {
    callTool(name: unknown, input: unknown): string {
      const request = { kind: "call-tool", name: String(name), input: String(input) } as const;
      const problem = nestedCallProblem(request.name, request.input);
      if (problem !== undefined) return okOrThrow({ error: problem });
      const reply = call().ask<JsonValue, ServiceError>(request);
      if ("ok" in reply || KNOWN_CODES.has(reply.error.code)) return JSON.stringify(okOrThrow(reply));
      return okOrThrow({ error: { ...reply.error, code: "execution_error" } });
    },
  };
}
