import type { JSX } from "preact";
import { go, type RouteQuery, route } from "../page/route.ts";
import { Foreign, visible } from "../parts/foreign.tsx";
import { time } from "../parts/format.ts";

const OUTCOMES = ["completed", "denied", "failed", "aborted"];

/** The texts of filters without a field, which the overview sets. */
const SHOWN: Readonly<Record<string, (text: string) => string>> = {
  rule: (text) => `rule ${text}`,
  ruled: (text) => (text === "true" ? "a rule decided" : "no rule decided"),
  sandbox: (text) => `sandbox ${text}`,
  reached: (text) => `reached ${text}`,
  answeredBy: (text) => `answered by ${text}`,
  answer: (text) => ANSWERS[text] ?? text,
  since: (text) => `from ${time(Number(text))}`,
  until: (text) => `before ${time(Number(text))}`,
};

const ANSWERS: Readonly<Record<string, string>> = {
  any: "a person was asked",
  allow: "a person allowed it",
  deny: "a person denied it",
  quick: "allowed within 2 s",
};

/** The parameters of the API among those of the address. */
export function filterIn(query: RouteQuery): RouteQuery {
  const names = ["tool", "session", "code", "outcome", ...Object.keys(SHOWN)];
  return Object.fromEntries(Object.entries(query).filter(([name]) => names.includes(name)));
}

/** The fields that say which records are listed. The address has them, so that a link leads to what it says. */
export function HistoryFilters(): JSX.Element {
  const { id, query } = route.value;
  const set = (name: string, text: string): void => go("history", id, { ...query, [name]: text });
  const chips = Object.entries(filterIn(query)).filter(([name]) => name in SHOWN);
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter records"
      onSubmit={(event) => event.preventDefault()}
    >
      {(["tool", "session", "code"] as const).map((name) => (
        <label key={name}>
          {name}
          <input
            type="search"
            spellcheck={false}
            autoComplete="off"
            value={query[name] ?? ""}
            onChange={({ currentTarget }) => set(name, currentTarget.value)}
          />
        </label>
      ))}
      <label>
        outcome
        <select
          value={query["outcome"] ?? ""}
          onChange={({ currentTarget }) => set("outcome", currentTarget.value)}
        >
          <option value="">any</option>
          {OUTCOMES.map((outcome) => (
            <option key={outcome}>{outcome}</option>
          ))}
        </select>
      </label>
      {chips.map(([name, text]) => {
        const shown = SHOWN[name]?.(text) ?? text;
        return (
          <button
            key={name}
            type="button"
            aria-label={`Remove the filter: ${visible(shown)}`}
            onClick={() => set(name, "")}
          >
            <Foreign text={shown} />
            <span aria-hidden="true"> ✕</span>
          </button>
        );
      })}
    </form>
  );
}
