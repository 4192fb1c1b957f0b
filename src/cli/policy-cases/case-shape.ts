import { compileShape, mapOf, type Shape, TEXT } from "../../config/shape.ts";
import type { JsonObject } from "../../json/value.ts";
import type { WrittenLimits } from "../../policy/file/written-limits.ts";
import type { Principal } from "../../policy/principal.ts";
import { WRITTEN_LIMITS } from "../../policy/rule/limit-shape.ts";
import { SANDBOX_MODES, type SandboxMode } from "../../tool/sandbox-mode.ts";
import { EARLIER, type WrittenEarlier } from "./earlier.ts";
import type { WrittenToolCall } from "./tool-call.ts";

/** A call, and what is known about it, as cases and `policy explain` describe it. */
export interface WrittenCall {
  readonly call: WrittenToolCall;
  /** Default: the caller is not known. */
  readonly principal?: Principal;
  /** The session's id. Default: `policy-test`. */
  readonly session?: string;
  /** The user's words in the turn. Default: the client did not pass them on. */
  readonly userText?: string;
  /** What came before in the session, in order. Default: it is not known, unless the user's words are. */
  readonly earlier?: readonly WrittenEarlier[];
  /** The session's workspace. Relative to the file. Default: none. */
  readonly workspace?: string;
}

/** A case of a policy test. */
export interface WrittenCase extends WrittenCall {
  readonly name?: string;
  readonly expect: "allow" | "deny" | "ask";
  /** The sandbox of the grant. Default: any. */
  readonly sandbox?: SandboxMode;
  /** Limits of the grant. It can have others. */
  readonly limits?: WrittenLimits;
}

const CALL: JsonObject = {
  call: mapOf({ tool: TEXT, arguments: {} }, ["tool"]),
  principal: { type: "object" },
  session: TEXT,
  userText: { type: "string" },
  earlier: EARLIER,
  workspace: TEXT,
};

/** The shape of a {@link WrittenCall}. */
export const CALL_SHAPE: Shape = compileShape(mapOf(CALL, ["call"]));

/** The shape of a list of {@link WrittenCase}. The limits are checked when they are parsed. */
export const CASES_SHAPE: Shape = compileShape({
  type: "array",
  // A test without cases would pass whatever the policy decides.
  minItems: 1,
  items: mapOf(
    {
      ...CALL,
      name: TEXT,
      expect: { enum: ["allow", "deny", "ask"] },
      sandbox: { enum: SANDBOX_MODES },
      limits: mapOf(WRITTEN_LIMITS),
    },
    ["call", "expect"],
  ),
});
