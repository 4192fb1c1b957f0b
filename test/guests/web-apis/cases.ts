import type { WebApiCase } from "./web-api-case.ts";

/** Bytes that deflate compresses slowly: it finds many short matches, and none that is long. */
const SLOW_TO_COMPRESS = `let x = 1; const block = Uint8Array.from({ length: 2 ** 16 }, () => {
  x = (Math.imul(x, 1103515245) + 12345) >>> 0; return (x >>> 16) & 3;
});
const slow = new Uint8Array(2 ** 21);
for (let at = 0; at < slow.length; at += block.length) slow.set(block, at);
const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();`;

/** A gzip file of 200 KB whose content has 200 MiB, in many members. */
const BOMB = `const zeros = await through(new Uint8Array(2 ** 21), new CompressionStream("gzip"));
const members = new Blob(Array.from({ length: 100 }, () => zeros)); const bomb = new Uint8Array(await members.arrayBuffer());`;

/** What the driver writes as JSON of a list becomes a list of any length. */
const ENDLESS_LIST = "Array.prototype.toJSON = () => ({ length: 2 ** 53 - 1 });";

/** Guests that have the host work, or keep what the host gives them. */
export const WEB_API_CASES: readonly WebApiCase[] = [
  { name: "timers without end", code: "setTimeout(() => {}, 1e9); setInterval(() => {}, 1);" },
  {
    name: "intervals that each start another one",
    code: "await new Promise((resolve) => { const again = () => setInterval(again); again(); });",
  },
  {
    name: "2 MiB that are slow to compress",
    before: SLOW_TO_COMPRESS,
    code: 'await through(slow, new CompressionStream("gzip"));',
  },
  {
    name: "bytes that decompress to 200 MiB",
    before: `${SLOW_TO_COMPRESS} ${BOMB}`,
    code: 'await through(bomb, new DecompressionStream("gzip"));',
  },
  {
    name: "URLs whose host is normalised",
    before: 'const host = "\\u{fdfa}".repeat(60000), marks = "a\\u0327\\u0301".repeat(20000);',
    code: 'URL.canParse("http://" + host); new URL("http://" + marks).hostname = marks;',
  },
  {
    name: "a query of a million parameters",
    before: 'const query = "&a".repeat(1e6);',
    code: "new URLSearchParams(query);",
  },
  {
    name: "a query that is changed in a URL",
    before: 'const url = new URL("http://a?" + "b&".repeat(30000));',
    code: 'url.searchParams.append("c", "d");',
  },
  {
    name: "8 MiB that are six times as long in JSON",
    before: "const zeros = new Uint8Array(2 ** 23);",
    code: 'for (const label of ["utf-8", "utf-16le", "latin1"]) new TextDecoder(label).decode(zeros);',
  },
  {
    name: "texts that are encoded",
    before: 'const text = "\\u{1f600}".repeat(2 ** 20), base = "A".repeat(2 ** 22);',
    code: "new TextEncoder().encode(text); btoa(atob(base));",
  },
  {
    name: "digests of 8 MiB",
    before: "const zeros = new Uint8Array(2 ** 23);",
    code: 'for (const name of ["SHA-1", "SHA-256", "SHA-512"]) await crypto.subtle.digest(name, zeros);',
  },
  {
    name: "random bytes, more than are allowed and as many as are",
    before: "const all = []; const many = new Uint8Array(65537);",
    code: `try { crypto.getRandomValues(many); } catch {}
      all.push(crypto.getRandomValues(new Uint8Array(65536)));`,
    capabilities: { random: true },
  },
  {
    name: "a clone of a deep object, and of a deep chain of causes",
    before: `let deep = {}, cause = new Error("a");
      for (let i = 0; i < 1e5; i++) { deep = { deep }; cause = new Error("a", { cause }); }`,
    code: "structuredClone(deep); structuredClone(cause);",
  },
  {
    name: "formats of many items in many locales",
    before: 'const items = Array(15000).fill("a"); let n = 0;',
    code: `const locale = ["en", "de", "ar", "hi", "zh", "th"][n++ % 6] + "-x-" + n.toString(36).padStart(8, "0");
      new Intl.ListFormat(locale).formatToParts(items); new Intl.DateTimeFormat(locale, { dateStyle: "full" }).formatToParts(n);
      (10n ** 9000n).toLocaleString(locale); "\\u0301".repeat(15000).localeCompare("\\u0301".repeat(15000), locale);`,
  },
  {
    name: "locales that are no list",
    before: ENDLESS_LIST,
    code: 'Intl.getCanonicalLocales("en"); new Intl.NumberFormat("en"); Intl.Collator.supportedLocalesOf("en");',
  },
  {
    name: "locales that are no list, in a list format",
    before:
      'Array.prototype.toJSON = function () { return this[0] === "en" ? this : { length: 2 ** 53 - 1 }; };',
    code: 'new Intl.ListFormat("en").format(["a"]); Intl.ListFormat.supportedLocalesOf("de");',
  },
  {
    name: "a header value of spaces",
    before: 'const spaces = " ".repeat(1e6) + "x" + " ".repeat(1e6) + "x";',
    code: "new Headers({ a: spaces }); encodeURIComponent(spaces);",
  },
];
