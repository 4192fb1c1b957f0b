import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { StagedChange } from "../shapes/sessions.ts";
import { ApiError, get, messageOf, send } from "./api/http.ts";
import { readSessions } from "./api/requests.ts";
import { hasRole } from "./api/session.ts";
import { hashOf, route } from "./page/route.ts";
import { Badge } from "./parts/badges.tsx";
import { brief, Diff, Foreign } from "./parts/foreign.tsx";
import { count, printableLine } from "./parts/format.ts";
import { Problem, useLoaded } from "./parts/loaded.tsx";

/** What happens to staged changes. */
type Decision = "accept" | "reject";

/** The sessions with staged changes, and the changes of one of them. */
export function ChangesView(): JSX.Element {
  const { id } = route.value;
  const { value, problem, reload } = useLoaded("sessions", readSessions);
  const withChanges = (value.value ?? []).filter(({ stagedChanges }) => stagedChanges > 0);
  return (
    <div class={id === "" ? "split" : "split open wide"}>
      <section class="list scrolling" aria-labelledby="changes-title" tabIndex={0}>
        <div class="title">
          <h1 id="changes-title">Changes</h1>
          <button type="button" onClick={reload}>
            Read again
          </button>
        </div>
        <Problem of={problem} />
        {value.value !== undefined && withChanges.length === 0 && (
          <p class="empty">No session holds changes.</p>
        )}
        <ul class="cards" aria-label="Sessions that hold changes">
          {withChanges.map((session) => (
            <li key={session.id}>
              <a
                class="card"
                href={hashOf("changes", session.id)}
                {...(session.id === id && { "aria-current": "true" as const })}
              >
                <Foreign text={session.id} />
                <span class="quiet">{count(session.stagedChanges, "change")}</span>
              </a>
            </li>
          ))}
        </ul>
      </section>
      {id !== "" && <StagedPanel key={id} session={id} onDecided={reload} />}
    </div>
  );
}

/** Shows the staged changes of a session. An approver accepts or rejects one of them, or all at once. */
function StagedPanel({
  session,
  onDecided,
}: {
  readonly session: string;
  readonly onDecided: () => void;
}): JSX.Element {
  const params = { id: session };
  const { value, problem, reload } = useLoaded(session, () =>
    get("GET /v1/sessions/:id/changes", { params }),
  );
  const result = useSignal("");
  const failure = useSignal("");
  const staged = value.value;
  const decide = async (decision: Decision, change: StagedChange | undefined): Promise<void> => {
    const digest = change?.digest ?? staged?.digest ?? "";
    failure.value = "";
    result.value = "";
    try {
      const body = { decision, digest, ...(change !== undefined && { path: change.path }) };
      await send("POST /v1/sessions/:id/changes", { params, body });
      result.value = decision === "accept" ? "Accepted." : "Rejected.";
    } catch (error) {
      failure.value = conflictsOf(error) ?? messageOf(error);
    }
    await reload();
    onDecided();
  };
  return (
    <aside class="panel" aria-label="Held changes">
      <h2>
        <Foreign text={session} />
      </h2>
      <Problem of={problem} />
      <Problem of={failure} />
      <p role="status">{result}</p>
      {staged?.changes.length === 0 && <p class="empty">Nothing is staged any more.</p>}
      {staged !== undefined && staged.changes.length > 1 && hasRole("approver") && (
        <Decide
          key={staged.digest}
          what={`all ${staged.changes.length} changes`}
          onDecide={(decision) => decide(decision, undefined)}
        />
      )}
      {staged?.changes.map((change) => (
        <article key={`${change.path} ${change.digest}`}>
          <h3>
            <Foreign text={printableLine(change.path)} /> <Badge word={brief(change.change)} />
          </h3>
          {change.conflict !== undefined && (
            <p class="problem">
              Conflict: <Foreign text={change.conflict} />. It can only be rejected.
            </p>
          )}
          <Diff text={change.diff} label={`Difference of ${printableLine(change.path)}`} />
          {change.missing !== "" && (
            <p class="quiet">
              Not shown: <Foreign text={change.missing} />
            </p>
          )}
          {hasRole("approver") && (
            <Decide
              what="this change"
              canAccept={change.conflict === undefined}
              onDecide={(decision) => decide(decision, change)}
            />
          )}
        </article>
      ))}
    </aside>
  );
}

function conflictsOf(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.code !== "changes_conflict") return undefined;
  const conflicts = (error.details["conflicts"] ?? []) as readonly { readonly path?: string }[];
  const paths = conflicts.map(({ path = "" }) => printableLine(path));
  return `Nothing was accepted: on the disk, these have changed: ${paths.join(", ")}`;
}

/** Accepts or rejects in two steps. The second button is not where the first one is. */
function Decide({
  what,
  canAccept = true,
  onDecide,
}: {
  readonly what: string;
  readonly canAccept?: boolean;
  readonly onDecide: (decision: Decision) => Promise<void>;
}): JSX.Element {
  const step = useSignal<Decision | undefined>(undefined);
  const isBusy = useSignal(false);
  if (step.value !== undefined) {
    return <Confirm decision={step.value} what={what} step={step} isBusy={isBusy} onDecide={onDecide} />;
  }
  return (
    <p class="buttons">
      {canAccept && (
        <button
          type="button"
          onClick={() => {
            step.value = "accept";
          }}
        >
          Accept {what}…
        </button>
      )}
      <button
        type="button"
        onClick={() => {
          step.value = "reject";
        }}
      >
        Reject {what}…
      </button>
    </p>
  );
}

function Confirm({
  decision,
  what,
  step,
  isBusy,
  onDecide,
}: {
  readonly decision: Decision;
  readonly what: string;
  readonly step: Signal<Decision | undefined>;
  readonly isBusy: Signal<boolean>;
  readonly onDecide: (decision: Decision) => Promise<void>;
}): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    button.current?.focus();
  }, []);
  const cancel = (): void => {
    step.value = undefined;
  };
  const confirm = async (): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;
    await onDecide(decision);
    isBusy.value = false;
    step.value = undefined;
  };
  const verb = decision === "accept" ? "Accept" : "Reject";
  return (
    <form
      class="confirm"
      aria-label={`Confirm to ${decision}`}
      onSubmit={(event) => {
        event.preventDefault();
        void confirm();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") cancel();
      }}
    >
      <p>
        {verb} {what}?
      </p>
      <p class="buttons">
        <button type="button" onClick={cancel}>
          Cancel (Esc)
        </button>
        <button
          type="submit"
          class={decision === "accept" ? "primary" : "danger"}
          ref={button}
          disabled={isBusy.value}
        >
          {verb} (Enter)
        </button>
      </p>
    </form>
  );
}
