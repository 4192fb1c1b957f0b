// Makes dist/tool.wasm of tool.js: a component of the world `tool` in wit/tool.wit.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { componentize } from "@bytecodealliance/componentize-js";

const folder = import.meta.dirname;
const { component } = await componentize({
  sourcePath: join(folder, "tool.js"),
  witPath: join(folder, "wit/tool.wit"),
  worldName: "tool",
  // What the engine would otherwise import. A tool that reads clocks or draws random numbers takes them out of
  // this list, and needs a grant for them.
  disableFeatures: ["clocks", "random", "http", "fetch-event"],
});
await mkdir(join(folder, "dist"), { recursive: true });
await writeFile(join(folder, "dist/tool.wasm"), component);
