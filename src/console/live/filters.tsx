import { type Signal, signal } from "@preact/signals";
import type { JSX } from "preact";
import type { CallFilter } from "./call-rows.ts";

/** Which calls are shown. */
export const filter: Signal<CallFilter> = signal({ session: "", tool: "", state: "", code: "" });

const STATES = ["running", "waiting", "ended", "completed", "denied", "failed", "aborted"];

/** The fields that say which calls are shown. */
export function Filters(): JSX.Element {
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter calls"
      onSubmit={(event) => event.preventDefault()}
    >
      <TextFilter name="session" label="Session" />
      <TextFilter name="tool" label="Tool" />
      <label>
        State
        <select
          value={filter.value.state}
          onChange={({ currentTarget }) => {
            filter.value = { ...filter.value, state: currentTarget.value };
          }}
        >
          <option value="">any</option>
          {STATES.map((state) => (
            <option key={state}>{state}</option>
          ))}
        </select>
      </label>
      <TextFilter name="code" label="Code" />
    </form>
  );
}

function TextFilter({
  name,
  label,
}: {
  readonly name: keyof CallFilter;
  readonly label: string;
}): JSX.Element {
  return (
    <label>
      {label}
      <input
        type="search"
        spellcheck={false}
        autoComplete="off"
        value={filter.value[name]}
        onInput={({ currentTarget }) => {
          filter.value = { ...filter.value, [name]: currentTarget.value };
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
    </label>
  );
}
