import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { Foreign } from "./foreign.tsx";

/** Says why something failed. The element is always there, so that screen readers hear what appears in it. */
export function Problem({ of }: { readonly of: Signal<string> }): JSX.Element {
  return (
    <div role="alert" class={of.value === "" ? "" : "problem"}>
      {of.value !== "" && <Foreign text={of.value} />}
    </div>
  );
}
