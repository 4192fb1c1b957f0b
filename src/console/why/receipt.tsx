import type { JSX } from "preact";
import { Foreign } from "../parts/foreign.tsx";
import { brief, Json } from "../parts/json.tsx";
import { Titles } from "../parts/titles.tsx";

type Members = Readonly<Record<string, unknown>>;

/** Shows the limits of a call: what was asked for, what the sandbox enforced, and what the call used. */
export function Receipt({
  receipt,
  grant,
}: {
  readonly receipt: Members;
  /** JSON. */
  readonly grant: string | undefined;
}): JSX.Element {
  const asked = membersOf(receipt["asked"] ?? membersOf(parsed(grant))["limits"]);
  const enforced = membersOf(receipt["enforced"]);
  const used = membersOf(receipt["used"]);
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

/** A grant that the server cut is no JSON any more. */
function parsed(json: string | undefined): unknown {
  try {
    return json === undefined ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}
