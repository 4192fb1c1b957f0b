import { described } from "../../../config/described.ts";
import { POINTER_PATTERN } from "../../../json/pointer.ts";
import type { JsonObject } from "../../../json/value.ts";
import { TOOL_NAMES } from "../../grant/capability-shape.ts";
import { MAX_AMOUNT_POINTER } from "../../history/call-ledger.ts";

const TOOLS = { type: "array", minItems: 1, items: TOOL_NAMES };
const CALLS = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const AMOUNT = { type: "number", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** The schema of a list of `HistoryCondition`. Which members go together is not part of it: see `historyFlaws`. */
export const HISTORY: JsonObject = {
  type: "array",
  minItems: 1,
  items: {
    type: "object",
    additionalProperties: false,
    properties: {
      count: described(
        TOOLS,
        "Counts earlier calls of these tools. Exactly one of `count`, `sum` and `after` must be set.",
      ),
      lessThan: described(CALLS, "With `count`: there were fewer calls, without the one that is decided on."),
      atLeast: described(CALLS, "With `count`: there were at least so many calls."),
      sum: {
        description:
          "A JSON pointer to an argument, whose amounts in earlier calls and in the call itself are added.",
        type: "string",
        minLength: 1,
        maxLength: MAX_AMOUNT_POINTER,
        pattern: POINTER_PATTERN,
        message: `must be a JSON pointer to an argument, such as '/amount', with at most ${MAX_AMOUNT_POINTER} characters`,
      },
      of: described(TOOLS, "With `sum`: the tools whose calls have the amount."),
      atMost: described(AMOUNT, "With `sum`: the sum is at most this."),
      moreThan: described(AMOUNT, "With `sum`: the sum is more than this."),
      after: described(TOOLS, "An earlier call of one of these tools succeeded."),
      approved: described(
        { const: true, message: "must be true" },
        "With `after`: a person confirmed that call itself. Default: no confirmation is required.",
      ),
      within: described(
        { type: ["integer", "string"], title: "duration" },
        "How far the condition looks back. Exactly one of `within` and `in` must be set.",
      ),
      in: described({ enum: ["turn", "session"] }, "It looks back to the start of the turn or the session."),
      by: described(
        { enum: ["session", "principal"] },
        "Whose calls: those of the session, or those of all sessions of its principal, which requires `within`. Default: `session`.",
      ),
    },
  },
};
