import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { GrantedTool } from "../granted-tool.ts";

// The web APIs of guests give the results of Node.js's. A batch of values is one call.
const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

/**
 * Has the guest and this process compute the same function for many values, and compares the results.
 * They cross the border as one text, because arguments may not have unpaired surrogates.
 */
async function compare<Value>(
  values: fc.Arbitrary<Value>,
  compute: (value: Value) => unknown,
): Promise<void> {
  const tool = new GrantedTool(
    sandboxes,
    `const compute = ${compute};
    const attempt = (value) => { try { return compute(value) ?? null; } catch { return "threw"; } };
    export default ({ values }) => JSON.stringify(JSON.parse(values).map(attempt));`,
  );
  const batch = fc.array(values, { minLength: 1, maxLength: 100, size: "max" });
  await fc.assert(
    fc.asyncProperty(batch, async (all) => {
      const { output, error } = await tool.call({ input: { values: JSON.stringify(all) } });
      expect(error).toBeUndefined();
      const expected = all.map((value) => {
        try {
          return compute(value) ?? null;
        } catch {
          return "threw";
        }
      });
      expect(JSON.parse(String(output))).toEqual(JSON.parse(JSON.stringify(expected)));
    }),
    { numRuns: 8 },
  );
}

const PART = fc.constantFrom(
  "http:",
  "https:",
  "file:",
  "x:",
  "//",
  "/",
  "\\",
  "a.test",
  "127.0.0.1",
  "[::1]",
  "0x7f.1",
  "münchen.de",
  "%41",
  ":80",
  ":443",
  ":x",
  "@",
  "u:p@",
  "..",
  ".",
  "?",
  "#",
  "a=b",
  "&",
  "+",
  "%zz",
  " ",
  "\t",
  "é",
  "😀",
  "\ud800",
  "|",
);
const URL_TEXT = fc.array(PART, { maxLength: 8 }).map((parts) => parts.join(""));
const PARTS = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
const BYTES = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0xef, 0xbb, 0xbf, 0xd8, 0xe2, 0x80, 0xf0)),
  {
    maxLength: 24,
  },
);
/** JSON has no -0. */
const NUMBER = fc.double({ noDefaultInfinity: true, noNaN: true }).map((number) => number + 0);
const TEXT = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string(),
  fc.constantFrom("\ud800", "a\udc00b", "\0"),
);

describe("the web APIs of a guest agree with Node.js's", () => {
  test("URL", async () => {
    await compare(fc.tuple(URL_TEXT, fc.option(URL_TEXT)), ([url, base]) => {
      const parsed = new URL(url, base ?? undefined);
      return [
        String(parsed),
        parsed.origin,
        parsed.host,
        parsed.search,
        [...parsed.searchParams],
        URL.canParse(url),
      ];
    });
  });

  test("the setters of URL", async () => {
    await compare(
      fc.tuple(URL_TEXT, fc.constantFrom(...PARTS), fc.oneof(PART, URL_TEXT)),
      ([url, part, value]) => {
        const parsed = new URL(`http://a.test/b/${url}`);
        const { searchParams } = parsed;
        (parsed as unknown as Record<string, string>)[part] = value;
        searchParams.append("ü", value);
        return [parsed.href, String(searchParams)];
      },
    );
  });

  test("URLSearchParams", async () => {
    await compare(fc.array(fc.tuple(TEXT, TEXT), { maxLength: 4 }), (pairs) => {
      const params = new URLSearchParams(pairs);
      const name = pairs[0]?.[0] ?? "";
      params.set(name, "x");
      params.append("b", "é+ &=");
      params.sort();
      const again = new URLSearchParams(`?${params}`);
      params.delete(name, "y");
      return [
        String(params),
        [...again],
        again.get(name),
        again.has("b", "no"),
        params.size,
        [...params.keys()],
      ];
    });
  });

  test("TextEncoder", async () => {
    await compare(fc.tuple(TEXT, fc.nat(12)), ([text, size]) => {
      const encoder = new TextEncoder();
      const into = new Uint8Array(size);
      return [[...encoder.encode(text)], encoder.encodeInto(text, into), [...into]];
    });
  });

  test("TextDecoder", async () => {
    const label = fc.constantFrom("utf-8", "UTF8", "utf-16le", "utf-16be", "latin1", "ascii", " utf-8\n");
    const settings = fc.record({ fatal: fc.boolean(), ignoreBOM: fc.boolean() });
    await compare(fc.tuple(label, settings, BYTES), ([name, options, bytes]) => {
      const decoder = new TextDecoder(name, options);
      return [decoder.encoding, decoder.decode(Uint8Array.from(bytes))];
    });
  });

  test("TextDecoder, for a stream in chunks of any size", async () => {
    const label = fc.constantFrom("utf-8", "utf-16le", "utf-16be");
    await compare(fc.tuple(label, BYTES, fc.integer({ min: 1, max: 5 })), ([name, bytes, size]) => {
      const decoder = new TextDecoder(name);
      let text = "";
      for (let at = 0; at < bytes.length; at += size) {
        text += decoder.decode(Uint8Array.from(bytes.slice(at, at + size)), { stream: true });
      }
      return text + decoder.decode();
    });
  });

  test("atob and btoa", async () => {
    await compare(
      fc.oneof(TEXT, fc.base64String(), fc.constantFrom("YQ", "YQ=", " Y Q = = ", "Y", "é")),
      (text) => {
        const attempt = (act: () => string): string => {
          try {
            return act();
          } catch (error) {
            return (error as Error).name;
          }
        };
        return [attempt(() => btoa(text)), attempt(() => atob(text))];
      },
    );
  });

  test("structuredClone", async () => {
    await compare(fc.jsonValue(), (value) => {
      const holder = {
        value,
        at: new Date(5),
        map: new Map([[{ value }, new Set([value])]]),
        bytes: new Uint16Array([1, 2]),
      };
      const made = structuredClone({
        holder,
        again: holder,
        error: new RangeError("x", { cause: value }),
        big: 1n,
        re: /a/gi,
      });
      const [[key, set] = []] = [...made.holder.map];
      return [
        made.holder.value,
        made.holder.at.getTime(),
        key,
        set && [...set],
        [...made.holder.bytes],
        made.again === made.holder,
        made.error instanceof RangeError,
        made.error.cause,
        String(made.big),
        String(made.re),
        made.holder !== holder,
      ];
    });
  });

  test("Headers", async () => {
    const name = fc.constantFrom("A", "a", "b-c", "Set-Cookie", "x y", "é", "");
    await compare(fc.array(fc.tuple(name, fc.string()), { maxLength: 4 }), (pairs) => {
      const headers = new Headers(pairs);
      headers.append("Z", " z ");
      return [[...headers], headers.get("a"), headers.getSetCookie(), headers.has("B-C")];
    });
  });

  test("numbers and dates as text of a locale", async () => {
    const locale = fc.constantFrom("en-US", "de-DE", "ar-EG", "no such locale");
    await compare(fc.tuple(locale, NUMBER, fc.nat()), ([tag, number, time]) => [
      number.toLocaleString(tag),
      new Intl.NumberFormat(tag, { style: "currency", currency: "EUR" }).format(number),
      new Date(time * 1_000).toLocaleDateString(tag, { timeZone: "Asia/Tokyo" }),
      new Intl.DateTimeFormat(tag, { dateStyle: "full", timeStyle: "long", timeZone: "UTC" }).formatToParts(
        time,
      ),
    ]);
  });

  test("lists, also in a locale that no host has", async () => {
    await compare(fc.tuple(fc.constantFrom("en", "tlh"), fc.array(fc.string())), ([tag, items]) => [
      new Intl.ListFormat([tag, "en"]).format(items),
      new Intl.ListFormat([tag, "en"], { type: "unit" }).formatToParts(items),
    ]);
  });
});
