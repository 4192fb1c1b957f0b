import { type Signal, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Whether the help is open. */
export const isHelpOpen: Signal<boolean> = signal(false);

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["0 … 6", "Overview, Live, Waiting for me, History, Tools, Changes, Sessions"],
  ["j or ↓, k or ↑", "the next or the previous row"],
  ["Enter", "open the row"],
  ["/", "go to the first filter"],
  ["a", "Waiting: prepare to allow; then Enter allows, Escape does not"],
  ["d", "Waiting: prepare to deny; then Enter denies, Escape does not"],
  ["e", "Waiting: edit the arguments"],
  ["x, o", "Waiting: the exact JSON of the arguments; show what is folded"],
  ["g", "Waiting: group by tool and session"],
  ["s, S, t", "Waiting: select; select all that are listed; answer the selected ones together"],
  ["n", "Waiting, together: the next one that was not shown"],
  ["Escape", "close what is open"],
  ["?", "this help"],
];

/** Lists the keys. */
export function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isHelpOpen.value]);
  const close = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
