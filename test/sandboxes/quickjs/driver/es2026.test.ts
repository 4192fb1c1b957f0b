import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { GrantedTool } from "../granted-tool.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

/** A function as text, which returns what a guest and this process shall have in common. */
type Code = string;

/** Runs a function in a guest and in this process: Node.js has what the engine lacks. */
async function both(code: Code, values: readonly unknown[] = [null]): Promise<readonly unknown[]> {
  const source = `const attempt = async (value) => {
    try { return (await (${code})(value)) ?? null; } catch (error) { return error?.name ?? error; }
  };
  const all = async (texts) => JSON.stringify(await Promise.all(JSON.parse(texts).map(attempt)));`;
  const input = JSON.stringify(values);
  const guest = new GrantedTool(sandboxes, `${source}\nexport default ({ input }) => all(input);`);
  const { output, error } = await guest.call({ input: { input } });
  expect(error).toBeUndefined();
  const here = (await new Function("input", `${source}\nreturn all(input);`)(input)) as string;
  expect(JSON.parse(String(output))).toEqual(JSON.parse(here));
  return JSON.parse(here);
}

const TEXT = fc
  .array(fc.constantFrom(..."AZaz09+/-_=== \n\tgw", "é"), { maxLength: 12 })
  .map((all) => all.join(""));
const DECODE = `({ text, alphabet, lastChunkHandling }) => {
  const options = { ...(alphabet && { alphabet }), ...(lastChunkHandling && { lastChunkHandling }) };
  const target = new Uint8Array(10);
  let read;
  try { read = target.setFromBase64(text, options); } catch (error) { read = error.name; }
  let whole;
  try { whole = [...Uint8Array.fromBase64(text, options)]; } catch (error) { whole = error.name; }
  return [read, [...target], whole];
}`;

describe("bytes as text", () => {
  test("are decoded from base64 as in Node.js, whatever the text", async () => {
    const values = fc.record({
      text: TEXT,
      alphabet: fc.constantFrom("base64", "base64url", undefined, "hex"),
      lastChunkHandling: fc.constantFrom("loose", "strict", "stop-before-partial", undefined, "none"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(values, { minLength: 100, maxLength: 400 }), async (all) => {
        await both(DECODE, all);
      }),
      { numRuns: 10 },
    );
  });

  test("are decoded as far as there is room for them", async () => {
    const tool = new GrantedTool(
      sandboxes,
      `export default ({ sizes, text }) => sizes.map((size) => {
        const target = new Uint8Array(size);
        return [target.setFromBase64(text).read, target.join()];
      });`,
    );
    const { output } = await tool.call({ input: { sizes: [0, 1, 2, 3, 4, 5, 9], text: "AQID BAU=" } });
    expect(output).toEqual([
      [0, ""],
      [0, "0"],
      [0, "0,0"],
      [4, "1,2,3"],
      [4, "1,2,3,0"],
      [9, "1,2,3,4,5"],
      [9, "1,2,3,4,5,0,0,0,0"],
    ]);
  });

  test("are encoded and decoded as in Node.js, whatever the bytes", async () => {
    const bytes = fc.array(fc.nat(255), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: 50, maxLength: 100 }), async (all) => {
        await both(
          `(list) => {
            const bytes = Uint8Array.from(list).subarray(1);
            const texts = [bytes.toBase64(), bytes.toBase64({ alphabet: "base64url", omitPadding: true }), bytes.toHex()];
            return [...texts, [...Uint8Array.fromHex(texts[2])], [...Uint8Array.fromBase64(texts[0])]];
          }`,
          all,
        );
      }),
      { numRuns: 10 },
    );
  });

  test("are decoded from hex as in Node.js", async () => {
    const texts = ["", "0", "00ff", "0Fa", "zz", "0z", "z0", "00zz11", "0 ", "é0", "\ud83d\ude00", "ABcdEF"];
    const results = await both(
      `(text) => {
        const target = new Uint8Array(2);
        let read;
        try { read = target.setFromHex(text); } catch (error) { read = error.name; }
        return [read, [...target], [...Uint8Array.fromHex(text)]];
      }`,
      texts,
    );
    expect(results[2]).toEqual([{ read: 4, written: 2 }, [0, 255], [0, 255]]);
  });

  test.each([
    "() => Uint8Array.fromBase64(5)",
    "() => Uint8Array.fromHex({})",
    "() => Uint8Array.fromBase64('', 5)",
    "() => Uint8Array.prototype.toHex.call(new Uint16Array(1))",
    "() => Uint8Array.prototype.toBase64.call([1])",
    "() => new Uint8Array(1).toBase64({ alphabet: 'hex' })",
    "() => Object.keys(Uint8Array.prototype).concat(Object.keys(Uint8Array), Object.keys(Array))",
    "() => [Uint8Array.fromBase64.name, Uint8Array.fromHex.length, Uint8Array.prototype.toHex.name, Array.fromAsync.length]",
  ])("are written and refused as in Node.js: %s", async (code) => {
    await both(code);
  });

  test("of any length become text and bytes again", async () => {
    const tool = new GrantedTool(
      sandboxes,
      `export default () => {
        const bytes = new Uint8Array(100_001).map((_, at) => at);
        const again = [Uint8Array.fromBase64(bytes.toBase64()), Uint8Array.fromHex(bytes.toHex())];
        return again.map((each) => each.join() === bytes.join());
      };`,
    );
    expect((await tool.call()).output).toEqual([true, true]);
  });
});

describe("Array.fromAsync", () => {
  test.each([
    "() => Array.fromAsync([1, Promise.resolve(2)])",
    "() => Array.fromAsync(new Set([1, 2]), async (value, at) => value + at)",
    "() => Array.fromAsync((async function* () { yield 1; yield 2; })(), (value) => value * 2)",
    "() => Array.fromAsync({ length: 2, 0: Promise.resolve('a'), 1: 'b' })",
    "() => Array.fromAsync('añb')",
    "() => Array.fromAsync(null)",
    "() => Array.fromAsync(7)",
    "() => Array.fromAsync([1], 5)",
    "() => Array.fromAsync([1], function () { return this.a; }, { a: 3 })",
    "() => Array.fromAsync.call(class { set length(n) { this.n = n; } }, [1, 2])",
    "() => Array.fromAsync.call(undefined, [1])",
    "() => Array.fromAsync([Promise.reject(new RangeError('no'))])",
    `async () => {
      const seen = [];
      const items = { *[Symbol.iterator]() { try { yield 1; yield 2; } finally { seen.push("closed"); } } };
      await Array.fromAsync(items, () => { throw 1; }).catch(() => seen.push("failed"));
      return seen;
    }`,
  ])("gives what Node.js gives: %s", async (code) => {
    await both(code);
  });

  test("of an endless source ends with the time of the call", async () => {
    const tool = new GrantedTool(
      sandboxes,
      "export default () => Array.fromAsync((function* () { for (;;) yield 0; })(), () => 0).then((all) => all.length);",
    );
    const { error } = await tool.call({ limits: { wallTimeMs: 300 } });
    expect(["timeout", "limit_exceeded"]).toContain(error?.code);
  });
});

test("What ES2026 adds is there for a module that reaches it without its name", async () => {
  const tool = new GrantedTool(sandboxes, "export default () => typeof globalThis.Array['from' + 'Async'];");
  expect((await tool.call()).output).toBe("function");
});
