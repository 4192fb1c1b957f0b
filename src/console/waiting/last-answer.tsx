import type { JSX } from "preact";
import { calls } from "../live/calls.ts";
import { hashOf } from "../page/route.ts";
import { Foreign } from "../parts/foreign.tsx";
import { endOf, inquiries, lastAnswered } from "./inquiries.ts";

/** Says what became of the inquiry that was answered before the one that is shown, and of its call. */
export function LastAnswer(): JSX.Element | null {
  const item = inquiries.value.find(({ inquiry }) => inquiry.requestId === lastAnswered.value);
  if (item?.resolution === undefined) return null;
  const { inquiry, resolution } = item;
  const call = calls.value.find(
    ({ callId, sessionId, toolName }) =>
      callId === inquiry.callId && sessionId === inquiry.sessionId && toolName === inquiry.toolName,
  );
  return (
    <p class="last" role="status">
      Before:{" "}
      <a href={hashOf("waiting", inquiry.requestId)}>
        <Foreign text={inquiry.toolName} />
      </a>{" "}
      was {endOf(resolution)}
      {call !== undefined && (
        <>
          ; the call is{" "}
          <a href={hashOf("live", call.ref)}>
            {call.state}
            {call.code !== undefined && ` (${call.code})`}
          </a>
        </>
      )}
      .
    </p>
  );
}
