import { type ReceivedCall, receiveCall, repeatedIds, type ToolCall, twiceText } from "../../engine/call.ts";
import { isCutOff } from "../../engine/engine.ts";

/** A call of a message, as it arrived. */
export interface MessageCall extends ReceivedCall {
  /** Whether the provider cut off the message after the call, so that it must not run. */
  readonly isCutOff: boolean;
}

/** Reads a call from an unchecked value. Never throws. */
export function messageCall(call: ToolCall): MessageCall {
  const { id, name, arguments: args, problem } = receiveCall(call);
  return { id, name, arguments: args, problem, isCutOff: isCutOff(call) };
}

/**
 * Reads the calls of a message. Those that have the id of another one are invalid: an answer could be for either. So are a
 * call with the id of a call that the tool of another one could make, and that other one.
 */
export function messageCalls(calls: readonly ToolCall[]): readonly MessageCall[] {
  const received = calls.map(messageCall);
  const ids = new Set(received.map(({ id }) => id));
  const ambiguous = ids.size === received.length ? new Set<string>() : repeatedIds(received);
  for (const id of ids) {
    for (let caller = callerOf(id); caller !== undefined; caller = callerOf(caller)) {
      if (ids.has(caller)) ambiguous.add(id).add(caller);
    }
  }
  if (ambiguous.size === 0) return received;
  return received.map((call) => (ambiguous.has(call.id) ? { ...call, problem: twiceText(call.id) } : call));
}

/** The id of the call that the tool of another call would have made with this id. */
function callerOf(id: string): string | undefined {
  return NESTED.exec(id)?.[1];
}

/** The ids of nested calls: that of their caller, and their number. */
const NESTED = /^(.*)\/[1-9][0-9]*$/s;

/** The calls as they are stored: of several with one id, the first. */
export function storedCalls(calls: readonly MessageCall[]): readonly ToolCall[] {
  if (calls.length === 1) return calls.map(storedCall);
  const byId = new Map<string, ToolCall>();
  for (const call of calls) if (!byId.has(call.id)) byId.set(call.id, storedCall(call));
  return [...byId.values()];
}

function storedCall({ id, name, arguments: args, problem, isCutOff }: MessageCall): ToolCall {
  if (problem === undefined && !isCutOff) return { id, name, arguments: args };
  return {
    id,
    name,
    arguments: args,
    ...(isCutOff && { cutOff: true as const }),
    ...(problem !== undefined && { problem }),
  };
}
