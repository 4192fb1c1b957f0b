import { formatMinutes } from "../../base/units.ts";
import { ToolFailure } from "../tool-failure.ts";

/** What the failure of a question says of the call that asked: `none` only if its tool changes nothing. */
type Effect = "none" | "unknown";

/** Nobody can be asked. */
export function nobodyToAsk(effect: Effect): ToolFailure {
  const message = "Permission denied: nobody is available to answer the question";
  return new ToolFailure("permission_denied", message, { effect });
}

/** The person declined to answer. */
export function declinedToAnswer(effect: Effect): ToolFailure {
  return new ToolFailure("user_denied", "User declined to answer the question.", { effect });
}

/** @param afterMs Milliseconds for which the question waited; anything but a number if that is not known. */
export function nobodyAnswered(afterMs: unknown, effect: Effect): ToolFailure {
  const time = Number.isFinite(afterMs) ? `within ${formatMinutes(afterMs as number)}` : "in time";
  return new ToolFailure("confirmation_timeout", `Nobody answered ${time}`, { effect });
}

/** The call was cancelled, or has ended without waiting for the answer. */
export function questionCancelled(effect: Effect): ToolFailure {
  return new ToolFailure("cancelled", "The question was cancelled", { effect });
}
