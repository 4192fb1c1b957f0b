import { type Assertion, hasCodePoint, type Program, representatives, WORD } from "./automaton.ts";

/** A character that stands for itself, or an escape that does. */
const CHARACTER = /^(?:[^\\^$.*+?()[\]{}|\ufffd]|\\[\\^$.*+?()[\]{}|/-])$/u;

const PIECE =
  /\\u\{[^}]*\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\[pP]\{[^}]*\}|\\c[A-Za-z]|\\.|\[(?:\\.|[^\]\\])*\]|./gsu;

/**
 * Maximum number of steps of a search, which is then given up: each follows all programs over one character.
 */
const MAX_STEPS = 20_000;

/** The result of a search: the shortest text, `none` if no text exists, or `unknown` if the search was given up. */
export type FoundText = { readonly text: string } | "none" | "unknown";

/** Whether something is true of a text: `undefined` if that depends on how the text continues. */
export type Answer = boolean | undefined;

/**
 * Searches for a text by which programs it is matched.
 *
 * @param isWanted Whether a text is wanted, by what each program says of it, or of all texts with the same beginning.
 * @param maxLength The most characters of a text.
 */
export function findText(
  programs: readonly Program[],
  isWanted: (matches: readonly Answer[]) => Answer,
  maxLength: number,
): FoundText {
  const alphabet = representatives(programs.flatMap(({ sets }) => sets).concat([WORD]));
  const machines = programs.map((program) => new Machine(program, alphabet));
  let states = [{ at: machines.map((machine) => machine.start), text: "" }];
  const seen = new Set<string>(states.map(({ at }) => at.join()));
  let steps = 0;
  for (let length = 0; states.length > 0; length++) {
    const found = states.find(({ at }) =>
      isWanted(at.map((state, index) => machines[index]?.accepts(state) === true)),
    );
    if (found !== undefined) return { text: found.text };
    if (length >= maxLength) return "none";
    const next: typeof states = [];
    for (const { at, text } of states) {
      for (const [letter, codePoint] of alphabet.entries()) {
        if (++steps > MAX_STEPS) return "unknown";
        const after = at.map((state, index) => machines[index]?.step(state, letter) ?? 0);
        const key = after.join();
        if (seen.has(key)) continue;
        seen.add(key);
        if (isWanted(after.map((state, index) => machines[index]?.foresees(state))) === false) continue;
        next.push({ at: after, text: text + String.fromCodePoint(codePoint) });
      }
    }
    states = next;
  }
  return "none";
}

/**
 * Returns one text for each set of programs by which some text is matched, the shortest of each.
 *
 * @param isWanted As in {@link findText}.
 * @returns `undefined` if the search was given up.
 */
export function textsOfEach(
  programs: readonly Program[],
  isWanted: (matches: readonly Answer[]) => Answer,
  maxLength: number,
): readonly string[] | undefined {
  const alphabet = representatives(programs.flatMap(({ sets }) => sets).concat([WORD]));
  const machines = programs.map((program) => new Machine(program, alphabet));
  const found = new Map<string, string>();
  const seen = new Set<string>();
  let steps = 0;
  let states = [{ at: machines.map((machine) => machine.start), text: "" }];
  for (let length = 0; states.length > 0 && length <= maxLength; length++) {
    const next: typeof states = [];
    for (const { at, text } of states) {
      const matches = at.map((state, index) => machines[index]?.accepts(state) === true);
      const key = matches.map(Number).join("");
      if (!found.has(key) && isWanted(matches) === true) found.set(key, text);
      for (const [letter, codePoint] of alphabet.entries()) {
        if (++steps > MAX_STEPS) return undefined;
        const after = at.map((state, index) => machines[index]?.step(state, letter) ?? 0);
        const place = after.join();
        if (seen.has(place)) continue;
        seen.add(place);
        if (isWanted(after.map((state, index) => machines[index]?.foresees(state))) === false) continue;
        next.push({ at: after, text: text + String.fromCodePoint(codePoint) });
      }
    }
    states = next;
  }
  return [...found.values()];
}

type Before = "start" | "word" | "other";
type After = "end" | "word" | "other";

/** What a program can be doing after some text, without what it does before the next character, which depends on that. */
interface State {
  readonly places: readonly number[];
  readonly before: Before;
  /** A match was found, whatever follows. */
  readonly hasMatched: boolean;
}

/** A deterministic automaton whose states are found as they are needed. */
class Machine {
  readonly start: number = 0;
  readonly #program: Program;
  readonly #alphabet: readonly number[];
  readonly #isWord: readonly boolean[];
  /** Whether a match can only begin where the text does. */
  readonly #isAnchored: boolean;
  readonly #states: State[] = [{ places: [], before: "start", hasMatched: false }];
  readonly #ids = new Map<string, number>();
  readonly #steps: number[][] = [];
  readonly #accepting: boolean[] = [];

  constructor(program: Program, alphabet: readonly number[]) {
    this.#program = program;
    this.#alphabet = alphabet;
    this.#isWord = alphabet.map((codePoint) => hasCodePoint(WORD, codePoint));
    this.#isAnchored = (["word", "other"] as const).every((before) =>
      (["word", "other", "end"] as const).every((after) => {
        const { reading, hasMatched } = this.#reached({ places: [], before, hasMatched: false }, after);
        return reading.length === 0 && !hasMatched;
      }),
    );
  }

  /** Whether the text that led to a state is matched. */
  accepts(id: number): boolean {
    const state = this.#states[id] as State;
    this.#accepting[id] ??= state.hasMatched || this.#reached(state, "end").hasMatched;
    return this.#accepting[id];
  }

  /** Whether every text with this beginning is matched, or none. */
  foresees(id: number): Answer {
    const { places, hasMatched } = this.#states[id] as State;
    if (hasMatched) return true;
    return places.length === 0 && this.#isAnchored ? false : undefined;
  }

  step(id: number, letter: number): number {
    this.#steps[id] ??= [];
    const steps = this.#steps[id];
    steps[letter] ??= this.#follow(this.#states[id] as State, letter);
    return steps[letter];
  }

  #follow(state: State, letter: number): number {
    const kind = this.#isWord[letter] ? "word" : "other";
    if (state.hasMatched) return this.#idOf({ places: [], before: "other", hasMatched: true });
    const { reading, hasMatched } = this.#reached(state, kind);
    if (hasMatched) return this.#idOf({ places: [], before: "other", hasMatched });
    const codePoint = this.#alphabet[letter] ?? 0;
    const places = new Set<number>();
    for (const index of reading) {
      const instruction = this.#program.instructions[index];
      if (instruction !== undefined && "read" in instruction && hasCodePoint(instruction.read, codePoint))
        places.add(instruction.next);
    }
    return this.#idOf({ places: [...places].sort((a, b) => a - b), before: kind, hasMatched: false });
  }

  #idOf(state: State): number {
    const key = `${state.hasMatched ? "!" : state.before}${state.places.join()}`;
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.#states.push(state) - 1;
      this.#ids.set(key, id);
    }
    return id;
  }

  /** Follows what reads no character, from where the program is and from its start, as a match can begin anywhere. */
  #reached(
    { places, before }: State,
    after: After,
  ): { readonly reading: readonly number[]; readonly hasMatched: boolean } {
    const reading: number[] = [];
    const visited = new Set<number>();
    const waiting = [...places, this.#program.start];
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      if (visited.has(index)) continue;
      visited.add(index);
      const instruction = this.#program.instructions[index];
      if (instruction === undefined) continue;
      if ("isMatch" in instruction) return { reading: [], hasMatched: true };
      if ("read" in instruction) reading.push(index);
      else if ("either" in instruction) waiting.push(...instruction.either);
      else if (isAt(instruction.at, before, after)) waiting.push(instruction.next);
    }
    return { reading, hasMatched: false };
  }
}

function isAt(place: Assertion, before: Before, after: After): boolean {
  if (place === "start") return before === "start";
  if (place === "end") return after === "end";
  return ((before === "word") !== (after === "word")) === (place === "boundary");
}

/**
 * Returns a text that is in every text that a pattern matches: the longest that is easily found. Patterns with alternatives
 * have none, and what is in groups is not looked at.
 *
 * @param source A valid, case-sensitive ECMAScript pattern.
 */
export function requiredLiteral(source: string): string | undefined {
  let longest = "";
  let run: string[] = [];
  let depth = 0;
  const end = (): void => {
    if (run.join("").length > longest.length) longest = run.join("");
    run = [];
  };
  for (const [piece] of source.matchAll(PIECE)) {
    if (piece === "|") return undefined;
    if (piece === "(") depth++;
    else if (piece === ")") depth--;
    if (depth === 0 && CHARACTER.test(piece)) {
      run.push(piece.startsWith("\\") ? piece.slice(1) : piece);
      continue;
    }
    // What is before these may be missing, or is repeated.
    if (piece === "*" || piece === "?" || piece === "{") run.pop();
    end();
    // What follows may be the digits of a quantifier.
    if (piece === "{") break;
  }
  end();
  return longest === "" ? undefined : longest;
}
