import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { SuspendedProgram, SuspendedPrograms } from "../../shapes/confirmations.ts";
import { get } from "../api/http.ts";
import { hashOf } from "../page/route.ts";
import { Foreign } from "../parts/foreign.tsx";
import { count, duration, time } from "../parts/format.ts";
import { Problem, useLoaded } from "../parts/loaded.tsx";

/** How often listed programs are read again, in ms: the server sends no event when one continues or ends. */
const REREAD_MS = 2_000;

/**
 * The programs that are suspended while they wait, with the calls that they wait for and how long they have left.
 *
 * @param of What changes whenever they may have changed.
 */
export function Programs({ of }: { readonly of: string }): JSX.Element | null {
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
  return (await get<SuspendedPrograms>("/v1/programs")).programs;
}
