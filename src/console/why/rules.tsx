import type { JSX } from "preact";
import type { Explanation } from "../api/calls.ts";
import { Badge } from "../parts/badge.tsx";
import { Foreign, ForeignBlock } from "../parts/foreign.tsx";
import { indentJson } from "../parts/indent-json.ts";

/** Says which rules matched, which came near, and what was granted. */
export function Rules({ explanation }: { readonly explanation: Explanation }): JSX.Element {
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
            <li key={name}>
              <strong>
                <Foreign text={name} />
              </strong>{" "}
              <Foreign text={placeOf(file, line)} />
              <ul>
                {because.map((reason, at) => (
                  <li key={at}>
                    <Foreign text={reason} />
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
      {near.length > 0 && (
        <>
          <h3>Near misses</h3>
          <ul class="rules" aria-label="Rules that came near">
            {near.map(({ rule, missed }) => (
              <li key={rule}>
                <strong>
                  <Foreign text={rule} />
                </strong>
                <ul>
                  {missed.map((reason, at) => (
                    <li key={at}>
                      <Foreign text={reason} />
                    </li>
                  ))}
                </ul>
              </li>
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

function placeOf(file: string | undefined, line: number | undefined): string {
  return file === undefined ? "" : line === undefined ? file : `${file}:${line}`;
}
