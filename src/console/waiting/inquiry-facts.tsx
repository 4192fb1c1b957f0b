import type { JSX } from "preact";
import type { WholeInquiry } from "../api/confirmations.ts";
import { Badge } from "../parts/badge.tsx";
import { Diff } from "../parts/diff.tsx";
import { ExactJson, Foreign, printable } from "../parts/foreign.tsx";
import { time } from "../parts/format.ts";
import { Json } from "../parts/json.tsx";

/** Shows what an inquiry is about, with exactly the arguments that would run. */
export function InquiryFacts({ inquiry }: { readonly inquiry: WholeInquiry }): JSX.Element {
  const { toolName, sideEffects, sessionId, principal, parent, rules = [], grant, kind } = inquiry;
  const { projectedChanges = [], digest, question, expiresAt } = inquiry;
  const whole = inquiry.arguments;
  return (
    <>
      <h2>
        <Foreign text={toolName} /> <Badge word={sideEffects} />
      </h2>
      <p class="facts">
        <span>
          session <Foreign text={sessionId} />
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
      {kind !== "question" && (
        <p>
          <Foreign text={printable(question)} />
        </p>
      )}
      {rules.length > 0 && (
        <p>
          Asked by {rules.length === 1 ? "the rule" : "the rules"} <Foreign text={rules.join(", ")} />
        </p>
      )}
      {whole !== undefined && (
        <>
          <h3>Exact arguments</h3>
          <ExactJson text={whole} label="Exact arguments" />
        </>
      )}
      {projectedChanges.length > 0 && (
        <>
          <h3>What the tool says that it would change</h3>
          <Diff
            text={projectedChanges.map((change) => printable(change)).join("\n")}
            label="Projected changes"
          />
        </>
      )}
      {grant !== undefined && (
        <details>
          <summary>Grant</summary>
          <Json value={grant} label="Grant" />
        </details>
      )}
      <p class="quiet">
        Digest <code class="digest">{digest}</code>
      </p>
    </>
  );
}
