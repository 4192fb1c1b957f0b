import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Answer, WholeConfirmation } from "../../shapes/confirmations.ts";
import { hasRole } from "../api/session.ts";
import { Folding, FoldingContext } from "../arguments/arguments.tsx";
import { calls } from "../live/calls.ts";
import { useKeys } from "../page/keys.ts";
import { go, hashOf } from "../page/route.ts";
import { Badge } from "../parts/badges.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { Problem, useLoaded } from "../parts/loaded.tsx";
import { Answering } from "./answering.tsx";
import { ConfirmationFacts } from "./confirmation-facts.tsx";
import { confirmations, endOf, giveAnswer, type ListedConfirmation, lastAnswered } from "./confirmations.ts";
import { openAfter, shownConfirmations } from "./listing.ts";
import { readWhole } from "./whole-confirmations.ts";

/** Shows a confirmation, and has a person answer it in two steps. A component for each confirmation and digest. */
export function ConfirmationPanel({ item }: { readonly item: ListedConfirmation }): JSX.Element {
  const { confirmation, resolution } = item;
  const { value, problem } = useLoaded(confirmation.requestId, () => readWhole(confirmation));
  const heading = useRef<HTMLHeadingElement>(null);
  const isExact = useSignal(false);
  const folding = useMemo(() => new Folding(), []);
  const whole = value.value;
  const end = resolution ?? whole?.resolution;
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useKeys({
    x: () => {
      isExact.value = !isExact.value;
    },
    o: () => {
      folding.isOpen.value = true;
    },
  });
  const answer = async (given: Omit<Answer, "digest">): Promise<string> => {
    const problemOfAnswer = await giveAnswer(confirmation, {
      ...given,
      digest: (whole ?? confirmation).digest,
    });
    const next = openAfter(shownConfirmations.peek(), confirmation.requestId);
    if (problemOfAnswer !== "" || next === undefined) {
      heading.current?.focus({ preventScroll: true });
      return problemOfAnswer;
    }
    lastAnswered.value = confirmation.requestId;
    go("waiting", next.confirmation.requestId);
    return "";
  };
  const open = confirmations.value.filter((other) => other.resolution === undefined);
  const at = open.findIndex((other) => other.confirmation.requestId === confirmation.requestId);
  return (
    <FoldingContext.Provider value={folding}>
      <aside class="panel confirmation" aria-label="Confirmation">
        <section class="reading" aria-label="What is asked" tabIndex={0}>
          <LastAnswer />
          <Problem of={problem} />
          {end !== undefined && (
            <p class="resolution" role="status">
              This was {endOf(end)}.
            </p>
          )}
          <div class="title">
            <h2 ref={heading} tabIndex={-1}>
              <Foreign text={confirmation.toolName} /> <Badge word={confirmation.sideEffects} />
            </h2>
            {whole?.arguments !== undefined && (
              <button
                type="button"
                aria-pressed={isExact.value}
                onClick={() => {
                  isExact.value = !isExact.value;
                }}
              >
                Exact JSON (x)
              </button>
            )}
            {at >= 0 && open.length > 1 && (
              <span class="quiet">
                {at + 1} of {open.length}
              </span>
            )}
          </div>
          {whole !== undefined && <ConfirmationFacts confirmation={whole} isExact={isExact.value} />}
        </section>
        {whole !== undefined && end === undefined && <Actions confirmation={whole} onAnswer={answer} />}
      </aside>
    </FoldingContext.Provider>
  );
}

function Actions({
  confirmation,
  onAnswer,
}: {
  readonly confirmation: WholeConfirmation;
  readonly onAnswer: (answer: Omit<Answer, "digest">) => Promise<string>;
}): JSX.Element {
  return (
    <div class="actions">
      {hasRole("approver") ? (
        <Answering confirmation={confirmation} onAnswer={onAnswer} />
      ) : (
        <p class="quiet">You can read this. An approver of the session answers it.</p>
      )}
    </div>
  );
}

/** Shows the outcome of the confirmation that was answered before the one that is shown, and of its call. */
function LastAnswer(): JSX.Element | null {
  const item = confirmations.value.find(({ confirmation }) => confirmation.requestId === lastAnswered.value);
  if (item?.resolution === undefined) return null;
  const { confirmation, resolution } = item;
  const call = calls.value.find(
    ({ callId, sessionId, toolName }) =>
      callId === confirmation.callId &&
      sessionId === confirmation.sessionId &&
      toolName === confirmation.toolName,
  );
  return (
    <p class="last" role="status">
      Before:{" "}
      <a href={hashOf("waiting", confirmation.requestId)}>
        <Foreign text={confirmation.toolName} />
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
