/** A package, and a tool that uses it. */
export interface PackageUse {
  readonly name: string;
  readonly version: string;
  /** A module whose default export takes nothing and returns what Node.js returns, too. */
  readonly source: string;
}

/** Packages that tools often need. The versions are pinned, so that the table in docs/javascript-tools.md holds. */
export const PACKAGE_USES: readonly PackageUse[] = [
  use(
    "zod",
    "4.6.7",
    `import { z } from "zod";
    const User = z.object({ name: z.string().min(2), age: z.coerce.number().int(), mail: z.email().optional() });
    export default () => [
      User.parse({ name: "Ada", age: "36", mail: "ada@example.com" }),
      User.safeParse({ name: "A", age: 1.5 }).error.issues.map(({ path, code }) => [path, code]),
      z.toJSONSchema(User),
    ];`,
  ),
  use(
    "lodash-es",
    "4.18.1",
    `import { chunk, debounce, groupBy, merge, sortBy, template, words } from "lodash-es";
    export default () => [
      groupBy([6.1, 4.2, 6.3], Math.floor), chunk([1, 2, 3], 2), merge({ a: { b: 1 } }, { a: { c: 2 } }),
      sortBy([{ n: 2 }, { n: 1 }], "n"), words("fooBar baz"), typeof debounce, template("hi <%= who %>")({ who: "you" }),
    ];`,
  ),
  use(
    "date-fns",
    "4.4.0",
    `import { addMonths, differenceInDays, formatISO, parseISO, format } from "date-fns";
    import { de } from "date-fns/locale/de";
    export default () => {
      const start = new Date(Date.UTC(2024, 0, 31, 12));
      return [addMonths(start, 1).toISOString(), differenceInDays(parseISO("2024-03-01"), parseISO("2024-02-01")),
        format(start, "EEEE, d. MMMM yyyy", { locale: de }), formatISO(start, { representation: "date" })];
    };`,
  ),
  use(
    "marked",
    "18.2.1",
    `import { marked } from "marked";
    export default () => marked.parse("# Title\\n\\n- *a*\\n- [b](https://example.com)\\n\\n| c | d |\\n|---|---|\\n| 1 | 2 |\\n");`,
  ),
  use(
    "yaml",
    "2.9.1",
    `import { parse, parseDocument, stringify } from "yaml";
    export default () => [parse("a: &x [1, 0x10]\\nb: *x\\nc: |\\n  text\\n"), stringify({ list: [{ a: null }], s: "no" }),
      parseDocument("a: [").errors.map(({ code }) => code)];`,
  ),
  use(
    "papaparse",
    "5.7.1",
    `import Papa from "papaparse";
    export default () => [Papa.parse('a,b\\n1,"x, y"\\n', { header: true, dynamicTyping: true }).data, Papa.unparse([{ a: 1, b: "q\\"" }])];`,
  ),
  use(
    "ajv",
    "8.20.0",
    `import { Ajv2020 } from "ajv/dist/2020.js";
    export default () => {
      const validate = new Ajv2020({ allErrors: true }).compile({
        type: "object", required: ["a"], properties: { a: { type: "integer" }, b: { type: "string", pattern: "^x" } }, unevaluatedProperties: false,
      });
      return [validate({ a: 1 }), validate({ b: "y", c: 1 }), validate.errors.map(({ keyword }) => keyword)];
    };`,
  ),
  use(
    "jsonata",
    "2.2.2",
    `import jsonata from "jsonata";
    export default () => jsonata("{ 'sum': $sum(items.(price * n)), 'names': items[price > 2].name }")
      .evaluate({ items: [{ name: "a", price: 2, n: 3 }, { name: "b", price: 4, n: 1 }] });`,
  ),
  use(
    "nanoid",
    "6.0.2",
    `import { customAlphabet, nanoid } from "nanoid";
    export default () => [/^[\\w-]{21}$/.test(nanoid()), nanoid() !== nanoid(), /^[ab]{8}$/.test(customAlphabet("ab", 8)())];`,
  ),
  use(
    "uuid",
    "14.0.3",
    `import { v4, v5, v7, validate, version } from "uuid";
    export default () => [validate(v4()), version(v7()), v4() !== v4(), v5("example.com", v5.DNS)];`,
  ),
  use(
    "luxon",
    "3.7.2",
    `import { DateTime, Duration, Interval } from "luxon";
    export default () => {
      const start = DateTime.utc(2024, 2, 28, 12);
      return [start.plus({ days: 2 }).toISO(), Duration.fromObject({ minutes: 90 }).shiftTo("hours").toObject(),
        Interval.fromDateTimes(start, start.plus({ weeks: 1 })).length("days"), start.toFormat("dd.MM.yyyy HH:mm"),
        DateTime.fromISO("2024-07-01T12:00", { zone: "Europe/Berlin" }).toUTC().toISO()];
    };`,
  ),
  use(
    "csv-parse",
    "7.0.3",
    `import { parse } from "csv-parse/browser/esm/sync";
    export default () => parse('a;b\\n1;"x;y"\\n', { columns: true, delimiter: ";", cast: true });`,
  ),
  use(
    "cheerio",
    "1.2.0",
    `import { load } from "cheerio/slim";
    export default () => {
      const $ = load("<ul><li class=a>one<li><b>two</b></ul>");
      $("li.a").attr("id", "first").after("<li>new</li>");
      return [$("li").map((_, item) => $(item).text()).get(), $.html()];
    };`,
  ),
  use(
    "mathjs",
    "15.2.0",
    `import { create, all } from "mathjs";
    export default () => {
      const math = create(all);
      return [math.evaluate("12.7 cm to inch").toString(), math.format(math.inv([[1, 2], [3, 4]])), math.derivative("x^2 + 2x", "x").toString(),
        math.bignumber(0.1).add(0.2).toString()];
    };`,
  ),
];

function use(name: string, version: string, source: string): PackageUse {
  return { name, version, source };
}
