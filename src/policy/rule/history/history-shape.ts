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
      count: TOOLS,
      lessThan: CALLS,
      atLeast: CALLS,
      sum: {
        type: "string",
        minLength: 1,
        maxLength: MAX_AMOUNT_POINTER,
        pattern: POINTER_PATTERN,
        message: `must be a JSON pointer to an argument, such as '/amount', with at most ${MAX_AMOUNT_POINTER} characters`,
      },
      of: TOOLS,
      atMost: AMOUNT,
      moreThan: AMOUNT,
      after: TOOLS,
      approved: { const: true, message: "must be true" },
      within: { type: ["integer", "string"] },
      in: { enum: ["turn", "session"] },
      by: { enum: ["session", "principal"] },
    },
  },
};
