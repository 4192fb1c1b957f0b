import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
import { inspectComponent } from "../../../../src/sandboxes/wasm/tools/inspect-component.ts";
import { typedComponent } from "../../../fixtures/wasm/typed-component.ts";
import { wasiComponent } from "../../../fixtures/wasm/wasi-component.ts";

describe("inspecting a component", () => {
  test("inspecting a component returns each export's type and schema, or why it cannot be a tool", async () => {
    const component = await typedComponent(
      "export find: func(name: string) -> result<u8, string>; export stop: func();",
      '(func (export "find") (param i32 i32) (result i32) i32.const 8) (func (export "stop"))',
    );
    expect(await inspectComponent(component)).toEqual({
      imports: [],
      exports: [
        {
          name: "find",
          type: "func(name: string) -> result<u8, string>",
          inputSchema: {
            type: "object",
            properties: { name: { type: "string" } },
            required: ["name"],
            additionalProperties: false,
          },
        },
        {
          name: "stop",
          type: "func()",
          inputSchema: { type: "object", properties: {}, required: [], additionalProperties: false },
        },
      ],
    });
  });

  test("inspecting a component returns what each import requires", async () => {
    const { imports } = await inspectComponent(await wasiComponent());
    expect(imports).toEqual(
      expect.arrayContaining([
        { name: "wasi:clocks/wall-clock", needs: "clock" },
        { name: "wasi:random/random", needs: "random" },
        { name: "wasi:cli/stdout", needs: "none" },
        { name: "wasi:clocks/timezone", needs: "ungrantable" },
      ]),
    );
  });

  test("a component whose exports are too large is refused before they are written out", async () => {
    const label = (length: number, index: number): string => `${"x".repeat(length)}${index}`;
    const record = (fields: number, length: number): string =>
      `record ${Array.from({ length: fields }, (_, i) => `(field "${label(length, i)}" u8)`).join(" ")}`;
    const exported = (count: number, type: string): Promise<Uint8Array> =>
      parse(`(component
        (core module $m (memory (export "m") 1) (func (export "f") (param i32))
          (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0))
        (core instance $i (instantiate $m))
        (type $t (${type}))
        (export $u "t" (type $t))
        (func $f (param "v" $u) (canon lift (core func $i "f")
          (memory $i "m") (realloc (func $i "realloc"))))
        ${Array.from({ length: count }, (_, i) => `(export "f${i}" (func $f))`).join("\n")})`);
    const inspected = await inspectComponent(await exported(40, record(4_000, 1)));
    expect(inspected.exports).toHaveLength(40);
    const problem = async (binary: Promise<Uint8Array>): Promise<string> =>
      inspectComponent(await binary).then(String, (error: Error) => `${error.name}: ${error.message}`);
    const mend = "export fewer functions, or smaller types";
    expect(await problem(exported(4_000, record(4_000, 1)))).toBe(
      `ToolPreparationError: its exports have more than 200000 parts of types: ${mend}`,
    );
    expect(await problem(exported(1_001, record(17, 1)))).toBe(
      `ToolPreparationError: its exports have more than 1000 functions: ${mend}`,
    );
    expect(await problem(exported(1_000, record(17, 1_000)))).toBe(
      `ToolPreparationError: its exports have more than 8388608 characters of names: ${mend}`,
    );
  });

  test("inspecting refuses the same components as registration", async () => {
    await expect(inspectComponent(await parse("(module)"))).rejects.toThrow(/core module, not a component/);
    await expect(inspectComponent("/nowhere.wasm")).rejects.toThrow(/cannot be read/);
  });
});
