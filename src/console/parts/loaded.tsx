import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isSignedIn, messageOf } from "../api/http.ts";
import { Foreign } from "./foreign.tsx";

/** What a view reads from the server. */
export interface Loaded<Value> {
  readonly value: Signal<Value | undefined>;
  /** Why it could not be read; `""` if it could. */
  readonly problem: Signal<string>;
  /** Reads it again. */
  readonly reload: () => Promise<void>;
}

/**
 * Reads something when a component appears, and whenever `key` changes. A response that arrives after a newer one was
 * asked for is dropped. What could not be read is read again after a login.
 */
export function useLoaded<Value>(key: unknown, read: () => Promise<Value>): Loaded<Value> {
  const value = useSignal<Value | undefined>(undefined);
  const problem = useSignal("");
  const latest = useSignal(0);
  const reload = async (): Promise<void> => {
    const own = latest.peek() + 1;
    latest.value = own;
    try {
      const result = await read();
      if (latest.peek() !== own) return;
      value.value = result;
      problem.value = "";
    } catch (error) {
      if (latest.peek() === own) problem.value = messageOf(error);
    }
  };
  useEffect(() => {
    value.value = undefined;
    void reload();
  }, [key]);
  useEffect(() => {
    if (isSignedIn.value === true && problem.peek() !== "") void reload();
  }, [isSignedIn.value]);
  return { value, problem, reload };
}

/** Says why something failed. The element is always there, so that screen readers announce what appears in it. */
export function Problem({ of }: { readonly of: Signal<string> }): JSX.Element {
  return (
    <div role="alert" class={of.value === "" ? "" : "problem"}>
      {of.value !== "" && <Foreign text={of.value} />}
    </div>
  );
}
