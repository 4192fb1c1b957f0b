import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

/** Copies a text to the clipboard, and says whether it did. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
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
