import type { Random } from "../fuzz/random.ts";
import { bytesOf, FILL, formatterOf, localesOf, numberOf, textOf, timeOf } from "./hostile-values.ts";

/** A guest that has the host do an operation on hostile values. */
export interface HostWork {
  /** Code that does it, again and again. What it throws is ignored. */
  readonly code: string;
  /** Code that runs once, before it. */
  readonly before?: string;
}

/** Makes a guest from random numbers. */
type WorkOf = (random: Random) => HostWork;

const LENGTHS = [1, 300, 699, 4_097, 16_000, 32_000, 65_536, 70_000, 300_000];
const SIZES = [0, 1, 1_000, 65_536, 65_537, 1_000_000, 2 ** 21, 2 ** 21 + 1, 2 ** 23];

const text = (random: Random): string => textOf(random, random.pick(LENGTHS));
const bytes = (random: Random): string => bytesOf(random, random.pick(SIZES));

const onText =
  (code: string): WorkOf =>
  (random) => ({ before: `const text = ${text(random)}, other = ${text(random)};`, code });

const onBytes =
  (code: string | ((random: Random) => string)): WorkOf =>
  (random) => ({
    before: `${FILL} const bytes = ${bytes(random)};
      const through = (given, stream) => new Response(new Blob([given]).stream().pipeThrough(stream)).bytes();`,
    code: typeof code === "string" ? code : code(random),
  });

const onFormatter =
  (kind: string, use: (random: Random) => string): WorkOf =>
  (random) => ({
    before: `const formatter = ${formatterOf(random, kind)}; ${random.chance(0.5) ? "" : `const again = () => ${formatterOf(random, kind)};`}`,
    code: use(random),
  });

/** Also two texts that differ only at the end, which are compared as a whole. */
const compare: WorkOf = (random) => ({
  before: `const one = ${text(random)}; const formatter = ${formatterOf(random, "Collator")};
    const others = [one + "x", one.slice(1) + "x", one.slice(0, -1), ${text(random)}];`,
  code: "for (const other of others) try { formatter.compare(one, other); } catch {}",
});

const list: (method: string) => WorkOf = (method) => (random) => ({
  before: `const formatter = ${formatterOf(random, "ListFormat")};
    const items = Array(${random.pick([1, 3, 700, 783, 785, 30_000])}).fill(${textOf(random, random.pick([1, 80, 20_000]))});`,
  code: `formatter.${method}(items);`,
});

const numbers = (method: string): WorkOf =>
  onFormatter("NumberFormat", (random) => `formatter.${method}(${numberOf(random)});`);
const dates = (method: string): WorkOf =>
  onFormatter("DateTimeFormat", (random) => `formatter.${method}(${timeOf(random)}, ${timeOf(random)});`);
const relative = (method: string): WorkOf =>
  onFormatter(
    "RelativeTimeFormat",
    (random) =>
      `formatter.${method}(Number(${numberOf(random)}), ${JSON.stringify(random.pick(["second", "year", "quarters", "x"]))});`,
  );

/** Each file is written as a text or as bytes, whole or appended to. */
const files =
  (use: (random: Random) => string): WorkOf =>
  (random) => ({
    before: `${FILL} const text = ${text(random)}, bytes = ${bytes(random)};
    try { fs.writeFile("/data/file", ${random.pick(["text", "bytes"])}); } catch {}`,
    code: use(random),
  });
const onPath = (code: string): WorkOf =>
  files(
    (random) =>
      `const path = ${random.pick(["text", '"a/".repeat(30000)', '"../".repeat(20000)', '"/data/file"'])}; ${code}`,
  );

/** Guests of which each once held a thread for minutes, or ended the process: they run whatever the seed is. */
export const KNOWN_WORK: Readonly<Record<string, readonly HostWork[]>> = {
  "intl: Collator.compare": [
    {
      before: 'const one = "\\u0f73".repeat(32000);',
      code: 'one.localeCompare(one.slice(1) + "x"); one.localeCompare(one.slice(1) + "x", "my");',
    },
    {
      before: 'const one = "\\u05c7\\u0f52\\u0f81".repeat(10000);',
      code: 'new Intl.Collator("be", { usage: "search" }).compare(one, one + "x");',
    },
  ],
  "intl: DateTimeFormat.formatToParts": [
    { code: 'new Intl.DateTimeFormat("my", { calendar: "buddhist" }).formatToParts(0);' },
    { code: 'new Intl.DateTimeFormat("gd", { dateStyle: "full" }).formatToParts(0);' },
  ],
  "intl: NumberFormat.format": [
    { code: 'new Intl.NumberFormat("en", { notation: "compact" }).format("1e-999999999");' },
  ],
  "web: decode": [
    {
      before: "const bytes = new Uint8Array(2 ** 23).fill(0xe4);",
      code: "new TextDecoder().decode(bytes);",
    },
  ],
  "web: encode": [
    { before: 'const text = "\\ud800".repeat(2 ** 22);', code: "new TextEncoder().encode(text);" },
  ],
};

/** Guests by the operation of the host: see `operations.ts`. */
export const HOST_WORK: Readonly<Record<string, WorkOf>> = {
  "web: encode": onText(
    "new TextEncoder().encode(text); new TextEncoder().encodeInto(text, new Uint8Array(70000));",
  ),
  "web: decode": onBytes((random) => {
    const label = random.pick(["utf-8", "utf-16le", "utf-16be", "latin1"]);
    return `new TextDecoder("${label}", { fatal: ${random.chance(0.2)}, ignoreBOM: ${random.chance(0.5)} }).decode(bytes);`;
  }),
  "web: atob": onText(
    'atob(text); atob("A".repeat(text.length)); atob(btoa("\\u00ff".repeat(text.length)));',
  ),
  "web: btoa": onText('btoa(text); btoa("\\u00ff".repeat(text.length));'),
  "web: url-parse": onText(
    'for (const before of ["", "http://", "http://xn--", "file:///", "x:", "http://["]) URL.canParse(before + text.slice(0, 65000), "http://a/" + other.slice(0, 60000));',
  ),
  "web: url-set": (random) => ({
    before: `const text = ${textOf(random, random.pick([300, 65_000]))}; const urls = ["http://a/", "http://a:b@c:1/" + "d/".repeat(30000) + "?e#f", "x:" + " ".repeat(60000) + "?a#f", "file:///a"];`,
    code: `for (const each of urls) { const url = new URL(each); try { url["${random.pick(["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash", "href"])}"] = text; } catch {} }`,
  }),
  "web: random": () => ({
    before: "const all = [];",
    code: "all.push(crypto.getRandomValues(new Uint8Array(65536))); crypto.randomUUID();",
  }),
  "web: digest": onBytes(
    'for (const name of ["SHA-1", "SHA-256", "SHA-384", "SHA-512"]) await crypto.subtle.digest(name, bytes);',
  ),
  "web: compress": onBytes((random) => `await through(bytes, new CompressionStream("${format(random)}"));`),
  "web: decompress": (random) => {
    const name = format(random);
    const { before = "" } = onBytes("")(random);
    // Blocks that contain nothing, members that do, and data that becomes larger than allowed.
    const data = random.pick([
      "bytes",
      "fill([0, 0, 0, 255, 255], 0, 2 ** 21)",
      "fill([2, 8, 32, 128, 0], 0, 2 ** 21)",
      `await repeated(await through(bytes.slice(0, 2 ** 21), new CompressionStream("${name}")))`,
      `await repeated(await through(new Uint8Array(2 ** 21), new CompressionStream("${name}")))`,
    ]);
    return {
      before: `${before} const repeated = (member) => new Blob(Array(Math.min(Math.floor(2 ** 21 / member.length), 50000)).fill(member)).bytes();
        const data = ${data};`,
      code: `await through(data, new DecompressionStream("${name}"));`,
    };
  },
  "intl: getCanonicalLocales": (random) => ({ code: `Intl.getCanonicalLocales(${localesOf(random)});` }),
  "intl: supportedLocalesOf": (random) => ({
    code: `for (const kind of ["NumberFormat", "DateTimeFormat", "PluralRules", "RelativeTimeFormat", "ListFormat", "Collator"]) Intl[kind].supportedLocalesOf(${localesOf(random)});`,
  }),
  "intl: resolvedOptions": (random) => {
    const kind = random.pick([
      "NumberFormat",
      "DateTimeFormat",
      "PluralRules",
      "RelativeTimeFormat",
      "ListFormat",
      "Collator",
    ]);
    const makers = Array.from({ length: 40 }, () => `() => ${formatterOf(random, kind)}`);
    return { code: `for (const make of [${makers.join(", ")}]) try { make().resolvedOptions(); } catch {}` };
  },
  "intl: Collator.compare": compare,
  "intl: DateTimeFormat.format": dates("format"),
  "intl: DateTimeFormat.formatRange": dates("formatRange"),
  "intl: DateTimeFormat.formatRangeToParts": dates("formatRangeToParts"),
  "intl: DateTimeFormat.formatToParts": dates("formatToParts"),
  "intl: ListFormat.format": list("format"),
  "intl: ListFormat.formatToParts": list("formatToParts"),
  "intl: NumberFormat.format": numbers("format"),
  "intl: NumberFormat.formatToParts": numbers("formatToParts"),
  "intl: PluralRules.select": onFormatter(
    "PluralRules",
    (random) => `formatter.select(Number(${numberOf(random)}));`,
  ),
  "intl: RelativeTimeFormat.format": relative("format"),
  "intl: RelativeTimeFormat.formatToParts": relative("formatToParts"),
  "file: appendFile": files((random) => `fs.appendFile("/data/file", ${random.pick(["text", "bytes"])});`),
  "file: mkdir": onPath('fs.mkdir(path); fs.mkdir("/data/" + path.slice(0, 4000));'),
  "file: readFile": files((random) => `fs.readFile("/data/file", "${random.pick(["utf8", "bytes"])}");`),
  "file: readdir": onPath('fs.readdir("/data"); fs.readdir(path);'),
  "file: rename": onPath('fs.rename(path, "/data/" + path); fs.rename("/data/file", path);'),
  "file: rm": onPath('fs.rm(path); fs.rm("/data/" + path);'),
  "file: stat": onPath('fs.stat(path); fs.stat("/data/" + path);'),
  "file: writeFile": files((random) => `fs.writeFile("/data/file", ${random.pick(["text", "bytes"])});`),
  "message: b": () => ({ code: 'await (await fetch(input.url + "/large")).text();' }),
  "message: c": onText("tools.call(text, { text, other, deep: [[[text]]] }).catch(() => {});"),
  "message: f": onText(
    'fetch(input.url, { method: "POST", body: text + other }).catch(() => {}); fetch(input.url + text.slice(0, 60000), { headers: Array(300).fill(["a", "b"]) }).catch(() => {});',
  ),
  "message: l": onText(
    "console.log(text, other, [text]); console.log(...Array(5000).fill(text.slice(0, 8192)));",
  ),
  "message: n": () => ({ code: "tools.names();" }),
  "message: r": () => ({ code: "clearTimeout(setTimeout(() => {}, 1e9)); setTimeout(() => {});" }),
};

function format(random: Random): string {
  return random.pick(["gzip", "deflate", "deflate-raw"]);
}
