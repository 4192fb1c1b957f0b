import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { WholeConfirmation } from "../../shapes/confirmations.ts";
import { Arguments, Notices } from "../arguments/arguments.tsx";
import { isMembers, type Json as JsonValue, withCurrent } from "../arguments/fields.ts";
import { noticesOf } from "../arguments/notices.ts";
import { Diff, ExactJson, Foreign, Json } from "../parts/foreign.tsx";
import { printable, time } from "../parts/format.ts";
import { useLoaded } from "../parts/loaded.tsx";
import { readPeers } from "./whole-confirmations.ts";

/** Shows what a confirmation is about: the arguments that would run, and then everything else. */
export function ConfirmationFacts({
  confirmation,
  isExact,
}: {
  readonly confirmation: WholeConfirmation;
  /** Whether the arguments are shown as JSON. */
  readonly isExact: boolean;
}): JSX.Element {
  const { sessionId, sessionName, principal, parent, rules = [], grant, kind } = confirmation;
  const { digest, question, expiresAt, callId } = confirmation;
  return (
    <>
      <ShownArguments confirmation={confirmation} isExact={isExact} />
      {kind !== "question" && (
        <p>
          <Foreign text={printable(question)} />
        </p>
      )}
      <p class="facts">
        <span>
          session <Foreign text={sessionName ?? sessionId} />
        </span>
        {principal !== undefined && (
          <span>
            by <Foreign text={principal} />
          </span>
        )}
        {parent !== undefined && (
          <span>
            called by the tool of <Foreign text={parent} />
          </span>
        )}
        <span>expires at {time(expiresAt)}</span>
      </p>
      {rules.length > 0 && (
        <p>
          Asked by {rules.length === 1 ? "the rule" : "the rules"} <Foreign text={rules.join(", ")} />
        </p>
      )}
      {grant !== undefined && (
        <details>
          <summary>Grant</summary>
          <Json value={grant} label={`Grant of ${callId}`} />
        </details>
      )}
      <p class="quiet">
        Digest <code class="digest">{digest}</code>
      </p>
    </>
  );
}

function ShownArguments({
  confirmation,
  isExact,
}: {
  readonly confirmation: WholeConfirmation;
  readonly isExact: boolean;
}): JSX.Element | null {
  const { projectedChanges = [], argumentOrder, arguments: text, currentText } = confirmation;
  const value = useMemo(() => (text === undefined ? undefined : (JSON.parse(text) as JsonValue)), [text]);
  const peers = useLoaded(confirmation.requestId, () => readPeers(confirmation));
  const notices = useComputed(() => {
    if (value === undefined) return [];
    return noticesOf(value, { ...peers.value.value, leadsTo: projectedChanges, current: currentText });
  });
  if (text === undefined || value === undefined) return null;
  return (
    <>
      <Notices notices={notices.value} />
      {isExact ? (
        <ExactJson text={text} label="Exact arguments" />
      ) : (
        <Arguments value={isMembers(value) ? withCurrent(value, currentText) : value} order={argumentOrder} />
      )}
      {!projectedChanges.every((change) => saysAsMuch(value, change)) && (
        <>
          <h3>What the tool says that it would change</h3>
          <Diff
            text={projectedChanges.map((change) => printable(change)).join("\n")}
            label="Projected changes"
          />
        </>
      )}
    </>
  );
}

/** Whether a change only repeats a path among the arguments. */
function saysAsMuch(value: JsonValue, change: string): boolean {
  return isMembers(value) && Object.values(value).some((own) => own === change);
}
