import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { CallDetails, Explanation, SuggestedChange, Suggestion } from "../../shapes/calls.ts";
import { readCall, shownState } from "../api/requests.ts";
import { go } from "../page/route.ts";
import { Badge, Titles } from "../parts/badges.tsx";
import { brief, Foreign, ForeignBlock, Json } from "../parts/foreign.tsx";
import { duration, indentJson, time } from "../parts/format.ts";
import { Problem, useLoaded } from "../parts/loaded.tsx";

type Members = Readonly<Record<string, unknown>>;

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

function Detail({ call }: { readonly call: CallDetails }): JSX.Element {
  const { explanation, suggestion, error, receipt, confirmation, output, log } = call;
  return (
    <>
      <p class="facts">
        <Badge word={shownState(call)} />
        {call.sideEffects !== undefined && <Badge word={call.sideEffects} />}
        <span>{time(call.startedAt)}</span>
        <span>{duration(call.durationMs)}</span>
        <Foreign text={call.sandbox ?? ""} />
        {call.session !== undefined && (
          <span>
            session <Foreign text={call.session.name ?? call.sessionId ?? ""} />, begun at{" "}
            {time(call.session.openedAt)}
          </span>
        )}
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

/** Shows the limits of a call: what was asked for, what the sandbox enforced, and what the call used. */
function Receipt({
  receipt,
  grant,
}: {
  readonly receipt: NonNullable<CallDetails["receipt"]>;
  /** JSON. */
  readonly grant: string | undefined;
}): JSX.Element {
  const asked = membersOf(membersOf(parsed(grant))["limits"]);
  const enforced = membersOf(receipt.enforced);
  const used = membersOf(receipt.used);
  const names = [...new Set([asked, enforced, used].flatMap(Object.keys))];
  return (
    <>
      <h3>Receipt</h3>
      {names.length === 0 ? (
        <Json value={receipt} label="Receipt" />
      ) : (
        <table>
          <Titles of={["Limit", "Asked", "Enforced", "Used"]} />
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row">
                  <Foreign text={name} />
                </th>
                {[asked, enforced, used].map((members, at) => (
                  <td key={at}>
                    <Foreign text={brief(members[name])} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

/** Returns `undefined` if the server has shortened the JSON. */
function parsed(json: string | undefined): unknown {
  try {
    return json === undefined ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Says which rules matched, which came near, and what was granted. */
function Rules({ explanation }: { readonly explanation: Explanation }): JSX.Element {
  const { decision, reason, rules, near, grant, policyRevision } = explanation;
  return (
    <>
      <h3>
        Decision <Badge word={decision} />
      </h3>
      {reason !== undefined && (
        <p>
          <Foreign text={reason} />
        </p>
      )}
      {rules.length === 0 ? (
        <p>No rule matched.</p>
      ) : (
        <ul class="rules" aria-label="Rules that matched">
          {rules.map(({ name, file, line, because }) => (
            <RuleItem key={name} name={name} place={placeOf(file, line)} reasons={because} />
          ))}
        </ul>
      )}
      {near.length > 0 && (
        <>
          <h3>Near misses</h3>
          <ul class="rules" aria-label="Rules that came near">
            {near.map(({ rule, missed }) => (
              <RuleItem key={rule} name={rule} reasons={missed} />
            ))}
          </ul>
        </>
      )}
      {grant !== undefined && (
        <details>
          <summary>Grant</summary>
          <ForeignBlock text={indentJson(grant)} label="Grant" />
        </details>
      )}
      {policyRevision !== undefined && (
        <p class="quiet">
          Policy <Foreign text={policyRevision} />
        </p>
      )}
    </>
  );
}

/** Shows a rule, and why it matched or what it missed. */
function RuleItem({
  name,
  place = "",
  reasons,
}: {
  readonly name: string;
  readonly place?: string;
  readonly reasons: readonly string[];
}): JSX.Element {
  return (
    <li>
      <strong>
        <Foreign text={name} />
      </strong>
      {place !== "" && (
        <>
          {" "}
          <Foreign text={place} />
        </>
      )}
      <ul>
        {reasons.map((reason, at) => (
          <li key={at}>
            <Foreign text={reason} />
          </li>
        ))}
      </ul>
    </li>
  );
}

function placeOf(file: string | undefined, line: number | undefined): string {
  return file === undefined ? "" : line === undefined ? file : `${file}:${line}`;
}

/** Shows the smallest change of the policy that would allow a call, and which other calls it would allow. */
function SuggestionBox({ suggestion }: { readonly suggestion: Suggestion }): JSX.Element {
  if ("withheld" in suggestion) {
    return (
      <section class="suggestion" aria-labelledby="suggestion-title">
        <h3 id="suggestion-title">No change is suggested</h3>
        <p>
          <Foreign text={suggestion.withheld} />
        </p>
      </section>
    );
  }
  const { decision, exactly } = suggestion;
  return (
    <section class="suggestion" aria-labelledby="suggestion-title">
      <h3 id="suggestion-title">{decision === "ask" ? "What would ask a person" : "What would allow it"}</h3>
      <Change change={suggestion} label="Suggested rule" copy="Copy the rule" />
      {exactly !== undefined && (
        <>
          <h3>Or exactly this call</h3>
          <Change
            change={exactly}
            label="Rule for exactly this call"
            copy="Copy the rule for exactly this call"
          />
        </>
      )}
    </section>
  );
}

function Change({
  change: { text, yaml, where, widens },
  label,
  copy,
}: {
  readonly change: SuggestedChange;
  readonly label: string;
  readonly copy: string;
}): JSX.Element {
  return (
    <>
      <p>
        <Foreign text={text} />
      </p>
      <p>
        At <Foreign text={where} />:
      </p>
      <ForeignBlock text={yaml} label={label} />
      <CopyButton text={yaml} label={copy} />
      {widens.length > 0 && (
        <>
          <p>This also allows:</p>
          <ul>
            {widens.map((line, at) => (
              <li key={at}>
                <Foreign text={line} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** Copies a text to the clipboard, and says whether it did. */
function CopyButton({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const result = useSignal("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      result.value = "Copied";
    } catch {
      result.value = "The browser refused. Select the text and copy it.";
    }
  };
  return (
    <span class="copy">
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span role="status">{result}</span>
    </span>
  );
}
