import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { SuspendedProgram } from "../../shapes/confirmations.ts";
import { get } from "../api/http.ts";
import { hasRole } from "../api/session.ts";
import { summaryLine } from "../arguments/fields.ts";
import { listKeys, useKeys } from "../page/keys.ts";
import { hashOf, route } from "../page/route.ts";
import { Badge } from "../parts/badges.tsx";
import { Foreign, visible } from "../parts/foreign.tsx";
import { count, duration, time } from "../parts/format.ts";
import { Problem, useLoaded } from "../parts/loaded.tsx";
import { ConfirmationPanel } from "./confirmation-panel.tsx";
import {
  areRead,
  clearEnded,
  confirmations,
  confirmationsProblem,
  endOf,
  type ListedConfirmation,
  openCount,
} from "./confirmations.ts";
import {
  type ConfirmationGroup,
  canSelect,
  confirmationFilter,
  confirmationGroups,
  isAllSelected,
  isGrouped,
  select,
  selected,
  shownConfirmations,
} from "./listing.ts";
import { PushButton } from "./push-button.tsx";
import { isTogether, TogetherPanel, together } from "./together-panel.tsx";

/** The confirmations that wait for a person, and those that have just ended. */
export function WaitingView(): JSX.Element {
  const items = confirmations.value;
  const { id } = route.value;
  const shown = items.find(({ confirmation }) => confirmation.requestId === id);
  const hasPanel = shown !== undefined || isTogether(id);
  useKeys({
    ...listKeys("waiting", id, () =>
      shownConfirmations.peek().map(({ confirmation }) => confirmation.requestId),
    ),
    g: () => {
      isGrouped.value = !isGrouped.value;
    },
    s: () => {
      if (shown !== undefined) select([shown], !selected.peek().has(id));
    },
    S: () => select(shownConfirmations.peek(), !isAllSelected(shownConfirmations.peek())),
    t: together,
  });
  return (
    <div class={hasPanel ? "split open wide" : "split"}>
      <section class="list" aria-labelledby="waiting-title">
        <div class="title">
          <h1 id="waiting-title">Waiting for me</h1>
          <p>{openCount} open</p>
          <button type="button" onClick={clearEnded} disabled={openCount.value === items.length}>
            Clear answered
          </button>
          <PushButton />
        </div>
        {items.length > 1 && <Tools />}
        <Problem of={confirmationsProblem} />
        {items.length === 0 && <p class="empty">Nothing waits for an answer.</p>}
        {id !== "" && !hasPanel && areRead.value && (
          <p class="empty" role="status">
            What the address names has ended, or others answer it.
          </p>
        )}
        {items.length > 0 && !hasPanel && <p class="quiet">Open one to answer it, or press j.</p>}
        <div class="groups">
          {confirmationGroups.value.map((group) => (
            <Group key={group.key} group={group} shownId={id} />
          ))}
          {items.length > 0 && shownConfirmations.value.length === 0 && <p class="empty">None matches.</p>}
          <Programs
            of={items
              .map(({ confirmation, resolution }) => `${confirmation.requestId} ${resolution?.at}`)
              .join()}
          />
        </div>
      </section>
      {shown !== undefined && (
        <ConfirmationPanel
          key={`${shown.confirmation.requestId} ${shown.confirmation.digest}`}
          item={shown}
        />
      )}
      {isTogether(id) && <TogetherPanel />}
    </div>
  );
}

/** The filter, and the selection of many confirmations. */
function Tools(): JSX.Element {
  const amount = selected.value.size;
  return (
    <form class="filters" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <label>
        Filter
        <input
          type="search"
          spellcheck={false}
          autoComplete="off"
          value={confirmationFilter}
          onInput={({ currentTarget }) => {
            confirmationFilter.value = currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </label>
      <label>
        <input
          type="checkbox"
          checked={isGrouped.value}
          onChange={({ currentTarget }) => {
            isGrouped.value = currentTarget.checked;
          }}
        />
        By tool and session (g)
      </label>
      {hasRole("approver") && (
        <>
          <label>
            <input
              type="checkbox"
              checked={isAllSelected(shownConfirmations.value)}
              onChange={({ currentTarget }) => select(shownConfirmations.peek(), currentTarget.checked)}
            />
            Select all {shownConfirmations.value.filter(canSelect).length} (S)
          </label>
          <button type="button" onClick={together} disabled={amount < 2}>
            Answer {amount} together (t)
          </button>
        </>
      )}
    </form>
  );
}

function Group({
  group,
  shownId,
}: {
  readonly group: ConfirmationGroup;
  readonly shownId: string;
}): JSX.Element {
  const { key, items } = group;
  const [first] = items;
  const selectable = items.filter(canSelect);
  const label =
    key === "" || first === undefined
      ? "Confirmations"
      : `${visible(first.confirmation.toolName)}: confirmations`;
  return (
    <>
      {key !== "" && first !== undefined && (
        <div class="group">
          {selectable.length > 0 && hasRole("approver") && (
            <input
              type="checkbox"
              aria-label={`Select all of ${visible(first.confirmation.toolName)}`}
              checked={isAllSelected(items)}
              onChange={({ currentTarget }) => select(selectable, currentTarget.checked)}
            />
          )}
          <h2>
            <Foreign text={first.confirmation.toolName} />
          </h2>
          <span class="quiet">
            {count(items.length, "confirmation")} · session{" "}
            <Foreign text={first.confirmation.sessionName ?? first.confirmation.sessionId} />
          </span>
        </div>
      )}
      <ul class="cards" aria-label={label}>
        {items.map((item) => (
          <Card
            key={item.confirmation.requestId}
            item={item}
            isShown={item.confirmation.requestId === shownId}
          />
        ))}
      </ul>
    </>
  );
}

function Card({
  item,
  isShown,
}: {
  readonly item: ListedConfirmation;
  readonly isShown: boolean;
}): JSX.Element {
  const { confirmation, resolution } = item;
  const { requestId, toolName } = confirmation;
  return (
    <li class={resolution === undefined ? "card" : "card ended"}>
      {canSelect(item) && hasRole("approver") && (
        <input
          type="checkbox"
          aria-label={`Select ${visible(toolName)}`}
          checked={selected.value.has(requestId)}
          onChange={({ currentTarget }) => select([item], currentTarget.checked)}
        />
      )}
      <span>
        <a
          href={hashOf("waiting", requestId)}
          aria-describedby={`about-${requestId}`}
          {...(isShown && { "aria-current": "true" as const })}
        >
          <Foreign text={toolName} />
        </a>{" "}
        <Badge word={confirmation.sideEffects} />
      </span>
      <span class="summary" id={`about-${requestId}`}>
        <Foreign
          text={
            confirmation.inputSummary === undefined
              ? confirmation.question
              : summaryLine(confirmation.inputSummary)
          }
        />
      </span>
      <span class="quiet">
        {time(confirmation.askedAt)}
        {confirmation.principal !== undefined && (
          <>
            {" · "}
            <Foreign text={confirmation.principal} />
          </>
        )}
        {resolution !== undefined && ` · ${endOf(resolution)}`}
      </span>
    </li>
  );
}

/** How often listed programs are read again, in ms: the server sends no event when one continues or ends. */
const REREAD_MS = 2_000;

/**
 * The programs that are suspended while they wait, with the calls that they wait for and how long they have left.
 *
 * @param of What changes whenever they may have changed.
 */
function Programs({ of }: { readonly of: string }): JSX.Element | null {
  const { value, problem, reload } = useLoaded(of, listPrograms);
  const programs = value.value ?? [];
  useEffect(() => {
    if (programs.length === 0) return;
    const timer = setInterval(reload, REREAD_MS);
    return () => clearInterval(timer);
  }, [programs.length]);
  if (programs.length === 0 && problem.value === "") return null;
  return (
    <section aria-labelledby="programs-title">
      <h2 id="programs-title">Programs that wait</h2>
      <Problem of={problem} />
      <ul class="cards" aria-label="Programs">
        {programs.map((program) => (
          <li key={`${program.sessionId} ${program.turnId} ${program.callId}`}>
            <Program program={program} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Program({ program }: { readonly program: SuspendedProgram }): JSX.Element {
  const { toolName, principal, suspendedAt, leftMs, open } = program;
  return (
    <div class="card">
      <strong>
        <Foreign text={toolName} />
      </strong>
      <span class="quiet">
        {time(suspendedAt)}
        {principal !== undefined && (
          <>
            {" · "}
            <Foreign text={principal} />
          </>
        )}
        {` · waits for ${count(open.length, "call")} · ${duration(leftMs)} left`}
      </span>
      <ul class="summary">
        {open.map(({ callId, toolName: called, requestId }) => (
          <li key={callId}>
            {requestId === undefined ? (
              <Foreign text={called} />
            ) : (
              <a href={hashOf("waiting", requestId)}>
                <Foreign text={called} />
              </a>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Lists the suspended programs, the oldest first. */
async function listPrograms(): Promise<readonly SuspendedProgram[]> {
  return (await get("GET /v1/programs")).programs;
}
