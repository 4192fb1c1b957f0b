import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
// Inside: decides when each compilation ends, to see which one is next; the compiler ends by itself.
import { CompilerTurns } from "../../../src/programs/type-checker.ts";

/** Programs that are compiled until they are told to end. */
class Compiling {
  readonly turns: CompilerTurns = new CompilerTurns();
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();

  compile(caller: string, name: string): Promise<string | undefined> {
    return this.turns.run(caller, async () => {
      this.begun.push(name);
      await new Promise<void>((end) => this.#ends.set(name, end));
      return name;
    });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    await setImmediate();
  }
}

test("Two programs are compiled at once", async () => {
  const compiling = new Compiling();
  const results = ["a", "b", "c"].map((name) => compiling.compile("ann", name));
  expect(compiling.begun).toEqual(["a", "b"]);
  await compiling.end("b");
  expect(compiling.begun).toEqual(["a", "b", "c"]);
  await compiling.end("a");
  await compiling.end("c");
  expect(await Promise.all(results)).toEqual(["a", "b", "c"]);
});

test("Callers take turns", async () => {
  const compiling = new Compiling();
  for (const name of ["a1", "a2", "a3", "a4"]) void compiling.compile("ann", name);
  for (const name of ["b1", "b2"]) void compiling.compile("bob", name);
  for (const name of ["a1", "a2", "a3", "b1"]) await compiling.end(name);
  expect(compiling.begun).toEqual(["a1", "a2", "a3", "b1", "a4", "b2"]);
});

test("Too many programs of a caller are refused, and those of others are not", async () => {
  const compiling = new Compiling();
  for (let index = 0; index < 18; index++) void compiling.compile("ann", `a${index}`);
  expect(await compiling.compile("ann", "one more")).toBeUndefined();
  void compiling.compile("bob", "b");
  await compiling.end("a0");
  await compiling.end("a1");
  expect(compiling.begun).toEqual(["a0", "a1", "a2", "b"]);
});

test("A program that fails gives its place to the next one", async () => {
  const { turns } = new Compiling();
  const fail = () => turns.run("ann", () => Promise.reject(new Error("no")));
  for (let index = 0; index < 5; index++) await expect(fail()).rejects.toThrow("no");
  expect(await turns.run("ann", async () => "yes")).toBe("yes");
});
