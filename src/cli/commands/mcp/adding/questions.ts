import { createInterface, type Interface } from "node:readline";
import { joinShown, type ShownText, shown } from "../../../../rendering/shown.ts";
import { print, type Terminal } from "../../../terminal.ts";

/** Asks the person at a terminal. Without one, every answer is empty: nothing is granted that nobody was asked about. */
export class Questions implements Disposable {
  readonly #terminal: Terminal;
  #lines: Interface | undefined;
  #answers: AsyncIterator<string> | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Whether there is a person to ask. */
  get hasPerson(): boolean {
    return this.#terminal.isInteractive === true;
  }

  /** Returns the line that the person answers, without spaces around it; empty if there is none. */
  async ask(question: ShownText): Promise<string> {
    if (!this.hasPerson) return "";
    const { stdin, stderr, signal } = this.#terminal;
    await print(stderr, question);
    this.#lines ??= createInterface({ input: stdin, ...(signal && { signal }) });
    this.#answers ??= this.#lines[Symbol.asyncIterator]();
    const { value, done } = await this.#answers.next();
    return done ? "" : value.trim();
  }

  /** Whether the person says yes. Everything except `y` and `yes` means no. */
  async confirms(question: ShownText): Promise<boolean> {
    return /^y(es)?$/i.test(await this.ask(joinShown([question, shown` [y/N]`], "")));
  }

  [Symbol.dispose](): void {
    this.#lines?.close();
  }
}
