import type { JSX } from "preact";
import type { ApprovalScope } from "../api/confirmations.ts";

/** For how long an answer is remembered. */
export type Scope = "once" | "session" | "hour" | "ten";

const LABELS: Readonly<Record<Scope, string>> = {
  once: "this call only",
  session: "this tool, until the session is closed",
  hour: "this tool, in this session, for an hour",
  ten: "this tool, in this session, for 10 more calls",
};

/** Returns the decision and the approval of an answer with a scope. */
export function withScope(
  scope: Scope,
  toolName: string,
): { readonly decision: "allow" | "always"; readonly approval?: ApprovalScope } {
  const tools = [toolName];
  switch (scope) {
    case "once":
      return { decision: "allow" };
    case "session":
      return { decision: "always" };
    case "hour":
      return { decision: "always", approval: { tools, for: 3_600_000 } };
    case "ten":
      return { decision: "always", approval: { tools, for: "session", calls: 10 } };
  }
}

/** Asks for how long an answer is remembered. */
export function ScopeField({
  value,
  onChange,
}: {
  readonly value: Scope;
  readonly onChange: (scope: Scope) => void;
}): JSX.Element {
  return (
    <label>
      Allow
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value as Scope)}>
        {Object.entries(LABELS).map(([scope, label]) => (
          <option key={scope} value={scope}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
