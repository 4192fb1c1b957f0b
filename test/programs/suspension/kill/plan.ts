/** A call that a program makes. */
export interface PlannedCall {
  /** `pay`: a person is asked. `read`: it runs at once. */
  readonly tool: "pay" | "read";
  /** Identifies the call among those of its program. */
  readonly key: string;
  readonly amount: number;
}

/** What a program does with its calls. */
export interface Step {
  readonly kind: "all" | "chain" | "stream" | "late";
  readonly calls: readonly PlannedCall[];
}

/** Numbers that follow from a seed (mulberry32). */
export function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const KINDS: readonly Step["kind"][] = ["all", "chain", "stream", "late"];

/** Returns what a program does: one to three steps with one to three calls each, of which at least one asks. */
export function planOf(seed: number): readonly Step[] {
  const next = numbers(seed);
  const steps = Array.from(
    { length: 1 + next(3) },
    (_, index): Step => ({
      kind: KINDS[next(KINDS.length)] as Step["kind"],
      calls: Array.from({ length: 1 + next(3) }, (__, call) => ({
        tool: next(3) === 0 ? "read" : "pay",
        key: `${index}.${call}`,
        amount: 1 + next(100),
      })),
    }),
  );
  const asks: Step = { kind: "chain", calls: [{ tool: "pay", key: "last", amount: 1 + next(100) }] };
  return [...steps, asks];
}

/** Whether a person denies a call. */
export function isDenied(seed: number, key: string): boolean {
  let hash = seed;
  for (const character of key) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0;
  return hash % 7 === 0;
}

/**
 * A tool that does what a plan says, with everything in its heap that a program can have while it waits: closures, private
 * members, generators, pending promises, timers, errors, `finally`.
 */
export const PROGRAM = `
class Account {
  #sum = 0;
  add(amount) { this.#sum += amount; return this; }
  get sum() { return this.#sum; }
}
function* counting() { let count = 0; for (;;) count += yield count; }

export default async ({ plan }, { tools, log }) => {
  const account = new Account();
  const counter = counting();
  counter.next();
  const sums = new Map();
  const refused = [];
  const attempt = async ({ tool, key, amount }) => {
    try {
      const paid = await tools.call(tool, { key, amount });
      account.add(paid);
      return paid;
    } catch (error) {
      refused.push(key + " " + error.code);
      return 0;
    } finally {
      counter.next(1);
    }
  };
  async function* stream(calls) { for (const call of calls) yield attempt(call); }
  for (const [index, { kind, calls }] of plan.entries()) {
    if (kind === "all") await Promise.all(calls.map(attempt));
    if (kind === "chain") for (const call of calls) await attempt(call);
    if (kind === "stream") for await (const paid of stream(calls)) log.debug(paid);
    if (kind === "late") {
      const [first, ...others] = calls.map(attempt);
      const late = new Promise((resolve) => setTimeout(resolve, 1)).then(() => Promise.all(others));
      await first;
      await late;
    }
    const { sum } = account;
    sums.set(index, () => sum + account.sum);
  }
  return { sum: account.sum, count: counter.next(0).value, sums: [...sums.values()].map((each) => each()), refused: refused.sort() };
};
`;
