import { type ReceivedCall, receiveCall, type ToolCall } from "../../engine/call/call.ts";
import { isCutOff } from "../../engine/dispatch-turn.ts";

/** A call of a message, as it arrived. */
export interface MessageCall extends ReceivedCall {
  /** Whether the provider cut off the message after the call, so that it must not run. */
  readonly isCutOff: boolean;
}

/** Reads a call from an unchecked value. Never throws. */
export function messageCall(call: ToolCall): MessageCall {
  return { ...receiveCall(call), isCutOff: isCutOff(call) };
}

/** Reads the calls of a message. Those that have the id of another one are invalid: an answer could be for either. */
export function messageCalls(calls: readonly ToolCall[]): readonly MessageCall[] {
  const received = calls.map(messageCall);
  const byId = Map.groupBy(received, ({ id }) => id);
  if (byId.size === received.length) return received;
  return received.map((call) =>
    byId.get(call.id)?.length === 1 ? call : { ...call, problem: twiceText(call.id) },
  );
}

function twiceText(id: string): string {
  return `Invalid tool call: several calls of the message have the id ${JSON.stringify(id.slice(0, 64))}`;
}

/** The calls as a store keeps them: of several with one id, the first. */
export function keptCalls(calls: readonly MessageCall[]): readonly ToolCall[] {
  const byId = new Map<string, ToolCall>();
  for (const { id, name, arguments: args, problem, isCutOff } of calls) {
    const kept = { id, name, arguments: args, ...(isCutOff && { cutOff: true as const }) };
    if (!byId.has(id)) byId.set(id, problem === undefined ? kept : { ...kept, problem });
  }
  return [...byId.values()];
}
