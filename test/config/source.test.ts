import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError, type ConfigProblem } from "../../src/config/problem.ts";
import { compileShape, mapOf, TEXT } from "../../src/config/shape.ts";
import { ConfigSource, MAX_CONFIG_LENGTH } from "../../src/config/source.ts";

/** The problems of a text that must not parse, as `line:column: message`. */
function problemsOf(text: string): string[] {
  try {
    ConfigSource.parse(text, "a.yaml");
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems.map(
      ({ line, column, message }) => `${line}:${column}: ${message}`,
    );
  }
  throw new Error("the text was accepted");
}

describe("a configuration source", () => {
  test("reads YAML as a frozen JSON value", () => {
    const { value } = ConfigSource.parse("a: [1, x, true, null]\nb:\n  c: {}\n1: one\n", "a.yaml");
    expect(value).toEqual({ a: [1, "x", true, null], b: { c: {} }, "1": "one" });
    expect(Object.isFrozen(value)).toBe(true);
    expect(Object.isFrozen((value as { a: unknown }).a)).toBe(true);
  });

  test("is null for an empty file", () => {
    const source = ConfigSource.parse("", "a.yaml");
    expect(source.value).toBeNull();
    expect(source.at(["tools"])).toBeUndefined();
    expect(source.problem(["tools"], "is missing")).toMatchObject({ line: 1, column: 1 });
  });

  test("reads every JSON document like JSON.parse", () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: "small" }), (value) => {
        const text = JSON.stringify(value, null, 1);
        fc.pre(!text.includes("__proto__"));
        expect(ConfigSource.parse(text, "a.json").value).toEqual(JSON.parse(text));
      }),
    );
  });

  test("reads an entry of a shape and locates its parts", () => {
    const shape = compileShape(mapOf({ name: TEXT }));
    const source = ConfigSource.parse("tools:\n  - name: one\n  - name: 2\n", "a.yaml");
    const problems: ConfigProblem[] = [];
    const entry = source.read<{ readonly name: string }>(shape, problems, ["tools", 0]);
    expect(problems).toEqual([]);
    expect(entry?.value).toEqual({ name: "one" });
    expect(entry?.file).toBe("a.yaml");
    expect(entry?.problem(["name"], "x")).toMatchObject({ line: 2, column: 11, severity: "error" });
    expect(entry?.problem(["name"], "x", "warning", "key")).toMatchObject({ column: 5, severity: "warning" });
    expect(source.read(shape, problems, ["tools", 1])).toBeUndefined();
    expect(problems).toMatchObject([{ line: 3, column: 11, message: "must be a string, not a number" }]);
  });

  test("locates a value, its key, and the closest existing parent", () => {
    const source = ConfigSource.parse("rules:\n  - name: one\n    tools: [a, b]\n", "a.yaml");
    expect(source.problem(["rules", 0, "tools", 1], "x")).toEqual({
      file: "a.yaml",
      line: 3,
      column: 16,
      severity: "error",
      message: "x",
    });
    expect(source.problem(["rules", 0, "tools"], "x", "warning", "key")).toMatchObject({
      severity: "warning",
      line: 3,
      column: 5,
    });
    expect(source.problem(["rules", 0, "limits", "memory"], "x")).toMatchObject({ line: 2, column: 5 });
  });

  test("counts lines behind a byte order mark and with CRLF", () => {
    const source = ConfigSource.parse("\ufeffa: 1\r\nb: 2\r\n", "a.yaml");
    expect(source.problem(["a"], "x", "error", "key")).toMatchObject({ line: 1, column: 1 });
    expect(source.problem(["b"], "x")).toMatchObject({ line: 2, column: 4 });
  });

  test("expands aliases and locates the values behind them", () => {
    const source = ConfigSource.parse("base: &b\n  x: 1\nuse: *b\n", "a.yaml");
    expect(source.value).toEqual({ base: { x: 1 }, use: { x: 1 } });
    expect(source.problem(["use"], "x")).toMatchObject({ line: 3, column: 6 });
    expect(source.problem(["use", "x"], "x")).toMatchObject({ line: 2, column: 6 });
  });

  test("resolves an alias to the anchor before it, even if the anchor is redefined later", () => {
    const { value } = ConfigSource.parse("a: &x 1\nb: &y [*x]\nc: &x 2\nd: *y\ne: *x\n", "a.yaml");
    expect(value).toEqual({ a: 1, b: [1], c: 2, d: [1], e: 2 });
  });

  test("keeps a member that is named like one of Object.prototype", () => {
    const source = ConfigSource.parse("constructor: 1\n", "a.yaml");
    expect(source.at(["constructor"])).toBe(1);
    expect(source.at(["toString"])).toBeUndefined();
  });

  test.each([
    ["a repeated key", "a: 1\nb: 2\na: 3\n", ["3:1: duplicate key 'a'"]],
    ["a __proto__ key", "a:\n  __proto__: {}\n", ["2:3: the key '__proto__' is not allowed"]],
    ["a number that JSON lacks", "a: .inf\n", ["1:4: this value cannot be represented in JSON"]],
    [
      "integers that would be rounded",
      "a: 9007199254740993\nb: -9007199254740993\nc: 9007199254740992\nd: 1e20\ne: 100000000000000000000\n",
      ["1:4: this integer cannot be represented exactly", "2:4: this integer cannot be represented exactly"],
    ],
    [
      "half a surrogate pair",
      '? "a\\ud800"\n: 1\nb: "\\udc00"\nc: "\\ud83d\\ude00"\n',
      ["1:3: a text must not have an unpaired surrogate", "3:4: a text must not have an unpaired surrogate"],
    ],
    [
      "an undefined alias",
      "a: *b\n",
      ["1:4: undefined alias '*b': its anchor must be on a value that ends before it"],
    ],
    [
      "an alias of itself",
      "a: &b [*b]\n",
      ["1:8: undefined alias '*b': its anchor must be on a value that ends before it"],
    ],
    ["an alias as a key", "a: &b c\n*b : 1\n", ["2:1: With stringKeys, all keys must be strings"]],
    ["a custom tag", "a: !!js/function x\n", ["1:4: Unresolved tag: tag:yaml.org,2002:js/function"]],
    ["bytes as a tag", "a: !!binary aGk=\n", ["1:4: Unresolved tag: tag:yaml.org,2002:binary"]],
  ])("refuses %s", (_case, text, expected) => {
    expect(problemsOf(text)).toEqual(expected);
  });

  test("refuses a second document", () => {
    expect(problemsOf("a: 1\n---\nb: 2\n")).toHaveLength(1);
  });

  test("refuses invalid YAML with the position of the error", () => {
    expect(problemsOf("a: 1\nb: [1, 2\n")[0]).toMatch(/^3:1: Flow sequence/);
  });

  test("refuses an alias bomb, a deep tree and a long text before they cost much", () => {
    const bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let i = 1; i < 12; i++) bomb.push(`a${i}: &a${i} [${`*a${i - 1}, `.repeat(10)}]`);
    expect(problemsOf(bomb.join("\n")).at(-1)).toMatch(/the file has more than 100000 values$/);
    expect(problemsOf(`${"[".repeat(300)}${"]".repeat(300)}`)[0]).toMatch(/nested deeper than 256 levels$/);
    expect(problemsOf("[".repeat(20_000))).toEqual([expect.stringMatching(/nested too deeply$/)]);
    expect(problemsOf("#".repeat(MAX_CONFIG_LENGTH + 1))).toEqual(["1:1: the file is longer than 1 MiB"]);
  });

  test("reports several problems at once", () => {
    expect(problemsOf("a: 1\na: 2\nb: .nan\n")).toHaveLength(2);
  });
});

test.each([
  ["a double quote", 'a: "x"\nb: "unclosed\nc: 2\n', 2],
  ["a single quote", "a: 1\nb: ['x, y]\nc: 2\n", 2],
  ["a quote in a list", 'a:\n  - { b: ["c, d] }\n', 2],
])("%s that is not closed is reported where it begins", (_case, text, line) => {
  const column = (text.split("\n")[line - 1] ?? "").search(/["']/) + 1;
  try {
    ConfigSource.parse(text, "f.yaml");
    expect.unreachable();
  } catch (error) {
    expect((error as ConfigError).problems[0]).toMatchObject({ line, column });
    expect((error as ConfigError).problems[0]?.message).toMatch(/^Missing closing/);
  }
});
