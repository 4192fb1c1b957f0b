import type { JSX } from "preact";
import { type CallDetail, readCall } from "../api/calls.ts";
import { go } from "../page/route.ts";
import { Badge } from "../parts/badge.tsx";
import { Foreign, ForeignBlock } from "../parts/foreign.tsx";
import { duration, time } from "../parts/format.ts";
import { Json } from "../parts/json.tsx";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";
import { Receipt } from "./receipt.tsx";
import { Rules } from "./rules.tsx";
import { SuggestionBox } from "./suggestion.tsx";

/** Says what a call did and why it was decided so. It is read again when the state of the call changes. */
export function WhyPanel({
  callRef,
  state,
}: {
  readonly callRef: string;
  /** As far as it is known. */
  readonly state: string | undefined;
}): JSX.Element {
  const { value, problem } = useLoaded(`${callRef} ${state}`, () => readCall(callRef));
  const call = value.value;
  return (
    <aside class="panel" aria-label="Why">
      <div class="title">
        <h2>{call === undefined ? "Call" : <Foreign text={call.toolName} />}</h2>
        <button type="button" onClick={() => go("live")}>
          Close
        </button>
      </div>
      <Problem of={problem} />
      {call !== undefined && <Detail call={call} />}
    </aside>
  );
}

function Detail({ call }: { readonly call: CallDetail }): JSX.Element {
  const { explanation, suggestion, error, receipt, confirmation, output, log } = call;
  return (
    <>
      <p class="facts">
        <Badge word={call.state} />
        {call.sideEffects !== undefined && <Badge word={call.sideEffects} />}
        <span>{time(call.startedAt)}</span>
        <span>{duration(call.durationMs)}</span>
        <Foreign text={call.sandbox ?? ""} />
        {call.principal !== undefined && (
          <span>
            by <Foreign text={call.principal.id} />
          </span>
        )}
      </p>
      {error !== undefined && (
        <section aria-label="Error" class="problem">
          <p>
            <strong>
              <Foreign text={error.code} />
            </strong>{" "}
            <Foreign text={error.message} />
          </p>
          {error.detail !== undefined && (
            <p>
              <Foreign text={error.detail} />
            </p>
          )}
          <p>
            {error.limit !== undefined && (
              <>
                Limit: <Foreign text={error.limit} />.{" "}
              </>
            )}
            Effect: <Foreign text={error.effect} />
          </p>
        </section>
      )}
      {suggestion !== undefined && <SuggestionBox suggestion={suggestion} />}
      {explanation !== undefined && <Rules explanation={explanation} />}
      {call.arguments !== undefined && (
        <>
          <h3>Arguments</h3>
          <ForeignBlock text={call.arguments} label="Arguments" />
        </>
      )}
      {output !== undefined && (
        <>
          <h3>Output</h3>
          <ForeignBlock text={output} label="Output" />
        </>
      )}
      {log.length > 0 && (
        <>
          <h3>Log</h3>
          <ForeignBlock text={log.join("\n")} label="Log" />
        </>
      )}
      {receipt !== undefined && <Receipt receipt={receipt} grant={explanation?.grant} />}
      {confirmation !== undefined && (
        <>
          <h3>Confirmation</h3>
          <Json value={confirmation} label="Confirmation" />
        </>
      )}
    </>
  );
}
