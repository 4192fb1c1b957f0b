// Builds dist/tool.wasm from tool.js, a component that targets the world `tool` of wit/tool.wit.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { componentize } from "@bytecodealliance/componentize-js";

const folder = import.meta.dirname;
const { component } = await componentize({
  sourcePath: join(folder, "tool.js"),
  witPath: join(folder, "wit/tool.wit"),
  worldName: "tool",
  // Features that the engine would otherwise import. If your tool uses clocks or random numbers, remove them from
  // this list; the tool's grant must then allow them.
  disableFeatures: ["clocks", "random", "http", "fetch-event"],
});
await mkdir(join(folder, "dist"), { recursive: true });
await writeFile(join(folder, "dist/tool.wasm"), component);
