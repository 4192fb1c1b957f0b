import { MAX_WORDS, UserWords } from "../../policy/words/user-words.ts";

/** The most UTF-16 code units of users' words that a session remembers. */
const MAX_HEARD = 4 * MAX_WORDS;

/** What the users said in the turns of a session. The oldest is forgotten first. */
export class HeardWords {
  readonly #heard: UserWords[] = [];
  #length = 0;
  #isWhole: boolean;

  /** @param isLate Whether users may have said something before. */
  constructor(isLate: boolean) {
    this.#isWhole = !isLate;
  }

  hear(text: string): void {
    if (text.length > MAX_WORDS) {
      this.#isWhole = false;
      return;
    }
    this.#heard.push(new UserWords(text));
    this.#length += text.length;
    while (this.#length > MAX_HEARD) {
      this.#length -= this.#heard.shift()?.text.length ?? 0;
      this.#isWhole = false;
    }
  }

  /** Whether the words have a value; `undefined` if words that are not remembered could, or there are none. */
  have(value: string | number): boolean | undefined {
    return this.#any((words) => words.have(value));
  }

  /** The same for a link, address or account number. */
  haveReference(reference: string): boolean | undefined {
    return this.#any((words) => words.haveReference(reference));
  }

  #any(test: (words: UserWords) => boolean): boolean | undefined {
    if (this.#heard.some(test)) return true;
    return this.#isWhole && this.#heard.length > 0 ? false : undefined;
  }
}
