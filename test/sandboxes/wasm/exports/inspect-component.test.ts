import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
import { inspectComponent } from "../../../../src/sandboxes/wasm/exports/inspect-component.ts";
import { typedComponent } from "../../../fixtures/wasm/typed-component.ts";
import { wasiComponent } from "../../../fixtures/wasm/wasi-component.ts";

describe("inspecting a component", () => {
  test("tells of each export its type and schema, or why it cannot be a tool", async () => {
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

  test("tells what each import needs", async () => {
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

  test("refuses what registration refuses", async () => {
    await expect(inspectComponent(await parse("(module)"))).rejects.toThrow(/core module and no component/);
    await expect(inspectComponent("/nowhere.wasm")).rejects.toThrow(/cannot be read/);
  });
});
