import { type Signal, signal } from "@preact/signals";
import { createContext } from "preact";

/** What is folded of the arguments of a call. */
export class Folding {
  /** Whether everything is shown. */
  readonly isOpen: Signal<boolean> = signal(false);
  /** The numbers of characters that are folded, by the ids of the values. */
  readonly hidden: Signal<ReadonlyMap<string, number>> = signal(new Map());

  /** Says how much of a value is folded; 0 for nothing. */
  set(id: string, chars: number): void {
    if ((this.hidden.peek().get(id) ?? 0) === chars) return;
    const hidden = new Map(this.hidden.peek());
    if (chars === 0) hidden.delete(id);
    else hidden.set(id, chars);
    this.hidden.value = hidden;
  }
}

/** The folding of the arguments that a component is part of. */
export const FoldingContext: ReturnType<typeof createContext<Folding>> = createContext(new Folding());
